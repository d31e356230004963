"""Read a folder once, safely, and lay what must be scanned out under neutral names.

Scanners never see the project folder itself: they get copies in a fresh folder without configuration files, ignore
files, symbolic links or git, so nothing in the project can steer them.
"""

from __future__ import annotations

import ast
import json
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath

from agents.gates.base import GateError, Policy, RawFinding, own_finding
from agents.gates.quiet import quiet
from agents.languages.python import syntax

DEPENDENCY_DIRS = frozenset({"node_modules", ".venv", "venv", "site-packages", ".tox", ".nox"})
_PYTHON = frozenset({".py", ".pyw", ".pyi"})
_PROGRAMS = frozenset({".pyc", ".pyo", ".so", ".pyd", ".dll", ".dylib", ".exe", ".class", ".jar", ".wasm", ".node"})
_ARCHIVES = frozenset({".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".whl", ".egg", ".pkl", ".pickle"})
_LOOKS_LIKE_CODE = re.compile(rb"^\s*(?:import|from|def|class|exec|eval|async|with|for|if)\b|\w\s*\(", re.MULTILINE)
_LOCK_FILES = frozenset({"package-lock.json", "npm-shrinkwrap.json"})
_REQUIREMENTS = re.compile(
    r"^(?:.*/)?(?:[\w.-]*requirements[\w.-]*\.(?:txt|in)|requirements/[\w.-]+\.(?:txt|in)|constraints\.txt)$"
)
_SCRIPT = re.compile(rb"<script\b[^>]*>(.*?)</script\s*>", re.IGNORECASE | re.DOTALL)
_EMBEDDED_PYTHON = re.compile(rb"<%!?(?![=%@\w])(.*?)%>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Unit:
    """One piece of text in one language, and where its lines stand in the project."""

    name: str
    path: str
    language: str
    data: bytes
    lines: tuple[int, ...] = ()

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


def collect(root: Path, policy: Policy, paths: Sequence[str] | None = None) -> Tree:
    """Read every regular file below `root` (or only `paths`), following no link and running nothing.

    Raises `GateError` when the root or a path is missing or leaves the root.
    """
    if not root.is_dir():
        raise GateError(f"{root}: not a folder; name the folder that holds the code")
    tree, total = Tree(), 0
    for path in _named(root, paths) if paths is not None else _walk(root, policy, tree):
        if tree.files >= policy.max_files:
            tree.problems.append(f"more than {policy.max_files} files: scan a smaller folder or name the changed files")
            break
        data = _read(root, path, policy, tree)
        if data is None:
            continue
        tree.files += 1
        total += len(data)
        if total > policy.max_total_bytes:
            tree.problems.append(f"more than {policy.max_total_bytes} bytes: scan a smaller folder")
            break
        for language, suffix, text, lines in _pieces(path, data, tree):
            tree.units.append(Unit(f"u{len(tree.units):05d}{suffix}", path, language, text, lines))
    if not tree.files and not tree.problems:
        tree.problems.append("nothing to scan: no file found")
    return tree


def _named(root: Path, paths: Iterable[str]) -> Iterator[str]:
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
            for folder, _, names in os.walk(base / path, followlinks=False):
                yield from (str(PurePosixPath(Path(folder, name).relative_to(base))) for name in sorted(names))
        else:
            yield str(pure)


def _walk(root: Path, policy: Policy, tree: Tree) -> Iterator[str]:
    errors: list[OSError] = []
    for folder, dirs, names in os.walk(root, followlinks=False, onerror=errors.append):
        here = PurePosixPath(Path(folder).relative_to(root).as_posix())
        for name in sorted(dirs):
            if os.path.islink(os.path.join(folder, name)):
                _note_link(root, str(here / name), tree)
                dirs.remove(name)
            elif policy.skip_dependencies and name in DEPENDENCY_DIRS:
                tree.note("dependencies-skipped", str(here / name))
                dirs.remove(name)
        dirs.sort()
        in_git = ".git" in here.parts
        for name in sorted(names):
            # Git's own objects are compressed data; only files that Python or Node could load matter there.
            if in_git and Path(name).suffix not in _PYTHON | {".js", ".mjs", ".cjs", ".jsx"}:
                continue
            yield str(here / name)
    tree.problems.extend(f"{error.filename}: could not be listed ({error.strerror})" for error in errors)


def _note_link(root: Path, path: str, tree: Tree) -> None:
    inside = (root / path).resolve().is_relative_to(root.resolve())
    tree.note("link" if inside else "link-out", path)


def _read(root: Path, path: str, policy: Policy, tree: Tree) -> bytes | None:
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
    except OSError as error:
        tree.problems.append(f"{path}: could not be read ({error.strerror})")
        return None
    if len(data) > policy.max_file_bytes:
        if b"\0" in data[:8192] and Path(path).suffix.lower() not in _PROGRAMS | _PYTHON:
            tree.note("large-binary", path)
            return None
        tree.problems.append(f"{path}: larger than {policy.max_file_bytes} bytes, not scanned: split it")
        return None
    return data


def _pieces(path: str, data: bytes, tree: Tree) -> Iterator[tuple[str, str, bytes, tuple[int, ...]]]:
    pure = PurePosixPath(path)
    suffix, name = pure.suffix.lower(), pure.name.lower()
    if suffix in _PYTHON:
        yield "python", ".py", data, ()
        return
    if suffix in _PROGRAMS or data.startswith((b"\x7fELF", b"MZ")):
        tree.note("compiled-code", path)
        return
    if suffix == ".pth":
        tree.note("start-up-hook", path)
    if suffix in _ARCHIVES:
        tree.note("archive", path)
        return
    if b"\0" in data[:8192] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        tree.note("binary", path)
        return
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        # Scanners read UTF-8; in another encoding a program would pass for noise.
        data = data.decode("utf-16", "replace").encode("utf-8", "replace")
    language, unit_suffix = _kind(path.lower(), data)
    if language == "notebook":
        yield from _notebook(path, data, tree)
    elif language:
        yield language, unit_suffix, data, ()
    elif _is_python(data):
        yield "python", ".py", data, ()
    elif re.match(rb"#!.*\b(?:node|deno|bun)\b", data):
        yield "javascript", ".js", data, ()
    else:
        yield "text", ".txt", data, ()
        if name in _LOCK_FILES:
            yield "dependencies", ".json", data, ()
        elif _REQUIREMENTS.match(path.lower()):
            yield "dependencies", ".txt", data, ()
    if language == "template":
        for inside, code_suffix, pattern in (("javascript", ".js", _SCRIPT), ("python", ".py", _EMBEDDED_PYTHON)):
            yield from _embedded(inside, code_suffix, pattern, data)


@cache
def _kinds() -> list[dict[str, str]]:
    kinds: list[dict[str, str]] = tomllib.loads(Path(__file__).with_name("file_kinds.toml").read_text("utf-8"))["kinds"]
    return kinds


def _kind(path: str, data: bytes) -> tuple[str, str]:
    """Language and suffix by a file's path or first line; empty when neither says it."""
    for row in _kinds():
        if re.search(row.get("path", "(?!)"), path) or re.match(row.get("start", "(?!)").encode(), data):
            return row["language"], row.get("suffix", "")
    return "", ""


def _embedded(
    language: str, suffix: str, pattern: re.Pattern[bytes], data: bytes
) -> Iterator[tuple[str, str, bytes, tuple[int, ...]]]:
    for match in pattern.finditer(data):
        code = match.group(1)
        if not code.strip() or b"{{" in code or b"{%" in code:
            continue
        first = data.count(b"\n", 0, match.start(1)) + 1
        if language == "python":
            code = _dedent(code)
            if not _parses(code):
                continue
        yield language, suffix, code, tuple(range(first, first + code.count(b"\n") + 1))


def _dedent(code: bytes) -> bytes:
    lines = code.split(b"\n")
    depth = min((len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()), default=0)
    return b"\n".join([lines[0].lstrip(), *(line[depth:] for line in lines[1:])])


def _notebook(path: str, data: bytes, tree: Tree) -> Iterator[tuple[str, str, bytes, tuple[int, ...]]]:
    try:
        cells = json.loads(data)["cells"]
        sources = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
        texts = [source if isinstance(source, str) else "".join(source) for source in sources]
    except (ValueError, KeyError, TypeError, RecursionError):
        tree.problems.append(f"{path}: not a readable notebook")
        return
    yield "text", ".txt", data, ()
    raw, position = data.decode("utf-8", "replace"), 0
    code: list[str] = []
    lines: list[int] = []
    for text in texts:
        for line in text.split("\n"):
            found = raw.find(json.dumps(line, ensure_ascii=False)[1:-1] or "\0", position)
            position = found if found >= 0 else position
            lines.append(raw.count("\n", 0, position) + 1)
            # IPython's own syntax is not Python: a shell escape is a command, a magic a comment.
            bare = line.lstrip()
            indent = line[: len(line) - len(bare)]
            if bare.startswith("!"):
                line = f"{indent}__import__('os').system({bare[1:]!r})"
            elif bare.startswith("%"):
                line = f"{indent}pass  # {bare}"
            code.append(line)
    yield "python", ".py", "\n".join(code).encode("utf-8", "replace"), tuple(lines)


def _parses(data: bytes) -> ast.Module | None:
    with quiet():
        try:
            return syntax.parse(data)
        except syntax.UNREADABLE:
            return None


def _is_python(data: bytes) -> bool:
    """Whether a file of another kind is a Python program all the same (JSON and prose are not)."""
    if len(data) > 400_000 or not _LOOKS_LIKE_CODE.search(data):
        return False
    module = _parses(data)
    acts = (ast.Call, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return module is not None and any(isinstance(node, acts) for node in ast.walk(module))
