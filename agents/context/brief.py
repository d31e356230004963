"""Less of a definition or a file than all of it: how it is called, the lines that matter, the imports at its top."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import takewhile

SHORT_CHARS = 300  # of a definition that is as soon read as its summary
LONG_LINES, AROUND = 60, 8  # of a function of which only some lines are meant; shown around these
_GAP = "…"
_DOC = re.compile(r"\s*[rRuU]?(\"{3}|'{3})")
_EXAMPLE = re.compile(r"\s*(?:>>>|\.\.\.) ")
_LOADS = re.compile(r"(?:import|from|export)\b|(?:const|let|var)\s.*\brequire\(|@|#!|if __name__\b")
_NAMES = re.compile(r"(__all__|[A-Za-z_]\w*)\s*(?::[^=\n]+)?=(?!=)")
_CLASS = re.compile(r"(?:class|interface)\b")
_WORD = re.compile(r"[A-Za-z_]\w*")
_BEGINS = re.compile(r"(?:async\s+def|def|class|export|function|describe|test|it)\b")
_FUNCTION = re.compile(r"(?:\s*@[^\n]*\n)*\s*(?:async\s+)?def\b")


def summary_of(text: str, *, examples: bool = False) -> str:
    """How a definition begins and the first line of its docstring; with `examples` its first paragraph and doctests.

    Unchanged where it is short, or has no docstring.
    """
    lines, at, found = _documented(text)
    if found is None or len(text) <= SHORT_CHARS:
        return text
    marks, depth = found[1], _depth(lines[at])
    rest = [lines[at][found.end() :], *lines[at + 1 :]]
    end = next((number for number, line in enumerate(rest) if marks in line), len(rest) - 1)
    if end + 1 == len(rest):
        return text
    said = [*rest[:end], rest[end].partition(marks)[0]]
    kept = [line.rstrip() for line in takewhile(str.strip, said)] if examples else [said[0].rstrip()]
    if examples:
        kept += [line.rstrip() for number, line in enumerate(said) if number >= len(kept) and _shows(said, number)]
    made = "\n".join([*lines[:at], f"{lines[at][: found.end()]}{kept[0] if kept else ''}", *kept[1:]])
    return f"{made}{marks}\n{depth}{_GAP}" if len(kept) <= 1 else f"{made}\n{depth}{marks}\n{depth}{_GAP}"


def without_docstring(text: str) -> str:
    """A definition with a mark in place of its docstring, if that is long."""
    lines, at, end = _docstring(text)
    if end <= at + 1 or len("\n".join(lines[at:end])) <= SHORT_CHARS:
        return text
    return "\n".join([*lines[:at], f"{_depth(lines[at])}{_GAP}", *lines[end:]])


def call_of(text: str) -> str:
    """How a definition begins and all of its docstring; unchanged without one."""
    lines, _, end = _docstring(text)
    return "\n".join([*lines[:end], f"{_depth(lines[end - 1])}{_GAP}"]) if 0 < end < len(lines) else text


def docstring_of(text: str) -> str:
    """The docstring of a definition, with its quotation marks; "" where it has none."""
    lines, at, end = _docstring(text)
    return "\n".join(lines[at:end])


def first_lines(text: str, chars: int) -> str:
    """So much of the imports at the top of a file, and the first line of its first definition."""
    lines, left = list[str](), chars
    for line in text.split("\n"):
        left -= len(line)
        if _BEGINS.match(line):
            return "\n".join([*lines, line, _GAP])
        if left >= 0:
            lines.append(line)
    return "\n".join([*lines, _GAP])


def use_of(text: str) -> str:
    """What there is to know of a function that is only called; anything else as it is."""
    return summary_of(text, examples=True) if _FUNCTION.match(text) else text


def _shows(lines: Sequence[str], number: int) -> bool:
    """Whether a line is of an example, or what one prints."""
    before = number > 0 and bool(lines[number].strip()) and bool(_EXAMPLE.match(lines[number - 1]))
    return bool(_EXAMPLE.match(lines[number])) or before


def _documented(text: str) -> tuple[list[str], int, re.Match[str] | None]:
    """The lines of a definition, which of them is the first behind its head, and how a docstring begins there."""
    lines = text.split("\n")
    at = _body(lines)
    return lines, at, _DOC.match(lines[at]) if at < len(lines) else None


def _docstring(text: str) -> tuple[list[str], int, int]:
    """The lines of a definition, and the first line of its docstring and the one behind it; both 0 without one."""
    lines, at, found = _documented(text)
    if found is None:
        return lines, 0, 0
    rest = [lines[at][found.end() :], *lines[at + 1 :]]
    return lines, at, at + 1 + next((number for number, line in enumerate(rest) if found[1] in line), 0)


def _depth(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _body(lines: Sequence[str]) -> int:
    """The first line behind the head of a definition, which may have decorators and several lines."""
    start = next((number for number, line in enumerate(lines) if not line.lstrip().startswith("@")), 0)
    end = next((number for number in range(start, len(lines)) if lines[number].rstrip().endswith(":")), len(lines))
    return end + 1


def lines_about(text: str, words: Collection[str]) -> str:
    """A long function's head and the lines around those that mention one of the words; whole where none or many do."""
    lines = text.split("\n")
    body = min(_body(lines) + 1, len(lines))
    marked = [number for number in range(body, len(lines)) if not set(_WORD.findall(lines[number])).isdisjoint(words)]
    if len(lines) <= LONG_LINES or not marked:
        return text
    near = {row for one in marked for row in range(one - AROUND, one + AROUND + 1)}
    kept = [number for number in range(len(lines)) if number < body or number in near]
    if len(kept) > len(lines) // 2:
        return text
    made, last = list[str](), -1
    for number in [*kept, len(lines)]:
        if number > last + 1:
            depth = re.match(r"\s*", lines[last + 1])
            made.append(
                f"{depth[0] if depth else ''}{_GAP} {number - last - 1} lines not shown: "
                f"quote what changes of it, do not send it whole {_GAP}"
            )
        made += lines[number : number + 1]
        last = number
    return "\n".join(made)


def between(lines: Sequence[str], words: Collection[str], *, in_class: bool) -> list[str]:
    """Of lines outside of definitions the first text, imports, heads of classes and values that have one of the words.

    `in_class`: they begin in one that is shown.
    """
    groups, depth, quoted = [list[str]()], 0, ""
    for line in lines:
        if not (depth or quoted) and line.strip() and line[0] not in " \t)]}":  # else it goes with what began above
            groups.append([])
        groups[-1].append(line)
        marks = quoted or next((marks for marks in ('"""', "'''") if marks in line), "")
        quoted = "" if not marks or (line.count(marks) % 2) == bool(quoted) else marks
        depth = 0 if quoted else max(0, depth + sum(map(line.count, "([{")) - sum(map(line.count, ")]}")))
    made = list[str]()
    for number, group in enumerate(groups):
        kept = _is_telling(group, words) if number else in_class
        made += group if kept else [] if made and not made[-1].strip() else _blank_end(group)
    return made


def _blank_end(group: Sequence[str]) -> list[str]:
    return list(takewhile(lambda line: not line.strip(), reversed(group)))


def _is_telling(group: Sequence[str], words: Collection[str]) -> bool:
    head = group[0]
    if _LOADS.match(head) or _CLASS.match(head) or _DOC.match(head):
        return True
    values = [found[1] for line in group if (found := _NAMES.match(line.lstrip()))]
    return "__all__" in values or not set(values).isdisjoint(words)
