"""A long file in its own order: what fits the task as it stands there, the other definitions by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from agents.context.calls import around, named
from agents.context.retrieval import CHUNK_CHARS, Chunk, Piece, pieces_of, retrieve
from agents.languages.symbols import Symbols
from agents.replies.licence import without_licence_below

FITTING = 12  # definitions that only share words with a task which names none
LONG_TEXT = 400  # characters of a text at the top of a file, behind its first line
LISTED = 24  # names of definitions that follow on each other and are not shown

_WORD = re.compile(r"[A-Za-z_]\w*")
_MAIN = re.compile(r"^if __name__ ==[^\n]*\n(?P<rest>(?:[ \t]+[^\n]*\n?|\n)+)\Z", re.MULTILINE)
_TOP_TEXT = re.compile(
    r"\s*(?:#[^\n]*\n|\s)*[rRuU]?(\"{3}|'{3}|/\*+)\s*[^\n]*(?P<rest>\n.*?)(?:\"{3}|'{3}|\*/)", re.DOTALL
)


def excerpt(
    path: str,
    text: str,
    symbols: Symbols,
    pieces: Sequence[Piece],
    about: str,
    chars: int,
    *,
    beside: str = "",
    calls: bool = True,
) -> str:
    """At most `chars` of the file: what is outside of `pieces`, what `about` names, with `calls` what that calls and
    what calls it, what only `beside` names, then what else fits.

    Where something is named, values are shown that it mentions, and a long text at the top is cut. "" when not even the
    names of its definitions fit.
    """
    classes = _classes(symbols)
    left, lines = chars - len(_drawn(text, pieces, classes, {})), text.split("\n")
    if left < 0:
        return ""
    shown, chunks, words = dict[Piece, str](), [Chunk(path, piece) for piece in pieces], f"{about}\n{beside}"
    everything = named(words, chunks)
    first = named(about, chunks) or everything
    certain = {chunk.piece for chunk in everything}
    fitting = [] if first else retrieve(words, chunks, limit=FITTING, chars=chars)
    related = around(first, chunks) if calls else []
    for piece in [chunk.piece for chunk in (*first, *related, *everything, *fitting)]:
        whole = "\n".join(lines[piece.line - 1 : piece.end])
        fits = len(whole) <= left and (piece in certain or len(whole) <= 2 * CHUNK_CHARS)  # not a few lines missing
        body = whole if fits else piece.text
        if piece not in shown and len(body) <= left:
            shown[piece] = body
            left -= len(body)
    if not first:
        return _drawn(text, pieces, classes, shown)
    said = set(_WORD.findall("\n".join((words, *shown.values()))))
    unused = [
        Piece(one.name, one.line, one.end, "", {})
        for one in symbols.definitions
        if one.kind == "value"
        and one.name not in said
        and not one.name.startswith("__")
        and not lines[one.line - 1].startswith((" ", "\t"))
    ]
    return _brief(without_licence_below(_drawn(text, [*pieces, *unused], classes, shown)))


def _brief(text: str) -> str:
    """The text with only the first line of a long one in quotes at its top, and of a long program at its end."""
    found = _MAIN.search(text)
    if found is not None and len(found["rest"]) >= LONG_TEXT:
        text = f"{text[: found.start('rest')]}    … not shown …\n"
    found = _TOP_TEXT.match(text)
    if found is None or len(found["rest"]) < LONG_TEXT:
        return text
    return f"{text[: found.start('rest')]}\n… the rest of this text is not shown …\n{text[found.end('rest') :]}"


def what_changed(text: str, before: str, symbols: Symbols) -> str:
    """The text with the definitions that `before` does not hold as they are; the others by name."""
    lines, pieces = text.split("\n"), pieces_of(text, symbols)
    bodies = {piece: "\n".join(lines[piece.line - 1 : piece.end]) for piece in pieces}
    new = {piece: body for piece, body in bodies.items() if body not in before}
    return _drawn(text, pieces, _classes(symbols), new)


def _classes(symbols: Symbols) -> list[Piece]:
    return [Piece(one.name, one.line, one.end, "", {}) for one in symbols.definitions if one.kind == "class"]


def _drawn(text: str, pieces: Sequence[Piece], classes: Sequence[Piece], shown: Mapping[Piece, str]) -> str:
    """The text with what is shown of some pieces, and one line in place of others that follow on each other.

    Of a class of which no piece is shown the name stands for all of it.
    """
    lines, made, last = text.split("\n"), list[str](), 0
    names: list[str] = []
    closed = [one for one in classes if not any(one.line <= piece.line <= one.end for piece in shown)]
    for piece in [*sorted([*pieces, *closed], key=lambda each: (each.line, -each.end)), None]:
        between = lines[last : piece.line - 1 if piece else None]
        if names and (piece is None or piece in shown or any(line.strip() for line in between)):
            more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
            made.append(f"… not shown: {', '.join(names[:LISTED])}{more} …")
            names = []
        if not names:
            made += between
        if piece and piece.end > last:
            if piece in shown:
                made.append(shown[piece])
            else:
                names.append(piece.name)
            last = piece.end
    return "\n".join(made)
