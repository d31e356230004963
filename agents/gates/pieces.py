"""The pieces of text in a file that scanners read: all of it, and what stands in it in another language."""

from __future__ import annotations

import ast
import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from agents.gates.base import RawFinding, own_finding
from agents.gates.commands import UNREADABLE, as_shell, commands_of
from agents.gates.kinds import Kind, is_media, kinds_of, mostly_text
from agents.gates.pins import is_dependency_file, is_of_another_ecosystem
from agents.languages.node.tree import read_any
from agents.languages.python import syntax
from agents.languages.python.quiet import quiet

PYTHON = frozenset({".py", ".pyw", ".pyi"})
PROGRAMS = frozenset({".pyc", ".pyo", ".so", ".pyd", ".dll", ".dylib", ".exe", ".class", ".jar", ".wasm", ".node"})
_ARCHIVES = frozenset({".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".whl", ".egg", ".pkl", ".pickle"})
_LOOKS_LIKE_CODE = re.compile(rb"^[ \t]*(?:import|from|def|class|exec|eval|async|with|for|if)\b|\w\s*\(", re.MULTILINE)
# The patterns of pairs are searched for one half after the other: together they take quadratic time on openings alone.
_SCRIPT = re.compile(rb"<script\b", re.IGNORECASE), re.compile(rb"</script(?=[\s/>])", re.IGNORECASE)
_EMBEDDED_PYTHON = re.compile(rb"<%!?(?![=%@\w])"), re.compile(rb"%>")
_ATTRIBUTE = re.compile(rb"""([^\s"'>/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+))?""")
_TYPESCRIPT = re.compile(rb"lang\s*=\s*[\"']?tsx?\b")
_DATA = re.compile(
    rb"application/(?:[\w.-]+\+)?json|importmap|speculationrules|text/(?:template|html|x-(?!(?:java|ecma)script$).*)"
)
_ACTS = re.compile(rb"<script\b|<foreignObject\b|\son\w+\s*=|javascript:|<!ENTITY", re.IGNORECASE)
_FILLED = re.compile(rb"\{\{(?:(?!\{\{).)*?\}\}", re.DOTALL)
_STATEMENT = re.compile(rb"\{[%#](?:(?!\{[%#]).)*?[%#]\}", re.DOTALL)
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_CELLS = {"bash": "shell", "sh": "shell", "script": "shell", "system": "shell", "sx": "shell"}
_CELLS |= {"javascript": "javascript", "js": "javascript"}
_AS_FILES = frozenset({"file", "html", "svg", "writefile"})
_SUFFIXES = {"shell": ".sh", "javascript": ".js"}
_IN_PYTHON = frozenset({"time", "timeit", "capture", "prun", "python", "python3", "pypy"})


@dataclass(frozen=True, slots=True)
class FilePiece:
    """Text in one language, and the line of the file behind each of its lines where they differ."""

    language: str
    suffix: str
    data: bytes
    lines: tuple[int, ...] = ()


def not_checked(path: str, what: str, line: int = 0) -> RawFinding:
    """No scanner reads this file, or not all of it; `what` says why."""
    return own_finding("not-checked", path, line, what=what)


def pieces_of(path: str, data: bytes, *, executable: bool = False) -> Iterator[FilePiece | RawFinding]:
    """What scanners must read of a file, and what is odd about the file itself."""
    suffix = PurePosixPath(path.lower()).suffix
    if suffix not in PYTHON:
        if suffix in PROGRAMS or data.startswith((b"\x7fELF", b"MZ")):
            yield own_finding("compiled-code", path, 0)
            return
        if suffix == ".pth":
            yield own_finding("start-up-hook", path, 0)
        if suffix in _ARCHIVES:
            yield own_finding("archive", path, 0)
            return
        if is_media(path, data):
            yield own_finding("binary", path, 0)
            return
        if data.startswith(_UTF16):
            # Scanners read UTF-8; in another encoding a program would pass for noise.
            data = data.decode("utf-16", "replace").encode("utf-8", "replace")
    if b"\0" in data:
        if suffix not in PYTHON and not kinds_of(path, data) and not mostly_text(data):
            yield not_checked(path, "a binary file of an unknown kind")
            return
        yield own_finding("nul-byte", path, data.count(b"\n", 0, data.index(b"\0")) + 1)
        data = data.replace(b"\0", b"")
    kinds = kinds_of(path, data)
    if suffix in PYTHON:
        yield FilePiece("python", ".py", data.removeprefix(codecs.BOM_UTF8))  # Semgrep takes the mark for a letter
        yield from (FilePiece("command", ".sh", data) for kind in kinds if kind.language == "shell")
        return
    if not kinds:
        yield from _plain(path, data, executable)
    for kind in kinds:
        yield from _notebook(path, data) if kind.language == "notebook" else _known(path, kind, data)
    if is_dependency_file(path, data):
        yield FilePiece("dependencies", ".txt", data)
    elif is_of_another_ecosystem(path):
        yield not_checked(path, "no source of advisories is asked about these packages")


def _plain(path: str, data: bytes, executable: bool) -> Iterator[FilePiece]:
    if _is_python(data):
        yield FilePiece("python", ".py", data)
        return
    yield FilePiece("text", ".txt", data)
    if executable and not PurePosixPath(path).suffix:
        yield FilePiece("command", ".sh", data)  # without a first line that names a program, the shell runs it


def _known(path: str, kind: Kind, data: bytes) -> Iterator[FilePiece | RawFinding]:
    yield FilePiece(kind.language, kind.suffix, data)
    if kind.language == "unchecked":
        yield not_checked(path, "no scanner reads this language")
    if kind.commands:
        try:
            for line, text in commands_of(kind, data.decode("utf-8", "replace")):
                shell = as_shell(text)
                yield FilePiece("command", ".sh", shell.encode(), tuple(range(line, line + shell.count("\n") + 1)))
        except UNREADABLE as error:
            yield not_checked(path, f"its commands cannot be read ({type(error).__name__})")
    if kind.language == "template":
        if path.lower().endswith(".svg") and (acting := _ACTS.search(data)):
            yield own_finding("picture-with-script", path, data.count(b"\n", 0, acting.start()) + 1)
        yield from _scripts(path, data)


def _scripts(path: str, data: bytes) -> Iterator[FilePiece | RawFinding]:
    for start, inner in _between(data, *_SCRIPT):
        attributes, _, code = inner.partition(b">")
        start += len(inner) - len(code)
        if _DATA.fullmatch(_type_of(attributes)):
            continue
        if _is_filled(code) and read_any(code.decode("utf-8", "replace")) is None:
            code = _FILLED.sub(lambda found: b" _filled " + b"\n" * found[0].count(b"\n"), code)
            code = _STATEMENT.sub(lambda found: b"\n" * found[0].count(b"\n"), code)
            if read_any(code.decode("utf-8", "replace")) is None:
                line = data.count(b"\n", 0, start) + 1
                yield not_checked(path, "a script whose text depends on what the template fills in", line)
                continue
        typed = bool(_TYPESCRIPT.search(attributes))
        language, suffix = ("typescript", ".ts") if typed else ("javascript", ".js")
        yield from _inside(language, suffix, code, data, start)
    for start, inner in _between(data, *_EMBEDDED_PYTHON):
        code = _dedent(inner)
        if not _is_filled(code) and _parses(code):
            yield from _inside("python", ".py", code, data, start)


def _between(data: bytes, opening: re.Pattern[bytes], closing: re.Pattern[bytes]) -> Iterator[tuple[int, bytes]]:
    """What stands between an opening and the next closing, and where it starts."""
    at = 0
    while (opened := opening.search(data, at)) and (closed := closing.search(data, opened.end())):
        yield opened.end(), data[opened.end() : closed.start()]
        at = closed.end()


def _type_of(attributes: bytes) -> bytes:
    """The type of a script as a browser reads it: the first attribute of that name."""
    named = (found[2] or b"" for found in _ATTRIBUTE.finditer(attributes) if found[1].lower() == b"type")
    return next(named, b"").strip(b"\"'").strip().lower()


def _is_filled(code: bytes) -> bool:
    return b"{{" in code or b"{%" in code


def _inside(language: str, suffix: str, code: bytes, data: bytes, start: int) -> Iterator[FilePiece]:
    if code.strip():
        first = data.count(b"\n", 0, start) + 1
        yield FilePiece(language, suffix, code, tuple(range(first, first + code.count(b"\n") + 1)))


def _dedent(code: bytes) -> bytes:
    lines = code.split(b"\n")
    depth = min((len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()), default=0)
    return b"\n".join([lines[0].lstrip(), *(line[depth:] for line in lines[1:])])


def _notebook(path: str, data: bytes) -> Iterator[FilePiece | RawFinding]:
    try:
        book = json.loads(data)
        sources = [cell["source"] for cell in book["cells"] if cell["cell_type"] == "code"]
        texts = [source if isinstance(source, str) else "".join(source) for source in sources]
        language = str(book.get("metadata", {}).get("kernelspec", {}).get("language", "python")).lower()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        yield own_finding("notebook-unreadable", path, 0)
        return
    yield FilePiece("text", ".txt", data)
    if language != "python":
        yield not_checked(path, "no scanner reads the language of this notebook")
        return
    raw, position = data.decode("utf-8", "replace"), 0
    code: list[str] = []
    lines: list[int] = []
    for text in texts:
        numbers: list[int] = []
        for line in text.split("\n"):
            found = raw.find(json.dumps(line, ensure_ascii=False)[1:-1] or "\0", position)
            position = found if found >= 0 else position
            numbers.append(raw.count("\n", 0, position) + 1)
        magic = re.match(r"\s*%%(\w+)(.*)", text)
        if magic is None or magic[1] in _IN_PYTHON:
            code += map(_as_python, text.split("\n"))
            lines += numbers
        elif magic[1] in _CELLS:
            body = text.partition("\n")[2].encode("utf-8", "replace")
            yield FilePiece(_CELLS[magic[1]], _SUFFIXES[_CELLS[magic[1]]], body, tuple(numbers[1:]))
        elif magic[1] in _AS_FILES:
            name = (magic[2].split() or ["notes"])[-1] if "file" in magic[1] else f"cell.{magic[1]}"
            yield from _moved(pieces_of(name, text.partition("\n")[2].encode("utf-8", "replace")), path, numbers)
        elif magic[1] not in ("markdown", "latex"):
            yield not_checked(path, f"no scanner reads a cell in {magic[1][:20]}", numbers[0])
    yield FilePiece("python", ".py", "\n".join(code).encode("utf-8", "replace"), tuple(lines))


def _moved(pieces: Iterator[FilePiece | RawFinding], path: str, numbers: list[int]) -> Iterator[FilePiece | RawFinding]:
    """Pieces of the text below the first line of a cell as pieces of the notebook; `numbers` are the cell's lines."""
    for piece in pieces:
        if isinstance(piece, RawFinding):
            yield replace(piece, unit=path, line=numbers[min(piece.line, len(numbers) - 1)])
        else:
            lines = tuple(numbers[min(line, len(numbers) - 1)] for line in piece.lines)
            yield replace(piece, lines=lines or tuple(numbers[1:]))


def _as_python(line: str) -> str:
    """IPython's own syntax is not Python: a shell escape is a command, a magic a comment."""
    bare = line.lstrip()
    indent = line[: len(line) - len(bare)]
    if bare.startswith("!"):
        return f"{indent}__import__('os').system({bare[1:]!r})"
    return f"{indent}pass  # {bare}" if bare.startswith("%") else line


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
