"""Which lines of a difference a remark can stand on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agents.forges.contract import Remark

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True)
class Old:
    """Where a line of the new side stood before: the path of its file, and its line, None for one that was added."""

    path: str
    line: int | None


def lines_of(diff: str) -> dict[tuple[str, int], Old]:
    """Paths and lines of the new side that a unified difference shows, and where they stood on the old one."""
    found: dict[tuple[str, int], Old] = {}
    path, before, old, new, line, was = "", "", 0, 0, 0, 0
    for row in diff.split("\n"):
        if old > 0 or new > 0:
            if row.startswith("\\"):
                continue
            if not row.startswith("-"):
                new -= 1
                found[path, line] = Old(before, None if row.startswith("+") else was)
                line += 1
            if not row.startswith("+"):
                old -= 1
                was += 1
        elif row.startswith("--- "):
            before = _path(row, "a/")
        elif row.startswith("+++ "):
            path = _path(row, "b/")
        elif hunk := _HUNK.match(row):
            was, old, line, new = int(hunk[1]), int(hunk[2] or 1), int(hunk[3]), int(hunk[4] or 1)
    return found


def _path(row: str, side: str) -> str:
    return row[4:].rstrip("\t\r").removeprefix(side)


def placed(remarks: Sequence[Remark], diff: str, text: str) -> tuple[list[Remark], str]:
    """The remarks that can stand on their line, and the review's text with all others."""
    known = lines_of(diff)
    there = [one for one in remarks if (one.path, one.line) in known]
    return there, with_rest(text, [one for one in remarks if (one.path, one.line) not in known])


def with_rest(text: str, remarks: Sequence[Remark]) -> str:
    """A review's text with the remarks that do not stand on their line."""
    left = [f"`{one.path}`, line {one.line}: {one.text}" for one in remarks]
    return "\n\n".join([text, *left] if text else left)
