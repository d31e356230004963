"""Apply one search/replace edit: its lines must occur in the file exactly once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import get_close_matches

from agents.replies.types import EditBlock

_NUMBERED = re.compile(r"[ \t]*\d+:(?: (.*)|$)")
_QUOTED_LINES = 12
_QUOTED_PLACES = 3
_MAX_COMPARED = 5000


class EditRefused(Exception):
    """An edit does not fit its file; the text helps the model to write one that does."""


def apply_edit(content: str | None, edit: EditBlock) -> str:
    """The file after the edit (`content` None: there is no such file); raises `EditRefused`.

    Tabs that indent are four blanks where the file has none.
    Lines are compared exactly first, then without blanks at their ends, then with all of them shifted by the same
    indentation, which is then given to the replacement too; then all of this without the empty lines around them, and
    without the line numbers that a refusal quotes lines with. The file keeps its own line ends.
    """
    if not edit.search.strip():
        if content is not None and content.strip():
            raise EditRefused(
                "The SEARCH part is empty though the file is not: quote the lines to replace. To add at the end, "
                "quote the last line and repeat it before what is new."
            )
        return edit.replace
    if content is None:
        raise EditRefused("There is no such file: send it as a whole file instead of an edit.")
    if edit.search == edit.replace:
        raise EditRefused("SEARCH and REPLACE are the same: nothing would change.")
    newline = "\r\n" if "\r\n" in content else "\n"
    lines = content.split("\n")
    search, replace = edit.search.removesuffix("\n").split("\n"), edit.replace.removesuffix("\n").split("\n")
    if not edit.replace:
        replace = []
    if not any(line.startswith("\t") for line in lines):
        search, replace = _without_tabs(search), _without_tabs(replace)
    at, search, replace = _located(lines, search, replace)
    ending = "\r" if newline == "\r\n" else ""
    last = at + len(search) == len(lines)
    new = [line + ending for line in replace]
    if last and new and not content.endswith("\n"):
        new[-1] = replace[-1]  # the file had no line end at its end and gets none
    return "\n".join([*lines[:at], *new, *lines[at + len(search) :]])


def _located(lines: list[str], search: list[str], replace: list[str]) -> tuple[int, list[str], list[str]]:
    """Where the searched lines are, as they were found, and what takes their place there. Raises EditRefused."""
    # What stands after the last line end is no line: an empty line is not found there if it is found elsewhere.
    at, new_lines = _found(lines if lines[-1] else lines[:-1], search, replace)
    if at is None:
        at, new_lines = _found(lines, search, replace)
    if at is None:
        search, replace = _without_blank_ends(search, replace)
        at, new_lines = _found(lines, search, replace)
    if at is None and (unnumbered := _without_numbers(search)):
        search, replace = unnumbered, _without_numbers(replace) or replace
        at, new_lines = _found(lines, search, replace)
    if at is None:
        raise EditRefused(_not_found(lines, search))
    return at, search, new_lines


def _found(lines: Sequence[str], search: Sequence[str], replace: list[str]) -> tuple[int | None, list[str]]:
    """Where the searched lines are, and what takes their place there."""
    for same in (lambda line: line.removesuffix("\r"), str.rstrip):
        if (at := _place(lines, search, same)) is not None:
            return at, replace
    return _shifted(lines, search, replace)


def _without_blank_ends(search: list[str], replace: list[str]) -> tuple[list[str], list[str]]:
    """Both without the empty lines around the search, of which a quotation has easily one too many."""
    search, replace = list(search), list(replace)
    for end in (-1, 0):
        while len(search) > 1 and not search[end].strip():
            del search[end]
            if replace and not replace[end].strip():
                del replace[end]
    return search, replace


def _without_numbers(quoted: Sequence[str]) -> list[str]:
    """Lines as `_quoted` shows them, without their numbers; none where a line has no number."""
    found = [_NUMBERED.fullmatch(line) for line in quoted]
    return [line[1] or "" for line in found if line is not None] if all(found) else []


def _without_tabs(lines: Sequence[str]) -> list[str]:
    return [_indent(line).replace("\t", " " * 4) + line.lstrip() if line.startswith("\t") else line for line in lines]


def _shifted(lines: Sequence[str], search: Sequence[str], replace: list[str]) -> tuple[int | None, list[str]]:
    """Where the searched lines are, all shifted by one indentation, and the new lines shifted in the same way.

    Raises EditRefused when several places fit, or when the new lines have less indentation than is to be taken off.
    """
    first = next(row for row, line in enumerate(search) if line.strip())
    found: list[tuple[int, str, str]] = []
    for row, line in enumerate(lines):
        at = row - first
        if line.strip() != search[first].strip() or at < 0 or at + len(search) > len(lines):
            continue
        there, here = _indent(line), _indent(search[first])
        more, less = there.removesuffix(here), here.removesuffix(there)
        added, removed = (more, "") if there.endswith(here) else ("", less)
        if there not in (added + here, here.removeprefix(removed)):
            continue
        part = zip(search, lines[at : at + len(search)], strict=True)
        if all(_moved(want, added, removed) == have.rstrip() for want, have in part):
            found.append((at, added, removed))
        if len(found) > 1:
            where = ", ".join(str(at + 1) for at, _, _ in found)
            raise EditRefused(f"These lines occur several times with other indentation (lines {where}): quote more.")
    if not found:
        return None, replace
    at, added, removed = found[0]
    moved = [_moved(line, added, removed) for line in replace]
    if any(line is None for line in moved):
        raise EditRefused("SEARCH is indented differently from the file, and REPLACE cannot be moved with it.")
    return at, [line for line in moved if line is not None]


def _moved(line: str, added: str, removed: str) -> str | None:
    """A line with its indentation changed; None when it lacks what is to be removed."""
    if not line.strip():
        return ""
    return added + line.removeprefix(removed).rstrip() if line.startswith(removed) else None


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _place(lines: Sequence[str], search: Sequence[str], same: Callable[[str], str]) -> int | None:
    """Where the searched lines stand; None when nowhere."""
    text = "\n" + "\n".join(map(same, lines)) + "\n"
    wanted = "\n" + "\n".join(map(same, search)) + "\n"
    rows: list[int] = []
    found = text.find(wanted)
    while found >= 0 and len(rows) < 10:
        rows.append(text.count("\n", 0, found))
        found = text.find(wanted, found + 1)
    if len(rows) > 1:
        where = ", ".join(str(row + 1) for row in rows)
        around = "\n…\n".join(_quoted(lines, row - 3, row + len(search) + 1) for row in rows[:_QUOTED_PLACES])
        raise EditRefused(
            f"The SEARCH lines ({_named(search)}) occur more than once in the file (lines {where}): quote more lines "
            f"around the one meant.\n{around}"
        )
    return rows[0] if rows else None


def _not_found(lines: Sequence[str], search: Sequence[str]) -> str:
    """Say that the lines are not there, and quote the nearest ones so that the next try can copy them."""
    text = f"The SEARCH lines ({_named(search)}) are not in the file as quoted; copy them exactly."
    near = _nearest(lines, search)
    if near is None:
        return f"{text} Nothing similar was found."
    return f"{text} The nearest lines are:\n{_quoted(lines, near, near + max(len(search) + 2, 3))}"


def _named(search: Sequence[str]) -> str:
    """Which block of several is meant: the first of its lines that says something."""
    return repr(next((line for line in search if _says_something(line)), search[0]).strip()[:80])


def _quoted(lines: Sequence[str], first: int, end: int) -> str:
    first = max(0, first)
    part = lines[first : min(end, first + _QUOTED_LINES)]
    return "\n".join(f"{first + row + 1}: {line.rstrip()[:200]}" for row, line in enumerate(part))


def _says_something(line: str) -> bool:
    """False for brackets and the like, which occur everywhere in a file."""
    return sum(map(str.isalnum, line)) > 2


def _nearest(lines: Sequence[str], search: Sequence[str]) -> int | None:
    """The row where most of the searched lines are if blanks are ignored, or a line like the first of them."""
    want = [line.strip() for line in search[:200]]
    offsets: dict[str, list[int]] = {}
    for offset, line in enumerate(want):
        if _says_something(line):
            offsets.setdefault(line, []).append(offset)
    votes: Counter[int] = Counter()
    for row, line in enumerate(lines[:_MAX_COMPARED]):
        for offset in offsets.get(line.strip(), ())[:5]:
            votes[max(0, row - offset)] += 1
    if votes:
        return min(votes, key=lambda row: (-votes[row], row))
    first = next(filter(_says_something, want), "")[:200]
    stripped = [line.strip()[:200] for line in lines[:_MAX_COMPARED]]
    close = get_close_matches(first, [line for line in dict.fromkeys(stripped) if line], n=1, cutoff=0.5)
    return stripped.index(close[0]) if close else None
