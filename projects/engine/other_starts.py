"""Small work that people start without writing a requirement: an upgrade of a package, documentation that is behind."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from agents.languages.base import Language
from agents.languages.registry import is_test, language_of, languages
from agents.prompts.render import quoted
from agents.repair.build_log import DEPENDENCY
from agents.workspace.git import GitError
from agents.workspace.repository import Repository
from projects.errors import BadInput
from projects.models import Project, RequirementDocument, Run
from projects.services.accounts.rights import require
from projects.services.delivery.changes import changes_between
from projects.services.planning.build_logs import LEFT_ALONE
from projects.services.planning.small_work import plan_document, small_document
from projects.services.work.locks import lock_project
from projects.storage.packages import ProjectSupply
from projects.storage.paths import repository_of
from sandbox.base import SandboxError
from sandbox.package_index.names import NPM, plain_name

MOST_NOTES, MOST_PLACES = 1_500, 60
_NOTES = re.compile(r"(?:^|/)(?:CHANGE(?:S|LOG)|HISTORY|NEWS|RELEASES?)(?:\.(?:md|rst|txt))?$", re.I)
_PAGE = re.compile(r"\.(?:md|rst|adoc)$|^docs?/.*\.txt$", re.I)
_RECORD = re.compile(r"(?:^|/)(?:CHANGE(?:S|LOG)|HISTORY|NEWS)\b", re.I)  # tells what was, and stays
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]{1,40}(?![\w-])")


@dataclass(frozen=True)
class _Listed:
    """Where a package is listed: in which language's manifest, by which line, beside which others."""

    language: Language
    path: str
    name: str
    lines: dict[str, str]


def upgrade(project: Project, package: str, version: str, *, by: User) -> Run:
    """Have a package upgraded to a version, the newest by default, once a resolver says that all fits together.

    What the package's own notes say of the releases between is quoted. Raises NotAllowed and BadInput (not listed, no
    such version, no choice that fits).
    """
    require(by, project, "run.start")
    repository, supply = _repository(project), ProjectSupply(project)
    listed = _listed(repository, package)
    old = listed.lines[listed.name]
    try:
        version = version or supply.look_up(old).version
        new = _line(old, version)
        runtime = listed.lines.get("", "")
        others = [line for name, line in listed.lines.items() if name not in ("", listed.name)]
        found = supply.resolve([*others, new], runtime)
        if not found.ok:
            raise BadInput(
                f"{found.tool} finds no choice with {new.removeprefix(NPM)}: {' '.join(found.said.split())[:600]}"
            )
        notes = _notes(project, new, version)
    except SandboxError as refused:
        raise BadInput(f"{package} cannot be upgraded: {refused}") from None
    shown = new.removeprefix(NPM)
    parts = [
        f"{listed.path} asks for {shown} instead of {old.removeprefix(NPM)}, and everything works with it.",
        f"{found.tool} chose: {', '.join(found.chosen[:40])}",
        *(["What the package's notes say:", quoted(notes, "text")] if notes else []),
    ]
    cause = {
        "kind": DEPENDENCY,
        "tool": found.tool,
        "message": "upgrade",
        "file": listed.path,
        "command": "",
        "test": "",
    }
    start: dict[str, Any] = {"source": "upgrade", "cause": cause, "asked": [listed.name], "lines": {listed.path: new}}
    start |= {"reproduced": True, "check": f"{listed.path} asks for {shown}", "title": listed.path}
    return _plan(project, "\n\n".join(parts), "UPGRADE", by, start, ["All tests pass as before.", LEFT_ALONE])


def _listed(repository: Repository, package: str) -> _Listed:
    head = repository.base_head()
    for path in repository.files(head):
        for one in languages():
            lines = one.pins(path, repository.read(head, path) or "") if path.count("/") < 2 else {}
            name = next((name for name in lines if name and plain_name(name) == plain_name(package)), "")
            if name:
                return _Listed(one, path, name, lines)
    raise BadInput(f"No manifest of this repository lists {package[:100]!r}.")


def _line(old: str, version: str) -> str:
    """The line with another version, pinned as tightly as it was."""
    if old.startswith("npm:"):
        name, _, versions = old.rpartition("@")
        return f"{name}@{versions[0] if versions[:1] in '^~' else ''}{version}"
    head = re.split(r"[=<>!~;\s]", old, maxsplit=1)[0]
    wanted, _, marker = old.partition(";")
    sign = next((sign for sign in ("==", "~=") if sign in wanted), ">=")
    return f"{head}{sign}{version}" + (f"; {marker.strip()}" if marker else "")


def _notes(project: Project, line: str, version: str) -> str:
    """The first lines about a version in the notes that come with a package; "" for most, which ship none."""
    supply = ProjectSupply(project)
    if not supply.check(line).allowed:
        return ""
    try:
        folder = supply.fetch([line]).folder
    except SandboxError:
        return ""
    for path in sorted(folder.rglob("*"))[:20_000]:
        if _NOTES.search(path.name) and path.is_file() and not path.is_symlink():
            text = path.read_text("utf-8", "replace")[:400_000]
            if (at := re.search(rf"^\W*(?:version )?v?{re.escape(version)}\b", text, re.M | re.I)) is not None:
                return text[at.start() :][:MOST_NOTES]
    return ""


def update_documentation(project: Project, since: str, *, by: User) -> Run:
    """Have pages rewritten that name what was removed or renamed since a commit; nothing else is touched.

    Raises NotAllowed and BadInput (no such commit, nothing that is named went away).
    """
    require(by, project, "run.start")
    repository = _repository(project)
    head = repository.base_head()
    try:
        repository.files(since if re.fullmatch(r"[0-9a-f]{40,64}", since) else "0" * 40)
    except GitError:
        raise BadInput(f"There is no commit {since[:60]!r}: give a full hash.") from None
    changed = changes_between(project, since, head).paths
    gone = _gone(repository, since, head, changed)
    places = list(_places(repository, head, gone))[:MOST_PLACES]
    if not places:
        raise BadInput("No page names anything that went away since then.")
    rows = [f"- {path}:{line} names `{name}`{_now(gone[name])}" for path, line, name in places]
    text = "\n".join(["The documentation names only what there is:", *rows])
    stale: dict[str, list[str]] = {}
    for path, _, name in places:
        stale.setdefault(path, []).append(name)
    start = {"source": "documentation", "stale": {path: sorted({*names}) for path, names in stale.items()}}
    return _plan(project, text, "DOCS", by, start, [f"Nothing but {', '.join(stale)} changes."])


def _gone(repository: Repository, since: str, head: str, paths: tuple[str, ...]) -> dict[str, list[str]]:
    """By public name or option that no code has any more: the names that are new in the files which had it."""
    before, after = dict[str, set[str]](), set[str]()
    for path in repository.files(head):
        if language_of(path) is not None:
            after |= _names(path, repository.read(head, path) or "")
    fresh: dict[str, set[str]] = {}
    for path in paths:
        if language_of(path) is None or is_test(path):
            continue
        old, new = (_names(path, repository.read(at, path) or "") for at in (since, head))
        for name in old - new - after:
            before.setdefault(name, set()).add(path)
            fresh.setdefault(name, set()).update(one for one in new - old if one[:2] != "--" or name[:2] == "--")
    return {name: sorted(fresh[name])[:5] for name in before}


def _names(path: str, text: str) -> set[str]:
    language = language_of(path)
    found = (language.definitions(path, text) if language else None) or []
    names = {one.name.rpartition(".")[2] for one in found}
    return {one for one in names if len(one) > 3 and not one.startswith("_")} | set(_OPTION.findall(text))


def _places(repository: Repository, head: str, gone: Mapping[str, Any]) -> Iterator[tuple[str, int, str]]:
    """Path, line and name, where pages name what is gone: options as they are, names as code or before a bracket."""
    for path in repository.files(head):
        if not _PAGE.search(path) or _RECORD.search(path):
            continue
        for number, line in enumerate((repository.read(head, path) or "").splitlines(), 1):
            for name in gone:
                bare = re.escape(name)
                if re.search(rf"`[^`]*(?<![\w-]){bare}(?![\w-])[^`]*`|(?<![\w-]){bare}(?:\(|(?![\w-]))", line):
                    yield path, number, name


def _now(names: list[str]) -> str:
    return f", which is gone; new beside it: {', '.join(names)}" if names else ", which is gone"


def _repository(project: Project) -> Repository:
    repository = repository_of(project)
    try:
        repository.base_head()
    except GitError:
        raise BadInput("There is no code yet.") from None
    return repository


def _plan(project: Project, text: str, name: str, by: User, start: dict[str, Any], acceptance: list[str]) -> Run:
    with transaction.atomic():
        lock_project(project.pk)
        number = RequirementDocument.every.filter(project=project).count() + 1
        return plan_document(
            small_document(project, text, name=f"{name}-{number}", by=by, acceptance=acceptance, start=start), by=by
        )
