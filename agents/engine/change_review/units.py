"""A change cut into pieces that a small model can judge: the changed function with its lines marked and numbered."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agents.languages.definitions import DefinitionSpan
from agents.languages.registry import language_of

WHOLE_LINES = 90  # a function that is longer is shown around its changes
NEAR = 12  # lines around a change in a longer function
OUTSIDE = 6  # around a change that is in no function
JOINED_CHARS = 2_400  # small pieces of one file go together
_MARKS = "+- "


@dataclass(frozen=True)
class DiffRow:
    """A line of a file with what the change does to it: "+", "-" or " ".

    `line` is its number in the new file, of a line that was taken away that of the line which stands there now.
    """

    mark: str
    line: int
    text: str

    @property
    def is_changed(self) -> bool:
        """False for a line that is there before and after."""
        return self.mark != " "


@dataclass(frozen=True)
class ChangedPiece:
    """A part of one file's change; `names` are the functions in it, and None among `rows` stands for lines left out."""

    path: str
    names: tuple[str, ...]
    rows: tuple[DiffRow | None, ...]

    @property
    def changed(self) -> list[DiffRow]:
        """The lines that the change adds and takes away."""
        return [row for row in self.rows if row is not None and row.is_changed]

    def text(self) -> str:
        """The lines with the marks of a diff; those of the new file have their numbers."""
        shown = []
        for row in self.rows:
            number = "" if row is None or row.mark == "-" else str(row.line)
            shown.append("  …" if row is None else f"{row.mark} {number:>5} {row.text}".rstrip())
        return "\n".join(shown)


def rows_of(diff: str) -> list[DiffRow]:
    """The lines of a file's diff, in which the whole file is one hunk; [] where git sees no text."""
    _, found, body = diff.partition("\n@@ ")
    rows, line = list[DiffRow](), 1
    for text in body.split("\n")[1:] if found else ():
        if text[:1] in _MARKS and text:
            rows.append(DiffRow(text[0], line, text[1:].rstrip("\r")))
            line += text[0] != "-"
    return rows


def pieces_of_change(path: str, rows: Sequence[DiffRow]) -> list[ChangedPiece]:
    """The change of a file in pieces: each changed function, and what lies outside of functions with a few lines."""
    text = "\n".join(row.text for row in rows if row.mark != "-")
    spans = _functions(path, text)
    by_span: dict[DefinitionSpan | None, list[int]] = {}
    for at, row in enumerate(rows):
        if row.is_changed and row.text.strip():
            by_span.setdefault(_around(spans, row), []).append(at)
    pieces = []
    for span, changed in by_span.items():
        for start, end in _stretches(rows, span, changed):
            within = [at for at in changed if start <= at < end]
            shown = _shown(rows, start, end, within, whole=span is None or end - start <= WHOLE_LINES)
            pieces.append((start, ChangedPiece(path, (span.name,) if span else (), shown)))
    return _joined([piece for _, piece in sorted(pieces, key=lambda one: one[0])])


def _functions(path: str, text: str) -> list[DefinitionSpan]:
    language = language_of(path)
    found = language.definitions(path, text) if language else None
    return [one for one in found or () if one.kind in ("function", "test")]


def _around(spans: Iterable[DefinitionSpan], row: DiffRow) -> DefinitionSpan | None:
    """The smallest function that a line is in; one that was taken away belongs to what stands before it."""
    line = row.line - (row.mark == "-")
    holding = [one for one in spans if one.first <= line <= one.last or one.first <= row.line <= one.last]
    return min(holding, key=lambda one: (not one.first <= line <= one.last, one.last - one.first), default=None)


def _stretches(rows: Sequence[DiffRow], span: DefinitionSpan | None, changed: Sequence[int]) -> list[tuple[int, int]]:
    """Where among the rows a function lies, or the surroundings of each change outside."""
    if span is not None:
        lines = [row.line for row in rows]
        first, last = bisect_left(lines, span.first), bisect_left(lines, span.last + 1)
        return [(min(first, *changed), max(last, changed[-1] + 1))]
    found = list[tuple[int, int]]()
    for at in changed:
        start, end = max(0, at - OUTSIDE), min(len(rows), at + OUTSIDE + 1)
        if found and start <= found[-1][1]:
            start = found.pop()[0]
        found.append((start, end))
    return [(start, min(end, start + WHOLE_LINES)) for whole, end in found for start in range(whole, end, WHOLE_LINES)]


def _shown(
    rows: Sequence[DiffRow], start: int, end: int, changed: Sequence[int], *, whole: bool
) -> tuple[DiffRow | None, ...]:
    kept = [
        at
        for at in range(start, end)
        if whole or at < start + 3 or any(at - NEAR <= near <= at + NEAR for near in changed)
    ]
    shown = list[DiffRow | None]()
    for before, at in zip([start - 1, *kept], kept, strict=False):
        shown += [*([None] if at > before + 1 else []), rows[at]]
    return tuple(shown)


def _joined(pieces: Sequence[ChangedPiece]) -> list[ChangedPiece]:
    made = list[ChangedPiece]()
    for piece in pieces:
        last = made[-1] if made else None
        if last and len(last.text()) + len(piece.text()) <= JOINED_CHARS:
            more = [row for row in piece.rows if row is None or row not in last.rows]
            made[-1] = ChangedPiece(piece.path, (*last.names, *piece.names), (*last.rows, None, *more))
        else:
            made.append(piece)
    return made
