"""A document as its smallest statements: what a reader can say of each whether it asks for something."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agents.requirements.blocks import DocumentBlock, parse_blocks
from agents.requirements.model import Lines
from agents.requirements.sentences import split_sentences, tidy


@dataclass(frozen=True, slots=True)
class DocumentPiece:
    """A heading, a sentence, a list item, a row of a table, an example or a scenario; `indent` in columns.

    `quoted` is what the author repeats of an earlier mail, or remarks beside the text; `box` the one before an item.
    """

    text: str
    lines: Lines
    kind: str
    indent: int = 0
    quoted: bool = False
    box: str = ""


def pieces_of(lines: Sequence[str]) -> list[DocumentPiece]:
    """All of the document in order; headings among it."""
    return [piece for block in parse_blocks(lines) for piece in _cut(block) if piece.text]


def _cut(block: DocumentBlock) -> Iterator[DocumentPiece]:
    if block.table:
        if block.table.header:
            yield DocumentPiece(_row(block.table.header), (block.a, block.a), "header")
        for row in block.table.rows:
            yield DocumentPiece(_row([" ".join(cell) for cell in row.cells]), (row.a, row.b), "table")
    elif block.kind in ("item", "para") and not block.aside:
        at = 0
        for number, sentence in enumerate(split_sentences(block.text)):
            # Sentences are the text again but for its spaces.
            start = max(at, block.text.find(sentence.split(" ", 1)[0], at))
            at = start + max(1, len(sentence) - 2)
            kind = block.kind if not number else "sentence"
            lines = block.lines_of(start, start + len(sentence) - 1)
            yield DocumentPiece(tidy(sentence), lines, kind, block.indent, box="" if number else block.box)
    else:
        text = block.text if block.kind == "code" else tidy(block.text)
        yield DocumentPiece(text, (block.a, block.b), block.kind, block.indent, block.aside)


def _row(cells: Sequence[str]) -> str:
    return tidy(" | ".join(cells))
