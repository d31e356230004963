"""Markdown as the readers write it: blocks with a blank line between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypedDict

_SPACES = re.compile(r"[^\S\n]+")
# What a terminal, a page or a diff would obey instead of showing it.
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class Unreadable(Exception):
    """The file cannot be read: why, and what to do."""

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason)
        self.reason, self.hint = reason, hint


class Reading(TypedDict):
    """What a reader found: Markdown, the line on which each page begins, and what a person should know."""

    markdown: str
    pages: list[int]
    notes: list[str]


class MarkdownText:
    """A text that grows block by block, of words without control characters and repeated spaces."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.pages: list[int] = []
        self.notes: list[str] = []
        self._in_list = False

    def heading(self, level: int, text: str) -> None:
        if words := flat(text):
            self._block([f"{'#' * min(max(level, 1), 6)} {words}"])

    def paragraph(self, text: str, depth: int = 0) -> None:
        """`depth` is that of the list item it belongs to, 1 for an outermost one."""
        if lines := [words for line in text.split("\n") if (words := flat(line))]:
            self._block([f"{'  ' * depth}{line}" for line in lines])

    def item(self, text: str, depth: int = 0, marker: str = "-") -> None:
        if words := flat(text):
            line = f"{'  ' * depth}{marker} {words}"
            if self._in_list:
                self.lines.append(line)
            else:
                self._block([line])
            self._in_list = True

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """The first row is the header."""
        cells = [[_cell(cell) for cell in row] for row in rows if any(cell.strip() for cell in row)]
        width = max(map(len, cells), default=0)
        if not width:
            return
        written = [f"| {' | '.join([*row, *[''] * (width - len(row))])} |" for row in cells]
        self._block([written[0], f"|{' --- |' * width}", *written[1:]])

    def code(self, text: str, language: str = "") -> None:
        lines = [CONTROLS.sub("", line).rstrip() for line in text.expandtabs(4).strip("\n").split("\n")]
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
        if any(lines):
            self._block([f"{fence}{re.sub(r'[^-+#.0-9A-Za-z]', '', language)}", *lines, fence])

    def page(self) -> None:
        """What follows stands on the next page."""
        self.pages.append(len(self.lines) + (2 if self.lines else 1))

    def reading(self) -> Reading:
        return {"markdown": "\n".join(self.lines), "pages": self.pages, "notes": self.notes}

    def _block(self, lines: Sequence[str]) -> None:
        self._in_list = False
        self.lines += ["", *lines] if self.lines else lines


def image(described: str) -> str:
    """What stands in the place of an image, which nobody looks at."""
    return f"![{flat(described).replace('[', '(').replace(']', ')') or 'image'}](image)"


def flat(text: str) -> str:
    """On one line, without control characters and repeated spaces."""
    return _SPACES.sub(" ", CONTROLS.sub("", text.replace("\n", " ").replace("\t", " "))).strip()


def _cell(text: str) -> str:
    parts = [flat(line).replace("|", "\\|") for line in text.split("\n")]
    return "<br>".join(part for part in parts if part)
