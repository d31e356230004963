"""What a line depends on, as text: a decision about a finding holds while this stays the same."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
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
_NAMED = re.compile(
    r"\b(?:function|func|fn|fun|def|sub|proc)\s+(?:\([^)]*\)\s*)?(?:self\.)?([A-Za-z_]\w*)"
    r"|^\s*(?:[\w<>\[\],.*&:~]+\s+)+\*?([A-Za-z_]\w*)\s*\([^;={)]*\)[^;={]*(?:\{|$)"
)
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_FILLED = re.compile(r"\$[({]?(\w+)|\{\{[\s.]*(?:\w+\.)*(\w+)")
_SETTING = re.compile(r"^\s*(?:-\s+|export\s+)*[\"']?(\w+)[\"']?\s*(?:[?:+!]?=|:)")
_GIVES = re.compile(
    r"\b([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)?(?::=|[-+.|?]?=(?![=~>]))|\bfor(?:each)?\s+\(?(?:\w+\s+)?(\w+)|\bread\s+(?:-\w+\s+)*(\w+)"
)


def surroundings(unit: Unit, line: int) -> bytes:
    """What the line of a unit depends on; b"" where nothing around it matters."""
    if unit.language == "python":
        return _in_python(unit.data, line).encode("utf-8", "surrogatepass")
    if unit.language == "command":
        return " ".join(_of_command(unit)).encode("utf-8", "surrogatepass")
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


Places = Mapping[str, Collection[int]]  # the numbers of lines, by name


@lru_cache(maxsize=4)
def _lines(data: bytes) -> tuple[tuple[str, ...], Places, Places]:
    """The lines, which of them give a name a value, and which call it."""
    lines = tuple(data.decode("utf-8", "replace").split("\n"))
    return lines, _places(lines, _GIVES, _NAMED), _places(lines, _CALLED)


@lru_cache(maxsize=4)
def _settings(data: bytes) -> tuple[tuple[str, ...], Places]:
    lines = tuple(data.decode("utf-8", "replace").split("\n"))
    return lines, _places(lines, _SETTING)


def _places(lines: Iterable[str], *patterns: re.Pattern[str]) -> Places:
    places = defaultdict[str, dict[int, None]](dict)
    for number, text in enumerate(lines):
        for name in _names(text, *patterns) if len(text) <= _LONGEST else ():
            places[name][number] = None
    return places


def _names(text: str, *patterns: re.Pattern[str]) -> Iterator[str]:
    for pattern in patterns:
        for found in pattern.finditer(text):
            yield from filter(None, found.groups())


def _of_command(unit: Unit) -> Iterator[str]:
    """A command as it stands in its file, and what the file sets the names to that are filled in."""
    lines, settings = _settings(unit.file)
    text = unit.data.decode("utf-8", "replace")
    yield from text.split()
    pending, chosen = [text, *(lines[one - 1] for one in unit.lines if one <= len(lines))], set[int]()
    followed = set[str]()
    while pending:
        text = pending.pop()
        yield text.strip()
        new = sorted({*_names(text, _FILLED)} - followed)
        followed.update(new)
        for name in new:
            for number in settings.get(name, ()):
                block = [one for one in _block(lines, number) if one not in chosen]
                chosen.update(block)
                pending += [lines[one] for one in block]


def _in_text(lines: tuple[str, ...], gives: Places, calls: Places, line: int) -> Iterator[str]:
    """The lines around that the line is part of, the function it is in, and those that give its names a value."""
    at = line - 1
    if not 0 <= at < len(lines) or len(lines[at]) > _LONGEST:
        return
    above = list(_ancestors(lines, at))
    function = next((one for one in above if _FUNCTION.search(lines[one]) and not _CONTROL.match(lines[one])), None)
    chosen = set(above if function is None else _block(lines, function)) | set(_block(lines, at))
    for place in {at, at if function is None else function}:
        chosen.update(one for name in _names(lines[place], _NAMED) for one in calls.get(name, ()))
    new = chosen | {at}
    for _ in range(_ROUNDS):
        wanted = set(_NAME.findall(" ".join(lines[one] for one in new)))
        given = {one for name in wanted for one in gives.get(name, ())} - chosen
        new = {inner for one in given for inner in _block(lines, one)} - chosen
        chosen |= new
    for number in sorted(chosen - {at}):
        text = " ".join(lines[number].split())
        if text and not text.startswith(("//", "# ")):
            yield text


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
