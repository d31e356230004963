"""A long file in its own order: what fits the task as it stands there, the other definitions by name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.context.retrieval import Chunk, Piece, retrieve

FITTING = 12  # definitions that the task does not name
_WORD = re.compile(r"[A-Za-z_]\w+")


def excerpt(path: str, text: str, pieces: Sequence[Piece], about: str, chars: int) -> str:
    """At most `chars` of the file: all that is outside of definitions, what `about` names, then what else fits it.

    "" when not even the names of its definitions fit.
    """
    left = chars - len(_without(text, pieces))
    if left < 0:
        return ""
    words, shown = set(_WORD.findall(about)), set[Piece]()
    named = [piece for piece in pieces if words & {piece.name, piece.name.partition(".")[0]}]
    fitting = retrieve(about, [Chunk(path, piece) for piece in pieces], limit=FITTING, chars=chars)
    for piece in [*named, *(chunk.piece for chunk in fitting)]:
        if piece not in shown and len(piece.text) <= left:
            shown.add(piece)
            left -= len(piece.text)
    return _without(text, [piece for piece in pieces if piece not in shown])


def _without(text: str, hidden: Sequence[Piece]) -> str:
    """The text with one line in place of definitions that follow on each other."""
    lines, made, last = text.split("\n"), list[str](), 0
    names: list[str] = []
    for piece in [*sorted(hidden, key=lambda each: (each.line, -each.end)), None]:
        between = lines[last : piece.line - 1 if piece else None]
        if names and (piece is None or any(line.strip() for line in between)):
            made.append(f"… not shown: {', '.join(names)} …")
            names = []
        if not names:
            made += between
        if piece and piece.end > last:
            names.append(piece.name)
            last = piece.end
    return "\n".join(made)
