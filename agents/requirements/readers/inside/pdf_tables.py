"""The tables of a PDF's page, by the order in which their cells were written.

Whatever makes a PDF writes a table row by row and a row cell by cell: text that begins at the right of what was written
before, at its height or above its last line, is the next cell. Rows whose cells begin at the same places are a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from agents.requirements.readers.inside.pdf_pieces import PlacedText

NEAR = 3.0  # points between places that are the same
COLUMN = 9.0  # and between those of one column


@dataclass
class _Cell:
    pieces: list[PlacedText]

    @property
    def x(self) -> float:
        return self.pieces[0].x

    @property
    def top(self) -> float:
        return self.pieces[0].y

    @property
    def bottom(self) -> float:
        return self.pieces[-1].y

    @property
    def size(self) -> float:
        return self.pieces[0].size

    def goes_on(self, piece: PlacedText) -> bool:
        gap = self.bottom - piece.y
        return abs(piece.x - self.x) < NEAR and 0.5 * piece.size < gap < 1.6 * piece.size and not piece.mono

    def text(self) -> str:
        words = ""
        for piece in self.pieces:
            words += piece.text.strip() if not words or words[-1] == "-" else f" {piece.text.strip()}"
        return words


@dataclass
class _Row:
    cells: list[_Cell] = field(default_factory=list)

    @property
    def top(self) -> float:
        return max(cell.top for cell in self.cells)

    @property
    def bottom(self) -> float:
        return min(cell.bottom for cell in self.cells)

    def takes(self, cell: _Cell) -> bool:
        """Whether it is the next cell of this row."""
        last, slack = self.cells[-1], 0.6 * cell.size
        beside = cell.bottom < self.top + slack and cell.top > self.bottom - slack
        return cell.x > last.x + cell.size and beside and not (cell.pieces[0].mono or last.pieces[0].mono)

    def others(self) -> list[float]:
        return [cell.x for cell in self.cells[1:]]


def _rows(pieces: Sequence[PlacedText]) -> list[_Row]:
    rows: list[_Row] = []
    for piece in pieces:
        if rows and rows[-1].cells[-1].goes_on(piece):
            rows[-1].cells[-1].pieces.append(piece)
            continue
        cell = _Cell([piece])
        if rows and len(rows[-1].cells) == 1:
            _part(rows, cell)
        if rows and rows[-1].takes(cell):
            rows[-1].cells.append(cell)
        else:
            rows.append(_Row([cell]))
    return rows


def _part(rows: list[_Row], following: _Cell) -> None:
    """Lines above a row that begin where its first cell does are no part of that cell."""
    first = rows[-1].cells[0]
    above = [piece for piece in first.pieces if piece.y > following.top + 0.6 * following.size]
    below = len(first.pieces) - len(above)
    if rows[-1].takes(following) and len(above) > below:  # a cell in the middle has as many above as below
        rows[-1:] = [_Row([_Cell(above)]), _Row([_Cell(first.pieces[len(above) :])])] if below else rows[-1:]


def _alike(row: _Row, places: Sequence[float]) -> bool:
    return any(abs(x - place) < NEAR for x in row.others() for place in places)


def _crosses(row: _Row, places: Sequence[float]) -> bool:
    """Whether a text goes on where another column begins: a paragraph whose first words are set apart."""
    free = [place for place in places if all(abs(place - cell.x) > COLUMN for cell in row.cells)]
    return any(
        piece.end > place + piece.size > cell.x + 2 * piece.size
        for cell in row.cells
        for piece in cell.pieces
        for place in free
    )


def with_tables(pieces: Sequence[PlacedText]) -> list[PlacedText]:
    """The pieces, those of each table as one."""
    rows, found, at = _rows(pieces), [], 0
    while at < len(rows):
        end = _end(rows, at)
        if end - at > 1:
            own = [piece for row in rows[at:end] for cell in row.cells for piece in cell.pieces]
            first = own[0]
            table = PlacedText(rows[at].top, min(one.x for one in own), first.size, "", first.end, False, False)
            table.rows = _cells(rows[at:end])
            found.append(table)
            at = end
        else:
            found += [piece for cell in rows[at].cells for piece in cell.pieces]
            at += 1
    return found


def _end(rows: Sequence[_Row], at: int) -> int:
    """Behind the last row of the table that begins there; `at` when none does."""
    if len(rows[at].cells) < 2:
        return at
    places, end = rows[at].others(), at + 1
    while end < len(rows) and 0 < rows[end - 1].bottom - rows[end].top < 4 * rows[end].cells[0].size:
        row = rows[end]
        header = end == at + 1 and len(row.cells) > 1
        wrapped = end > at + 1 and any(abs(row.cells[0].x - place) < NEAR for place in places)
        inner = [x for one in rows[at + 1 : end + 1] for x in one.others()]  # a header may be centred
        near = rows[end - 1].bottom - row.top < 1.5 * row.cells[0].size
        if near and len(row.cells) == 1 and _crosses(row, inner):
            return at  # the last line was not a row, but the first of a paragraph
        if not (header or wrapped or _alike(row, places)) or _crosses(row, inner):
            break
        places += row.others()
        end += 1
    if end - at == 2:
        return end if len(rows[at].cells) == len(rows[at + 1].cells) > 2 else at
    if end - at < 2:
        return at
    second = rows[at + 1].others()
    return end if any(_alike(row, second) for row in rows[at:end] if row is not rows[at + 1]) else at


def _cells(rows: Sequence[_Row]) -> list[list[str]]:
    """The texts of the cells by column; a row without a first cell goes on with the one before it."""
    starts = sorted(cell.x for row in rows[1:] for cell in row.cells)
    columns = [next(group) for _, group in groupby(starts, key=_Column())]
    found: list[list[str]] = []
    for number, row in enumerate(rows):
        texts = [""] * len(columns)
        for place, cell in enumerate(row.cells):
            if number == 0 and len(row.cells) == len(columns):
                own = place
            else:
                own = min(range(len(columns)), key=lambda at: abs(columns[at] - cell.x))
            texts[own] = f"{texts[own]} {cell.text()}".strip()
        if found and number > 1 and not texts[0]:
            found[-1] = [f"{above} {below}".strip() for above, below in zip(found[-1], texts, strict=True)]
        else:
            found.append(texts)
    return found


class _Column:
    """A key that stays the same for places that are next to each other."""

    def __init__(self) -> None:
        self.number, self.last = 0, float("-inf")

    def __call__(self, x: float) -> int:
        if x - self.last > COLUMN:
            self.number += 1
        self.last = x
        return self.number
