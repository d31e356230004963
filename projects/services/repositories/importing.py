"""A project made of code that is there: from a folder, a git address, or an uploaded archive."""

from __future__ import annotations

import math
import secrets
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO, Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from agents.workspace.addresses import SourceRefused, parse_address
from agents.workspace.fetching import Fetched, FetchLimits, RemoteAccess, clone_address, clone_folder, commit_files
from agents.workspace.git import GitError, git
from projects.errors import BadInput, NotAllowed
from projects.models import Project
from projects.services.audit.sitelog import note
from projects.services.planning.documents import import_specifications
from projects.services.planning.projects import create_project
from projects.services.repositories.files import read_archive, read_folder
from projects.storage.paths import home, repository_path
from projects.workers.queue import enqueue

UPLOAD_MB = 200  # of an archive, unpacked


@dataclass(frozen=True)
class CodeSource:
    """Where code comes from: exactly one of folder, address and archive."""

    folder: Path | None = None
    address: str = ""
    archive: IO[bytes] | None = None
    archive_name: str = ""
    roots: tuple[Path, ...] = ()  # a folder's repository must lie below one of these; anywhere when there are none

    @property
    def name(self) -> str:
        """What a project of it is called when nobody says otherwise."""
        last = self.folder.resolve().name if self.folder else PurePosixPath(self.address or self.archive_name).name
        for ending in (".git", ".zip", ".gz", ".bz2", ".xz", ".tar", ".tgz"):
            last = last.removesuffix(ending)
        return last[:120] or "project"


@dataclass(frozen=True)
class Imported:
    """A new project, the commit that work starts from, and what a person should know of the source."""

    project: Project
    head: str
    notes: tuple[str, ...]


def named_on_command_line(text: str) -> CodeSource:
    """A folder, an archive or an address as people write it. Raises BadInput."""
    if not text.strip():
        raise BadInput("Name a folder, an archive or a git address.")
    path = Path(text).expanduser()
    try:
        if path.is_dir():
            return CodeSource(folder=path)
        if path.is_file():
            return CodeSource(archive=path.open("rb"), archive_name=path.name)
    except OSError as error:
        raise BadInput(f"{text[:200]} cannot be read: {error.strerror}.") from None
    if "://" not in text and "@" not in text:
        raise BadInput(f"There is no folder or archive {text[:200]!r}, and it is not a git address.")
    return CodeSource(address=text)


def folder_on_page(text: str) -> CodeSource:
    """A folder below one of the roots that an administrator listed. Raises BadInput."""
    roots = [Path(root).expanduser().resolve() for root in settings.IMPORT_ROOTS]
    if not roots:
        raise BadInput("No folder can be taken from this page: an administrator lists them in AISWE_IMPORT_ROOTS.")
    # One answer for what is not there and what is not open: the page must not tell what lies elsewhere on this machine.
    try:
        folder = Path(text.strip()).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        folder = Path("/")
    if not any(folder.is_relative_to(root) for root in roots) or not folder.is_dir():
        raise BadInput(f"There is no such folder below {', '.join(map(str, roots))}.")
    return CodeSource(folder=folder, roots=tuple(roots))


def import_project(
    source: CodeSource,
    *,
    by: User,
    name: str = "",
    branch: str = "",
    subfolder: str = "",
    seconds: float = math.inf,
    **options: Any,
) -> Imported:
    """Take the code in and make a project of it; `options` are further settings of create_project().

    `seconds` limits the fetch where the installation allows more.

    Nothing is kept when it fails. Raises BadInput with the reason, and NotAllowed.
    """
    if not (by.is_authenticated and by.is_active):
        raise NotAllowed("Sign in to import a project.")
    incoming = home() / "repositories" / f".incoming-{secrets.token_hex(8)}"
    try:
        fetched, subfolder = _fetch(source, incoming, branch, subfolder, min(seconds, settings.IMPORT_SECONDS))
        with transaction.atomic():
            project = create_project(name or source.name, by=by, **options)
            shown = str(parse_address(source.address)) if source.address else ""
            project.source = (shown or (str(source.folder.resolve()) if source.folder else source.archive_name))[:500]
            project.base_branch, project.subfolder = fetched.branch, subfolder
            project.save(update_fields=["source", "base_branch", "subfolder"])
            note(by, "project.imported", project.slug, {"source": project.source, "head": fetched.head})
            # Last: a folder that cannot be moved into place undoes the rows.
            place = repository_path(project)
            if place.exists():
                raise BadInput(f"There is a repository at {place} already: move it away, or choose another name.")
            incoming.rename(place)
            enqueue("projects.jobs.index_project", project.pk)
    except GitError as refused:
        raise BadInput(str(refused)) from None
    finally:
        shutil.rmtree(incoming, ignore_errors=True)
    return Imported(project, fetched.head, (*fetched.notes, *import_specifications(project, fetched.head, by=by)))


def _fetch(source: CodeSource, target: Path, branch: str, subfolder: str, seconds: float) -> tuple[Fetched, str]:
    limits = FetchLimits(seconds, settings.IMPORT_MB)
    folder = source.folder.resolve() if source.folder is not None else None
    top = _repository_around(folder, source.roots) if folder is not None else None
    if source.address:
        fetched = clone_address(parse_address(source.address), target, branch, access=remote_access(), limits=limits)
    elif folder is not None and top is not None:
        inside = folder.relative_to(top).as_posix()
        subfolder = subfolder or ("" if inside == "." else inside)
        fetched = clone_folder(top, target, branch, limits=limits)
    else:
        if folder is not None:
            title = f"Import of the folder {folder.name}"
            files, notes = read_folder(folder, megabytes=settings.IMPORT_MB)
        else:
            assert source.archive is not None  # noqa: S101  a source is one of the three
            title = f"Import of {source.archive_name}"
            files, notes = read_archive(source.archive, source.archive_name, megabytes=UPLOAD_MB), []
        if not files:
            raise SourceRefused(f"{folder.name if folder else source.archive_name} holds no files.")
        fetched = replace(commit_files(files, target, branch, title), notes=tuple(notes))
    return fetched, _checked_subfolder(subfolder, target, fetched.head)


def _repository_around(folder: Path, roots: tuple[Path, ...]) -> Path | None:
    """The git repository that the folder is, or lies in; None when it is in none. Raises SourceRefused."""
    if (folder / "HEAD").is_file() and (folder / "objects").is_dir():
        return folder  # a bare one
    top = next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)
    if top is None or not roots:
        return top
    inside = any((top / ".git").resolve().is_relative_to(root) for root in roots)
    if inside and (top / ".git").is_file():  # it names a folder anywhere on this machine
        raise SourceRefused("It is a worktree of another repository: import that one.")
    return top if inside else None


def _checked_subfolder(subfolder: str, repository: Path, head: str) -> str:
    wanted = subfolder.strip().strip("/")
    if not wanted:
        return ""
    parts = PurePosixPath(wanted).parts
    known = git(repository, "ls-tree", "-d", "--name-only", "-z", head, wanted, check=False).stdout.split("\0")
    if ".." in parts or wanted.startswith(("-", ":")) or wanted not in known or len(wanted) > 400:
        raise SourceRefused(f"It has no folder {subfolder[:200]!r}.")
    return wanted


def remote_access() -> RemoteAccess:
    """Private hosts that are allowed and credentials, from the environment."""
    return RemoteAccess(settings.GIT_HOSTS, by_host(settings.GIT_TOKENS), settings.GIT_SSH_KEY)


def by_host(rows: Iterable[str]) -> dict[str, str]:
    """Credentials by their host, of a setting whose rows are `host=credential`."""
    pairs = (row.split("=", 1) for row in rows if "=" in row)
    return {host.strip().lower(): token.strip() for host, token in pairs}
