"""Finding a recipe: one that ships with the product, a folder, or a git repository. All are read as data."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path, PurePosixPath

from agents.recipes.model import BUILT_IN, MANIFEST, MAX_BYTES, MAX_FILE_BYTES, MAX_FILES, Recipe, read
from agents.recipes.problems import RecipeError
from agents.workspace.addresses import SourceRefused, parse_address
from agents.workspace.fetching import NOBODY, FetchLimits, RemoteAccess, clone_address, clone_folder
from agents.workspace.git import GitError, git
from agents.workspace.store import LINK, SUBMODULE, Store

__all__ = ["Recipe", "RecipeError", "load", "recipes"]

LIBRARY = Path(__file__).parent / "library"
FETCH = FetchLimits(seconds=120, megabytes=50, when_late="A recipe is a small repository: check the address.")
MAX_PATH = 200
_SKIPPED = frozenset({".git", "__pycache__"})
_LABEL = re.compile(r"[a-z][a-z0-9-]*")
_MARK = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}")  # a tag, a branch or a commit


def recipes() -> list[Recipe]:
    """The recipes that ship with the product, by name."""
    return [_built_in(path.parent.name) for path in sorted(LIBRARY.glob(f"*/{MANIFEST}"))]


def load(name_or_place: str | Path, access: RemoteAccess = NOBODY) -> Recipe:
    """The recipe of this name, in this folder, or at this git address, whose `#tag` may follow.

    Raises RecipeError with the way out.
    """
    given = str(name_or_place).strip()
    if isinstance(name_or_place, str) and (LIBRARY / given / MANIFEST).is_file() and _LABEL.fullmatch(given):
        return _built_in(given)
    if "://" in given or re.match(r"[\w.-]+@[\w.-]+:", given):
        return _from_git(given, access)
    folder = Path(given).expanduser()
    if not given or not folder.is_dir():
        names = ", ".join(one.name for one in recipes())
        raise RecipeError(f"There is no recipe {given[:200]!r}. There are {names}; or name a folder or a git address.")
    place = folder.resolve()
    return read(_name_of(place.name), _files_of(place), source=str(place))


@cache
def _built_in(name: str) -> Recipe:
    return read(name, _files_of(LIBRARY / name), source=BUILT_IN)


def _files_of(folder: Path) -> dict[str, bytes]:
    """The files below a folder, by path. Raises RecipeError for links, for what is no file, and for too much."""
    found: dict[str, bytes] = {}
    for above, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if name not in _SKIPPED)
        linked = [name for name in names if Path(above, name).is_symlink()]
        for name in sorted([*files, *linked]):
            place = Path(above, name)
            path = place.relative_to(folder).as_posix()
            status = place.lstat()
            _check(folder.name, path, status.st_size, is_file=stat.S_ISREG(status.st_mode))
            try:
                # Not followed, should it have become a link meanwhile.
                with os.fdopen(os.open(place, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
                    found[path] = file.read(MAX_FILE_BYTES + 1)
            except OSError as error:
                raise RecipeError(f"{folder.name}/{path} cannot be read: {error.strerror}.") from None
            _check(folder.name, path, len(found[path]))
            _check_all(folder.name, found)
    return found


def _from_git(text: str, access: RemoteAccess) -> Recipe:
    """The recipe that a repository is, at a tag, a branch or a commit; else at the branch that is checked out there."""
    address, _, mark = text.partition("#")
    if mark and not _MARK.fullmatch(mark):
        raise RecipeError(f"{mark[:80]!r} cannot be a tag: write ADDRESS#TAG.")
    with tempfile.TemporaryDirectory(prefix="aiswe-recipe-") as scratch:
        clone = Path(scratch) / "repository"
        try:
            if address.startswith("file://"):
                place = Path(address.removeprefix("file://"))
                if not place.is_absolute() or not place.is_dir():
                    raise RecipeError(f"There is no repository at {address[:200]}: write file:///FOLDER.")
                head, shown = clone_folder(place, clone, limits=FETCH).head, address
            else:
                parsed = parse_address(address)
                head, shown = clone_address(parsed, clone, access=access, limits=FETCH).head, str(parsed)
            commit = _commit_of(clone, mark, shown) if mark else head
            files = _files_in(clone, commit, shown)
        except SourceRefused as refused:
            raise RecipeError(f"The recipe cannot be fetched. {refused}") from None
        except GitError as refused:
            raise RecipeError(f"The recipe at {address[:200]} cannot be read: {refused}") from None
    name = PurePosixPath(address.rstrip("/").rpartition(":")[2]).name.removesuffix(".git")
    return read(_name_of(name), files, source=f"{shown}#{mark}" if mark else shown, commit=commit)


def _commit_of(clone: Path, mark: str, shown: str) -> str:
    for name in (f"refs/tags/{mark}", f"refs/remotes/origin/{mark}", mark):
        found = git(clone, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", check=False)
        if found.returncode == 0:
            return found.stdout.strip()
    raise RecipeError(f"{shown} has no tag, branch or commit {mark!r}.")


def _files_in(clone: Path, commit: str, shown: str) -> dict[str, bytes]:
    """The files of a commit, read from git's objects: nothing is checked out."""
    store = Store(clone)
    entries = store.listing(commit).entries
    for path, entry in entries.items():
        _check(shown, path, entry.size, is_file=entry.mode not in (LINK, SUBMODULE))
    _check_count(shown, len(entries))
    contents = store.contents(entry.hash for entry in entries.values())
    found = {path: contents[entry.hash] for path, entry in entries.items()}
    _check_all(shown, found)
    return found


def _check(recipe: str, path: str, size: int, *, is_file: bool = True) -> None:
    """Raise RecipeError for a file that no recipe may have."""
    parts = path.split("/")
    if not is_file:
        raise RecipeError(f"{recipe}: {path[:80]!r} is a link, or no file: a recipe holds plain files only.")
    if len(path) > MAX_PATH or not path.isprintable() or "\\" in path or path.startswith("/"):
        raise RecipeError(f"{recipe}: the path {path[:80]!r} is too long or holds signs that a path cannot have.")
    if any(part in ("", ".", "..") or part.lower() == ".git" for part in parts):
        raise RecipeError(f"{recipe}: the path {path[:80]!r} leads out of the recipe.")
    if size > MAX_FILE_BYTES:
        raise RecipeError(f"{recipe}/{path} has more than {MAX_FILE_BYTES:,} bytes: a recipe holds small files.")


def _check_all(recipe: str, files: Mapping[str, bytes]) -> None:
    _check_count(recipe, len(files))
    if sum(map(len, files.values())) > MAX_BYTES:
        raise RecipeError(f"{recipe} has more than {MAX_BYTES:,} bytes: a recipe is small.")


def _check_count(recipe: str, count: int) -> None:
    if count > MAX_FILES:
        raise RecipeError(f"{recipe} has more than {MAX_FILES} files: a recipe is small. Is it the right folder?")


def _name_of(text: str) -> str:
    """A recipe's name from that of its folder or repository."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "recipe"
