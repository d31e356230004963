"""A PDF as Markdown: pypdf gives pieces of text with place, size and font; blocks follow from them.

A PDF has no paragraphs, headings or tables, only text at places. What is larger or bolder than the body is a heading,
cells that begin at the same place in several lines are a table, and a line goes on with the next one when its first
word would not have fitted.
"""

from __future__ import annotations

import io
import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any

from pypdf import PageObject, PdfReader

from agents.requirements.readers.inside.markdown import MarkdownText, Reading, Unreadable, flat

_BULLET = re.compile(r"^([•▪■●◦○‣∙·–\uf0a7\uf0b7\uf0a8\uf0fc-])(?:\s+|$)")
_NUMBERED = re.compile(r"^(\d{1,3}[.)]|[a-z][.)]|\([a-z0-9]{1,2}\))\s+")
_BEGINS = re.compile(r"^(?:[A-Z][A-Z0-9]*[-_][\w.-]*\d|\d+(?:\.\d+)+\.?\s|\[[\w-]+\])")
_FOLIO = re.compile(r"(?:page\s*)?\d+(?:\s*(?:/|of)\s*\d+)?", re.IGNORECASE)
_MONOSPACE = re.compile(r"mono|courier|consol|menlo|typewriter|cmtt|nimbusmon", re.IGNORECASE)
_JOINED = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}  # fi, fl, …
WIDTH = 0.5  # of a letter on average, in parts of its height


@dataclass
class _Line:
    y: float
    size: float
    cells: list[tuple[float, str]] = field(default_factory=list)  # where each begins, and its text
    mono: bool = True
    bold: bool = True
    end: float = 0.0  # of its text, about

    @property
    def x(self) -> float:
        return self.cells[0][0]

    @property
    def text(self) -> str:
        return " ".join(text for _, text in self.cells).strip()

    def holds(self, y: float, size: float) -> bool:
        """Whether text of that size at that height is on this line, raised or lowered a little perhaps."""
        small, large = sorted((size, self.size))
        return abs(self.y - y) < (0.45 * large if small > 0.5 * large else 0.25 * small)

    def add(self, x: float, size: float, text: str, font: str) -> None:
        gap = x - self.end
        bare = text if _MONOSPACE.search(font) else text.strip()
        if not self.cells or (gap > 1.2 * size and not _BULLET.match(self.cells[-1][1])):
            self.cells.append((x, bare))
        else:
            before, last = self.cells[-1]
            space = " " if text[:1].isspace() or last[-1:].isspace() or gap > 0.2 * size else ""
            self.cells[-1] = (before, f"{last.rstrip()}{space or self._between(last, text)}{bare}")
        self.end = x + WIDTH * size * len(text.rstrip())
        self.size = max(self.size, size)
        self.mono, self.bold = self.mono and bool(_MONOSPACE.search(font)), self.bold and "bold" in font.lower()

    @staticmethod
    def _between(last: str, text: str) -> str:
        return " " if _BULLET.match(last) and len(last) == 1 else ""


class _Page(list[_Line]):
    """The lines of a page."""

    margin = 0.0  # where they end at the right, about


def _read_page(page: PageObject) -> _Page:
    """The lines of a page from its top; of one with columns in the order in which they were written."""
    pieces: list[tuple[float, float, float, str, str]] = []

    def visit(text: str, cm: list[float], tm: list[float], font: Any, size: float) -> None:
        if not text.strip() or abs(tm[1] * cm[3]) > abs(tm[3] * cm[3]):  # upright text only: no watermarks
            return
        x, y = tm[4] * cm[0] + tm[5] * cm[2] + cm[4], tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
        height = abs(size * tm[3] * cm[3]) or 1.0
        pieces.append((y, x, height, text.strip("\n").translate(_JOINED), str((font or {}).get("/BaseFont", ""))))

    page.extract_text(visitor_text=visit)
    middle = (min((x for _, x, *_ in pieces), default=0.0) + max((x for _, x, *_ in pieces), default=0.0)) / 2
    jumps = [b for a, b in pairwise(pieces) if b[0] - a[0] > 15 * b[2] and b[1] >= middle > a[1]]
    if not jumps:
        pieces.sort(key=lambda piece: (-piece[0], piece[1]))
    lines: list[_Line] = []
    for y, x, size, text, font in pieces:
        if not lines or not lines[-1].holds(y, size) or (jumps and x < lines[-1].x):
            lines.append(_Line(y, size))
        lines[-1].add(x, size, text, font)
    found = _Page(lines)
    if lines:
        by_paper = float(page.mediabox.width) - min(line.x for line in lines)
        found.margin = max(line.end for line in lines) if jumps else by_paper
    return found


def _without_frames(pages: list[_Page]) -> bool:
    """Take away what stands at the top or the bottom of most pages, and page numbers; whether there was any."""

    def known(line: _Line) -> tuple[str, int]:
        return re.sub(r"\d+", "#", line.text), round(line.size)

    edges = [{known(line) for line in (*lines[:2], *lines[-2:])} for lines in pages]
    counts = Counter(text for edge in edges for text in edge)
    written = sum(map(bool, pages))
    repeated = {text for text, count in counts.items() if count > max(2, 0.6 * written)}
    found = False
    for lines in pages:
        for line in {id(one): one for one in (*lines[:2], *lines[-2:])}.values():
            if known(line) in repeated or (line in (lines[0], lines[-1]) and _FOLIO.fullmatch(line.text)):
                lines.remove(line)
                found = True
    return found


class _Writer:
    def __init__(self, pages: list[_Page]) -> None:
        self.out = MarkdownText()
        sizes: Counter[float] = Counter()
        for line in (line for lines in pages for line in lines if not line.mono):
            sizes[round(line.size * 2) / 2] += len(line.text)
        self.body = sizes.most_common(1)[0][0] if sizes else 0.0
        larger = {size for size, letters in sizes.items() if size >= 1.12 * self.body}
        self.levels = {size: min(level, 5) for level, size in enumerate(sorted(larger, reverse=True), 1)}
        for lines in pages:
            self.out.page()
            self.page(lines)

    def page(self, lines: _Page) -> None:
        self.margin = lines.margin
        self.indents: list[float] = []
        at = 0
        while at < len(lines):
            rows = _table(lines, at)
            if rows:
                self.out.table(_cells(lines[at : at + rows]))
                at += rows
            elif lines[at].mono:
                listing = next((end for end in range(at, len(lines)) if not lines[end].mono), len(lines))
                self.code(lines[at:listing])
                at = listing
            else:
                at = self.paragraph(lines, at)

    def level(self, line: _Line, before: _Line | None) -> int:
        if level := self.levels.get(round(line.size * 2) / 2, 0):
            return level if len(line.text) < 160 else 0
        apart = before is None or before.y - line.y > 1.6 * line.size
        ends = line.text[-1:] in ".,;:" and not re.fullmatch(r"\d+\.", line.text)
        return (
            1 + max(self.levels.values(), default=0) if line.bold and apart and not ends and len(line.text) < 90 else 0
        )

    def paragraph(self, lines: list[_Line], at: int) -> int:
        first = lines[at]
        level = self.level(first, lines[at - 1] if at else None)
        text, stop = first.text, at + 1
        marker = _BULLET.match(text) or _NUMBERED.match(text)
        while stop < len(lines) and not _table(lines, stop) and self.goes_on(lines[stop - 1], lines[stop], level):
            if marker and lines[stop].x < first.x + 1:  # under the marker, not under the words of the item
                break
            text, stop = f"{text} {lines[stop].text}", stop + 1
        if level:
            self.out.heading(level, text)
        elif marker:
            while self.indents and self.indents[-1] > first.x + 3:
                self.indents.pop()
            if not self.indents or first.x > self.indents[-1] + 3:
                self.indents.append(first.x)
            bullet = "-" if _BULLET.match(text) else marker[1]
            self.out.item(text[marker.end() :], len(self.indents) - 1, bullet)
        else:
            self.indents.clear()
            self.out.paragraph(text)
        return stop

    def goes_on(self, line: _Line, after: _Line, level: int) -> bool:
        """Whether `after` belongs to the paragraph, or the heading, of `line`."""
        gap = line.y - after.y
        if not 0 < gap < 1.9 * after.size or abs(line.size - after.size) > 0.6 or after.mono:
            return False
        if level or self.level(after, None if gap > 1.6 * after.size else line):
            return bool(level) and self.levels.get(round(after.size * 2) / 2, 0) == level and line.bold == after.bold
        text = after.text
        if _BULLET.match(text) or _NUMBERED.match(text) or _BEGINS.match(text):
            return False
        word = text.split(" ", 1)[0]
        ended = line.text[-1] in ".:;!?"
        full = line.end + WIDTH * line.size * len(word) > (0.86 if ended else 0.6) * self.margin
        return full or (text[0].islower() and not ended)

    def code(self, lines: list[_Line]) -> None:
        left = min(line.x for line in lines)
        self.out.code(
            "\n".join(
                " " * round((line.x - left) / (0.6 * line.size)) + " ".join(text for _, text in line.cells)
                for line in lines
            )
        )


def _aligned(one: _Line, other: _Line) -> bool:
    """Whether a cell of one line, besides its first, begins where one of the other does."""
    return any(abs(a - b) < 2.5 for a, _ in one.cells[1:] for b, _ in other.cells[1:])


def _table(lines: Sequence[_Line], at: int) -> int:
    """How many lines from `at` are one table; 0 for none. Cells are aligned left, apart from those of its header."""
    first = lines[at]
    if len(first.cells) < 2 or _BULLET.match(first.text) or first.mono:
        return 0
    end, rows = at + 1, 1
    while end < len(lines):
        line, before = lines[end], lines[end - 1]
        if before.y - line.y > 4 * line.size or line.mono:
            break
        columns = {x for row in lines[at:end] for x, _ in row.cells}
        header = end == at + 1 and len(line.cells) > 1
        known = all(any(abs(x - column) < 2.5 for column in columns) for x, _ in line.cells)
        several = len(line.cells) > 1 and any(_aligned(line, row) for row in lines[at:end])
        fewer = len(line.cells) < len(first.cells) and before.y - line.y < 1.9 * line.size
        if not (header or several or (known and fewer and rows > 1)):
            break
        rows += several or header
        end += 1
    full = [line for line in lines[at:end] if len(line.cells) > 1]
    return end - at if any(_aligned(a, b) for a, b in pairwise(full)) else 0


def _cells(lines: Sequence[_Line]) -> list[list[str]]:
    """The rows of a table: a line whose first cell is empty, or that is too near, goes on with the row before it."""
    starts = sorted(x for line in lines[1:] for x, _ in line.cells)
    columns = [next(group) for _, group in groupby(starts, key=_Column())]
    rows: list[list[str]] = []
    for number, line in enumerate(lines):
        placed = [""] * len(columns)
        for place, (x, text) in enumerate(line.cells):
            own = place if number == 0 and len(line.cells) == len(columns) else _column(columns, x)
            placed[own] = f"{placed[own]} {text}".strip()
        near = number > 1 and lines[number - 1].y - line.y < 0.8 * line.size
        if number > 1 and (near or not placed[0]):
            rows[-1] = [_together(a, b) for a, b in zip(rows[-1], placed, strict=True)]
        else:
            rows.append(placed)
    return rows


class _Column:
    """A key that stays the same for places that are next to each other."""

    def __init__(self) -> None:
        self.number, self.last = 0, float("-inf")

    def __call__(self, x: float) -> int:
        if x - self.last > 9:
            self.number += 1
        self.last = x
        return self.number


def _column(columns: Sequence[float], x: float) -> int:
    return max((at for at, start in enumerate(columns) if start <= x + 3), default=0)


def _together(above: str, below: str) -> str:
    return f"{above}{below}" if above.endswith("-") else f"{above} {below}".strip()


def read(data: bytes) -> Reading:
    """Raises Unreadable for one that is encrypted or holds no text."""
    logging.disable(logging.CRITICAL)  # pypdf reports each flaw that it gets over
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted:
        raise Unreadable("It is encrypted.", "Save a copy without a password and without restrictions.")
    pages = [_read_page(page) for page in reader.pages]
    if not any(pages):
        raise Unreadable(
            f"Its {len(pages)} pages hold no text: it is a scan, or made of images.",
            "Recognize its text first, for example with OCRmyPDF, or give the text.",
        )
    empty = [number for number, lines in enumerate(pages, 1) if not lines]
    framed = _without_frames(pages)
    out = _Writer(pages).out
    images = [number for number, page in enumerate(reader.pages, 1) if _has_image(page)]
    if empty:
        out.notes.append(f"{_pages(empty)} no text: scans, images or nothing.")
    if images:
        out.notes.append(f"{_pages(images)} images, which are not read: they stay in the original.")
    if framed:
        out.notes.append("Page numbers, and lines repeated at the edge of most pages, are left out.")
    if flat("".join(out.lines)).count("\ufffd") > 20:
        out.notes.append("Some of its letters cannot be read: a font does not say what they are.")
    return out.reading()


def _pages(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:20])) + (" …" if len(numbers) > 20 else "")
    return f"Page {shown} holds" if len(numbers) == 1 else f"Pages {shown} hold"


def _has_image(page: PageObject) -> bool:
    objects = page
    for name in ("/Resources", "/XObject"):
        if name not in objects:
            return False
        objects = objects[name]  # resolves references, as get() does not
    return any(objects[name].get("/Subtype") == "/Image" for name in objects)
