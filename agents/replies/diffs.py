"""Unified diffs, read as edits: each hunk is the lines it expects and the lines it puts in their place.

Line numbers are ignored, because models get them wrong: a hunk applies where its lines occur exactly once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.replies.types import EditBlock, FileBlock

_OLD = re.compile(r"^--- (?:a/)?(?P<path>[^\t\n]{1,400}?)(?:\t.*)?\s*$")
_NEW = re.compile(r"^\+\+\+ (?:b/)?(?P<path>[^\t\n]{1,400}?)(?:\t.*)?\s*$")
_HUNK = re.compile(r"^@@(?: .*)?$")
_HEADER = re.compile(r"^(?:diff |index [0-9a-f]|new file mode|old mode|new mode|similarity index|Index: |={10,}$)")
NOWHERE = "/dev/null"


@dataclass
class Diff:
    """What a diff changes: edits of existing files, files it adds, and what cannot be used."""

    edits: list[EditBlock] = field(default_factory=list)
    files: list[FileBlock] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def is_diff(lines: Sequence[str]) -> bool:
    """Are these the lines of a unified diff that names its files?"""
    return any(_names(lines, row) for row in range(len(lines) - 1))


def looks_like_diff(lines: Sequence[str]) -> bool:
    """Are all of these lines of a diff, with a mark of a hunk among them, whatever their fence says?"""
    written = [line for line in lines if line.strip()]
    marks = [line for line in written if _HUNK.match(line)]
    changed = any(line[:1] in ("+", "-") and line[:3] not in ("+++", "---") for line in written)
    return bool(marks) and changed and all(line[:1] in "+- @\\" or _HEADER.match(line) for line in written)


def read_diff(lines: Sequence[str], path: str = "") -> Diff:
    """Read a unified diff; `path` is the file it changes, where that is known already. Never raises.

    A malformed hunk spoils the file it belongs to: of a half-read change nothing is used.
    """
    out = Diff()
    old = new = path
    spoilt: set[str] = set()
    row = 0
    while row < len(lines):
        line = lines[row]
        if _names(lines, row):
            named = _OLD.sub(r"\g<path>", line), _NEW.sub(r"\g<path>", lines[row + 1])
            old, new = (name if name == NOWHERE else path or name for name in named)
            row += 2
        elif _HUNK.match(line) or (row == 0 and line[:1] in ("+", "-", " ") and new):
            start = row + 1 if _HUNK.match(line) else row
            row = _end_of_hunk(lines, start)
            if (problem := _take([*lines[start:row]], old, new, out)) and new not in spoilt:
                out.problems.append(problem)
                spoilt.add(new)
        else:
            row += 1
    out.edits = [edit for edit in out.edits if edit.path not in spoilt]
    out.files = [file for file in out.files if file.path not in spoilt]
    return out


def _end_of_hunk(lines: Sequence[str], row: int) -> int:
    while row < len(lines) and not (_HUNK.match(lines[row]) or _names(lines, row) or _HEADER.match(lines[row])):
        row += 1
    return row


def _names(lines: Sequence[str], row: int) -> bool:
    """Do two lines name the file before and after? A removed line of a hunk may look like the first of them alone."""
    return row + 1 < len(lines) and _OLD.match(lines[row]) is not None and _NEW.match(lines[row + 1]) is not None


def _take(body: list[str], old: str, new: str, out: Diff) -> str:
    """Add one hunk to the diff; gives what is wrong with it, empty when nothing is."""
    while body and not body[-1].strip():
        body.pop()
    if not new:
        return "A diff names no file: write `--- a/path` and `+++ b/path` above its hunks."
    if new == NOWHERE:
        return f"The diff deletes {old[:200]}; files cannot be deleted by a reply."
    odd = next((line for line in body if line[:1] not in ("+", "-", " ", "", "\\")), None)
    if odd is not None:
        return f"The diff of {new[:200]} holds a line without a blank, + or - before it ({odd[:60]!r})."
    before = "".join(f"{line[1:]}\n" for line in body if line[:1] in ("-", " ", ""))
    after = "".join(f"{line[1:]}\n" for line in body if line[:1] in ("+", " ", ""))
    if old == NOWHERE:
        out.files.append(FileBlock(new, after))
    elif not before.strip():
        return f"A hunk of the diff of {new[:200]} quotes no line of the file, so its place is unknown."
    elif old != new:
        return f"The diff renames {old[:200]} to {new[:200]}; send the new file whole."
    else:
        out.edits.append(EditBlock(new, before, after))
    return ""
