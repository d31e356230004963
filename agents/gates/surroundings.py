"""What a line depends on, as text: a decision about a finding holds while this stays the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from agents.gates.source import Unit
from agents.languages.python import syntax
from agents.languages.python.slices import Slices

_LONGEST = 2_000  # characters of a line; a longer one was written by a program and says enough
_ROUNDS = 5
_NAME = re.compile(r"[A-Za-z_]\w*")
_FUNCTION = re.compile(
    r"\b(?:function|func|fn|fun|def|sub|proc)\b|=>\s*\{|^\s*(?:[\w<>\[\],.*&:~]+\s+)*[\w:~]+\s*\([^;=]*\)[^;=]*\{?\s*$"
)
_CONTROL = re.compile(r"^\s*(?:\}\s*)?(?:if|else|for|foreach|while|switch|catch|try|do|with|case|elif|unless|until)\b")
_CLOSES = re.compile(r"\s*(?:[\])}]|end\b|esac\b|done\b|fi\b)")
_GIVES = re.compile(
    r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)?(?::=|[-+.|?]?=(?![=~>]))|\bfor(?:each)?\s+\(?(?:\w+\s+)?(\w+)|\bread\s+(?:-\w+\s+)*(\w+)"
)


def surroundings(unit: Unit, line: int) -> bytes:
    """What the line of a unit depends on; b"" where nothing around it matters."""
    if unit.language == "python":
        return _in_python(unit.data, line).encode("utf-8", "surrogatepass")
    if unit.language == "command":
        return b" ".join(unit.data.split())
    if unit.language == "dependencies":
        return b""
    return "\n".join(_in_text(*_lines(unit.data), line)).encode("utf-8", "surrogatepass")


@lru_cache(maxsize=4)
def _slices(data: bytes) -> Slices | None:
    try:
        return Slices(syntax.parse(data))
    except syntax.UNREADABLE:
        return None


def _in_python(data: bytes, line: int) -> str:
    slices = _slices(data)
    try:
        return slices.text(line) if slices else ""
    except (RecursionError, ValueError):
        return data.decode("utf-8", "replace")  # too deep to follow: any change ends the decision


Given = tuple[int, frozenset[str]]  # the number of a line, and the names that it gives a value


@lru_cache(maxsize=4)
def _lines(data: bytes) -> tuple[tuple[str, ...], tuple[Given, ...]]:
    lines = tuple(data.decode("utf-8", "replace").split("\n"))
    return lines, tuple((number, names) for number, text in enumerate(lines) if (names := _given(text)))


def _in_text(lines: tuple[str, ...], gives: tuple[Given, ...], line: int) -> Iterator[str]:
    """The lines around that the line is part of, the function it is in, and those that give its names a value."""
    at = line - 1
    if not 0 <= at < len(lines) or len(lines[at]) > _LONGEST:
        return
    above = list(_ancestors(lines, at))
    function = next((one for one in above if _FUNCTION.search(lines[one]) and not _CONTROL.match(lines[one])), None)
    chosen = set(above if function is None else _block(lines, function)) | set(_block(lines, at))
    wanted = set(_NAME.findall(" ".join(lines[one] for one in chosen | {at})))
    for _ in range(_ROUNDS):
        new = {number for number, names in gives if number not in chosen and not names.isdisjoint(wanted)}
        if not new:
            break
        chosen |= new
        wanted |= set(_NAME.findall(" ".join(lines[one] for one in new)))
    for number in sorted(chosen - {at}):
        text = " ".join(lines[number].split())
        if text and not text.startswith(("//", "# ")):
            yield text


def _given(text: str) -> frozenset[str]:
    if len(text) > _LONGEST:
        return frozenset()
    return frozenset(name for found in _GIVES.findall(text) for name in found if name)


def _depth(text: str) -> int:
    return len(text) - len(text.lstrip())


def _ancestors(lines: tuple[str, ...], at: int) -> Iterator[int]:
    """The lines above that are indented less and less."""
    depth = _depth(lines[at])
    for number in range(at - 1, -1, -1):
        text = lines[number]
        if depth == 0:
            return
        if text.strip() and _depth(text) < depth and len(text) <= _LONGEST:
            depth = _depth(text)
            yield number


def _block(lines: tuple[str, ...], start: int) -> Iterator[int]:
    depth = _depth(lines[start])
    yield start
    for number in range(start + 1, len(lines)):
        text = lines[number]
        if text.strip() and _depth(text) <= depth and not _CLOSES.match(text):
            return
        yield number
