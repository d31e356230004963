"""The texts of a PDF's page with their places: pieces that follow each other closely on a line are one."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pypdf import PageObject
from pypdf.generic._font import Font

BULLET = re.compile(r"^([•▪■●◦○‣∙·–\uf0a7\uf0b7\uf0a8\uf0fc-])(?:\s+|$)")
NUMBERED = re.compile(r"^(\d{1,3}[.)]|[a-z][.)]|\([a-z0-9]{1,2}\))(?:\s+|$)")
_NUMBER = re.compile(r"\d+(?:\.\d+)*\.?")
_MONOSPACE = re.compile(r"mono|courier|consol|menlo|typewriter|cmtt|nimbusmon", re.IGNORECASE)
_JOINED = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}  # fi, fl, …
_LEADERS = re.compile(r"(?:\s*\.){5,}\s*\d*$")  # of a table of contents
LETTER, SPACE = 0.5, 0.28  # their widths in parts of the height, where a font does not say


@dataclass
class PlacedText:
    """Text at a place; y grows upwards. `end` is where it ends at the right, about. With `rows` it is a table."""

    y: float
    x: float
    size: float
    text: str
    end: float
    mono: bool
    bold: bool
    rows: list[list[str]] = field(default_factory=list)

    def holds(self, other: PlacedText) -> bool:
        """Whether the other is on the same line, raised or lowered a little perhaps."""
        small, large = sorted((other.size, self.size))
        return abs(self.y - other.y) < (0.45 * large if small > 0.5 * large else 0.25 * small)

    def is_marker(self) -> bool:
        """A bullet or number alone: what follows at a distance belongs to it."""
        text = self.text.strip()
        marks = BULLET.fullmatch(text) or NUMBERED.fullmatch(text)
        return bool(marks or (self.bold and _NUMBER.fullmatch(text)))

    def add(self, other: PlacedText, *, apart: bool) -> None:
        """Go on with a piece of the same line."""
        space = apart or self.text[-1] in " ,;:.!?" or other.text[0] == " "
        bare = other.text.lstrip() if space else other.text
        self.text = f"{self.text.rstrip()}{' ' if space and bare[:1] not in ',;:.!?)' else ''}{bare}"
        self.end, self.size = other.end, max(self.size, other.size)
        self.mono, self.bold = self.mono and other.mono, self.bold and other.bold


class Widths:
    """How wide texts are, by what their fonts say of each letter; spaces are often left out there."""

    def __init__(self) -> None:
        self._fonts: dict[int, tuple[Any, Any]] = {}

    def of(self, text: str, font: Any, size: float) -> float:
        """In the units of the page."""
        letters = text.replace(" ", "")
        if font is not None and id(font) not in self._fonts:
            self._fonts[id(font)] = (font, Font.from_font_resource(font))  # the first keeps its number in use
        known = self._fonts[id(font)][1].get_text_width(letters) / 1000 if font is not None else 0.0
        return size * ((known or LETTER * len(letters)) + SPACE * (len(text) - len(letters)))


def read_pieces(page: PageObject, widths: Widths) -> list[PlacedText]:
    """The pieces of a page in the order in which they were written; no slanted ones, which are watermarks."""
    found: list[PlacedText] = []

    def visit(text: str, cm: list[float], tm: list[float], font: Any, size: float) -> None:
        words = _LEADERS.sub("", text.strip("\n").translate(_JOINED))
        if not words.strip() or abs(tm[1] * cm[3]) > abs(tm[3] * cm[3]):
            return
        x, y = tm[4] * cm[0] + tm[5] * cm[2] + cm[4], tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
        height, name = abs(size * tm[3] * cm[3]) or 1.0, str((font or {}).get("/BaseFont", ""))
        end = x + widths.of(words.strip(), font, abs(size * tm[0] * cm[0]) or height)
        mono = bool(_MONOSPACE.search(name))
        found.append(PlacedText(y, x, height, words.rstrip() if mono else words, end, mono, "bold" in name.lower()))

    page.extract_text(visitor_text=visit)
    return list(_joined(found))


def _joined(pieces: list[PlacedText]) -> Iterator[PlacedText]:
    """Those that are close to each other as one, unless the second begins where others do: in a column."""
    starts = Counter(round(piece.x) for piece in pieces)
    last: PlacedText | None = None
    for piece in pieces:
        gap = piece.x - last.end if last is not None else 0.0
        if last is None or not last.holds(piece) or piece.x < last.x:
            near = False
        else:
            column = gap > 0.2 * piece.size and sum(starts[round(piece.x) + by] for by in (-1, 0, 1)) > 2
            near = gap < 3 * piece.size if last.is_marker() else gap < 0.7 * piece.size and not column
        if last is not None and near:
            last.add(piece, apart=gap > 0.2 * piece.size or last.is_marker())
            continue
        if last is not None:
            yield last
        last = piece
    if last is not None:
        yield last
