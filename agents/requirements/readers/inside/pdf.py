"""A PDF as Markdown: pypdf gives texts with place, size and font; headings, paragraphs and lists follow from them.

What is larger or bolder than the body is a heading, and a line goes on with the next one when its first word would not
have fitted.
"""

from __future__ import annotations

import io
import logging
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from pypdf import PageObject, PdfReader

from agents.requirements.readers.inside.markdown import MarkdownText, Reading, Unreadable, flat
from agents.requirements.readers.inside.pdf_pieces import BULLET, LETTER, NUMBERED, PlacedText, Widths, read_pieces
from agents.requirements.readers.inside.pdf_tables import with_tables

_BEGINS = re.compile(r"^(?:[A-Z][A-Z0-9]*[-_][\w.-]*\d|\d+(?:\.\d+)+\.?\s|\[[\w-]+\])")
_FOLIO = re.compile(r"(?:page\s*)?\d+(?:\s*(?:/|of)\s*\d+)?", re.IGNORECASE)


class _Page(list[PlacedText]):
    """The lines and tables of a page from its top; of one with columns in the order in which they were written."""

    margin = 0.0  # where its lines end at the right, about


def _read_page(page: PageObject, widths: Widths) -> _Page:
    pieces = read_pieces(page, widths)
    middle = (min((one.x for one in pieces), default=0.0) + max((one.x for one in pieces), default=0.0)) / 2
    jumps = any(b.y - a.y > 15 * b.size and b.x >= middle > a.x for a, b in pairwise(pieces))
    found = _Page()
    placed = with_tables(pieces)
    for piece in placed if jumps else sorted(placed, key=lambda one: (-one.y, one.x)):
        line = found[-1] if found else None
        if line is None or line.rows or piece.rows or not line.holds(piece) or (jumps and piece.x < line.x):
            found.append(piece)
        else:
            line.add(piece, apart=True)
    if found:
        by_paper = float(page.mediabox.width) - min(line.x for line in found)
        found.margin = max(line.end for line in found) if jumps else by_paper
    return found


def _without_frames(pages: list[_Page]) -> bool:
    """Take away what stands at the top or the bottom of most pages, and page numbers; whether there was any."""

    def known(line: PlacedText) -> tuple[str, int]:
        return re.sub(r"\d+", "#", line.text), round(line.size)

    edges = [{known(line) for line in (*lines[:2], *lines[-2:]) if not line.rows} for lines in pages]
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
            if lines[at].rows:
                self.out.table(lines[at].rows)
                self.indents.clear()
                at += 1
            elif lines[at].mono:
                listing = next((end for end in range(at, len(lines)) if not lines[end].mono), len(lines))
                self.code(lines[at:listing])
                at = listing
            else:
                at = self.paragraph(lines, at)

    def level(self, line: PlacedText, before: PlacedText | None) -> int:
        if level := self.levels.get(round(line.size * 2) / 2, 0):
            return level if len(line.text) < 160 else 0
        apart = before is None or before.y - line.y > 1.6 * line.size
        ends = line.text[-1:] in ".,;:" and not re.fullmatch(r"\d+\.", line.text)
        return (
            1 + max(self.levels.values(), default=0) if line.bold and apart and not ends and len(line.text) < 90 else 0
        )

    def paragraph(self, lines: list[PlacedText], at: int) -> int:
        first = lines[at]
        level = self.level(first, lines[at - 1] if at else None)
        text, stop = first.text.strip(), at + 1
        marker = BULLET.match(text) or NUMBERED.match(text)
        while stop < len(lines) and self.goes_on(lines[stop - 1], lines[stop], level):
            if marker and lines[stop].x < first.x + 1:  # under the marker, not under the words of the item
                break
            text, stop = f"{text} {lines[stop].text.strip()}", stop + 1
        if level:
            self.out.heading(level, text)
        elif marker:
            while self.indents and self.indents[-1] > first.x + 3:
                self.indents.pop()
            if not self.indents or first.x > self.indents[-1] + 3:
                self.indents.append(first.x)
            bullet = "-" if BULLET.match(text) else marker[1]
            self.out.item(text[marker.end() :], len(self.indents) - 1, bullet)
        else:
            self.indents.clear()
            self.out.paragraph(text)
        return stop

    def goes_on(self, line: PlacedText, after: PlacedText, level: int) -> bool:
        """Whether `after` belongs to the paragraph, or the heading, of `line`."""
        gap = line.y - after.y
        if not 0 < gap < 1.9 * after.size or abs(line.size - after.size) > 0.6 or after.mono or after.rows:
            return False
        if level or self.level(after, None if gap > 1.6 * after.size else line):
            return bool(level) and self.levels.get(round(after.size * 2) / 2, 0) == level and line.bold == after.bold
        text = after.text.strip()
        if BULLET.match(text) or NUMBERED.match(text) or _BEGINS.match(text):
            return False
        word = text.split(" ", 1)[0]
        ended = line.text[-1] in ".:;!?"
        full = line.end + LETTER * line.size * len(word) > (0.9 if ended else 0.6) * self.margin
        return full or (text[0].islower() and not ended)

    def code(self, lines: list[PlacedText]) -> None:
        left = min(line.x for line in lines)
        self.out.code("\n".join(" " * round((one.x - left) / (0.6 * one.size)) + one.text for one in lines))


def read(data: bytes) -> Reading:
    """Raises Unreadable for one that is encrypted or holds no text."""
    logging.disable(logging.CRITICAL)  # pypdf reports each flaw that it gets over
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted:
        raise Unreadable("It is encrypted.", "Save a copy without a password and without restrictions.")
    widths = Widths()
    pages = [_read_page(page, widths) for page in reader.pages]
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
