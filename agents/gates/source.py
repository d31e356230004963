"""Read a folder once, safely, and lay what must be scanned out under neutral names.

Scanners never see the project folder itself: they get copies in a fresh folder without configuration files, ignore
files, symbolic links or git, so nothing in the project can steer them.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from agents.gates.base import GateError, Policy, RawFinding, own_finding
from agents.gates.kinds import is_media, kinds_of, mostly_text
from agents.gates.pieces import PROGRAMS, PYTHON, not_checked, pieces_of

DEPENDENCY_DIRS = frozenset({"node_modules", ".venv", "venv", "site-packages", ".tox", ".nox"})


@dataclass(frozen=True, slots=True)
class Unit:
    """One piece of text in one language, and where its lines stand in the project."""

    name: str
    path: str
    language: str
    data: bytes
    lines: tuple[int, ...] = ()
    file: bytes = b""  # the text of the file that it is a part of

    def line_in_file(self, line: int) -> int:
        """The line of the project file behind a line of this unit."""
        return self.lines[line - 1] if 0 < line <= len(self.lines) else line


@dataclass(slots=True)
class Tree:
    """Everything found below a root: units to scan, and what is odd about the files themselves."""

    units: list[Unit] = field(default_factory=list)
    findings: list[RawFinding] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    files: int = 0
    digests: dict[str, bytes] = field(default_factory=dict)  # what the files of the findings hold, links point to

    def note(self, rule: str, path: str) -> None:
        """Report something about a file as such."""
        self.findings.append(own_finding(rule, path, 0))


def is_test_path(path: str) -> bool:
    """Whether a file is test code by its place or name."""
    pure = PurePosixPath(path)
    return (
        pure.name == "conftest.py"
        or pure.name.startswith("test_")
        or pure.stem.endswith(("_test", ".test", ".spec"))
        or any(part in ("tests", "test", "__tests__") for part in pure.parts[:-1])
    )


@dataclass(slots=True)
class _Reading:
    """The part of a folder that is being read."""

    tree: Tree = field(default_factory=Tree)
    total: int = 0


def collect(root: Path, policy: Policy, paths: Sequence[str] | None = None) -> Iterator[Tree]:
    """Read every regular file below `root` (or only `paths`) in parts, following no link and running nothing.

    A part holds at most as many files and bytes as the policy says. Raises `GateError` when the root or a path is
    missing or leaves the root.
    """
    if not root.is_dir():
        raise GateError(f"{root}: not a folder; name the folder that holds the code")
    reading, parts = _Reading(), 1
    for path in _named(root, paths, policy, reading) if paths is not None else _walk(root, policy, reading):
        found = _read(root, path, policy, reading.tree)
        if found is None:
            continue
        data, mode = found
        if reading.tree.files >= policy.max_files or (
            reading.tree.files and reading.total + len(data) > policy.max_total_bytes
        ):
            if parts == policy.max_parts:
                limit = f"{parts} parts of {policy.max_files} files or {policy.max_total_bytes} bytes"
                reading.tree.problems.append(f"more than {limit}: scan a smaller folder or name the changed files")
                break
            yield reading.tree
            reading.tree, reading.total, parts = Tree(), 0, parts + 1
        reading.total += len(data)
        _take(path, data, mode, reading.tree)
    if not reading.tree.files and not reading.tree.problems:
        reading.tree.problems.append("nothing to scan: no file found")
    yield reading.tree


def _take(path: str, data: bytes, mode: int, tree: Tree) -> None:
    tree.files += 1
    for piece in pieces_of(path, data, executable=bool(mode & 0o111)):
        if isinstance(piece, RawFinding):
            tree.findings.append(piece)
            tree.digests[path] = hashlib.sha256(data).hexdigest().encode()
        else:
            name = f"u{len(tree.units):05d}{piece.suffix}"
            tree.units.append(Unit(name, path, piece.language, piece.data, piece.lines, data))


def _named(root: Path, paths: Iterable[str], policy: Policy, reading: _Reading) -> Iterator[str]:
    base = root.resolve()
    for path in dict.fromkeys(paths):
        pure = PurePosixPath(path)
        if pure.is_absolute() or ".." in pure.parts or "\0" in path:
            raise GateError(f"{path!r}: a path to scan must be relative and stay inside the folder")
        if not (base / path).parent.resolve().is_relative_to(base):
            raise GateError(f"{path!r}: leaves the folder through a link")
        if not os.path.lexists(base / path):
            raise GateError(f"{path!r}: no such file; leave deleted files out")
        if (base / path).is_dir() and not (base / path).is_symlink():
            yield from _walk(root, policy, reading, path)
        else:
            yield str(pure)


def _walk(root: Path, policy: Policy, reading: _Reading, below: str = "") -> Iterator[str]:
    errors: list[OSError] = []
    for folder, dirs, names in os.walk(root / below, followlinks=False, onerror=errors.append):
        here = PurePosixPath(Path(folder).relative_to(root).as_posix())
        for name in sorted(dirs):
            if os.path.islink(os.path.join(folder, name)):
                _note_link(root, str(here / name), reading.tree)
                dirs.remove(name)
            elif policy.skip_dependencies and name in DEPENDENCY_DIRS:
                reading.tree.note("dependencies-skipped", str(here / name))
                dirs.remove(name)
        dirs.sort()
        in_git = ".git" in here.parts
        for name in sorted(names):
            # Git's own objects are compressed data; only hooks and what Python or Node could load matter there.
            hook = here.name == "hooks" and not name.endswith(".sample")
            if in_git and not hook and Path(name).suffix not in PYTHON | {".js", ".mjs", ".cjs", ".jsx"}:
                continue
            yield str(here / name)
    reading.tree.problems.extend(f"{error.filename}: could not be listed ({error.strerror})" for error in errors)


def _note_link(root: Path, path: str, tree: Tree) -> None:
    inside = (root / path).resolve().is_relative_to(root.resolve())
    tree.note("link" if inside else "link-out", path)
    tree.digests[path] = os.readlink(os.fsencode(root / path))


def read_beside(root: Path, path: str, policy: Policy) -> bytes | None:
    """A file that scanned ones depend on; None for what is not there, is no regular file, or lies behind a link."""
    if not os.path.lexists(root / path) or any((root / one).is_symlink() for one in PurePosixPath(path).parents[:-1]):
        return None
    read = _read(root, path, policy, Tree())
    return read[0] if read else None


def _read(root: Path, path: str, policy: Policy, tree: Tree) -> tuple[bytes, int] | None:
    """What a regular file holds, and its mode; None for what cannot be scanned, which is noted."""
    full = root / path
    try:
        mode = full.lstat().st_mode
        if stat.S_ISLNK(mode):
            _note_link(root, path, tree)
            return None
        if not stat.S_ISREG(mode):
            tree.note("special-file", path)
            return None
        with open(os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            data = file.read(policy.max_file_bytes + 1)
            if len(data) > policy.max_file_bytes:
                file.seek(0)
                tree.digests[path] = hashlib.file_digest(file, "sha256").hexdigest().encode()
    except OSError as error:
        tree.problems.append(f"{path}: could not be read ({error.strerror})")
        return None
    if len(data) > policy.max_file_bytes:
        if is_media(path, data):
            tree.note("large-binary", path)
            return None
        unknown = Path(path).suffix.lower() not in PROGRAMS | PYTHON and not kinds_of(path, data)
        if unknown and b"\0" in data and not mostly_text(data):
            tree.findings.append(not_checked(path, "a large binary file of an unknown kind"))
            return None
        tree.problems.append(f"{path}: larger than {policy.max_file_bytes} bytes, not scanned: split it")
        return None
    return data, mode
