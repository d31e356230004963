"""A long file in its own order: what fits the task as it stands there, the other definitions by name."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from agents.context.brief import SHORT_CHARS, between, call_of, docstring_of, lines_about, summary_of
from agents.context.calls import around, code_words, named
from agents.context.ranking import parts_of
from agents.context.retrieval import CHUNK_CHARS, Chunk, Piece, pieces_of, retrieve, terms
from agents.languages.symbols import Definition, Symbols
from agents.replies.licence import without_licence_below

FITTING = 12  # definitions that only share words with a task which names none
LONG_TEXT = 400  # characters of a text at the top of a file, behind its first line
LISTED = 3  # names of definitions that follow on each other and are not shown
VALUE_CHARS = 160  # of a value that has to do with what is named
TESTS = 2  # of a long test file that a task adds to, beside short helpers: how they are written
TESTS_CHARS = 1_500

# What many names begin with, and many tasks.
_VERBS = frozenset("add get has is make new set".split())
_WORD = re.compile(r"[A-Za-z_]\w*")
_SIGN = re.compile(r"`([^`\w\s]{1,3})`")  # a value such as `=`, which names no code
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
    tests: bool = False,
) -> str:
    """At most `chars` of the file: what is outside of `pieces`, what `about` names, with `calls` what that calls and
    what calls it, what only `beside` names, then what else fits. "" when not even the names of its definitions fit.

    Where something is named, of a long function the lines that the task speaks of are shown, and of what it only calls
    or `beside` alone names the head, unless it is short or the words speak of it; values are shown that these mention.
    Of `tests` a few are shown that fit, and short helpers. Without `calls` docstrings are shown that tell of a value
    which the words quote.
    """
    classes = _classes(symbols)
    shown, chunks, words = dict[Piece, str](), [Chunk(path, piece) for piece in pieces], f"{about}\n{beside}"
    everything, lines = named(words, chunks), text.split("\n")
    first = named(about, chunks) or everything
    left = chars - len(_drawn(text, pieces, classes, {}, code_words(words) if first else None))
    if left < 0:
        return ""
    fitting = [] if first else _fitting(words, chunks, chars, tests=tests)
    related = around(first, chunks) if calls else []
    # The name of the module itself tells nothing of what it holds.
    stems = set(terms(words)) - set(terms(path))
    signed = [] if calls or tests or not first else _signed(words, chunks)
    task = _Task(words, stems, {one.piece for one in first}, {one.piece for one in everything}, signed)
    for chunk in [*first, *related, *everything, *signed, *fitting]:
        piece = chunk.piece
        body = task.body(chunk, "\n".join(lines[piece.line - 1 : piece.end]), left)
        if piece not in shown and len(body) <= left:
            shown[piece] = body
            left -= len(body)
    if not first:
        return _drawn(text, pieces, classes, shown)
    mentioned = set(_WORD.findall("\n".join((words, *shown.values()))))
    subject = (code_words(about) & {one.name for one in symbols.definitions}) | {_last(chunk) for chunk in first}
    values = _top_values(symbols, lines)
    used = mentioned | _near(values, lines, subject, stems)
    drawn = _drawn(text, [*pieces, *_unused(values, used)], classes, shown, used)
    return _brief(without_licence_below(drawn))


@dataclass(frozen=True)
class _Task:
    """What a task says of a file: its words, what it names by them (`meant`), or beside them (`certain`)."""

    words: str
    stems: set[str]
    meant: set[Piece]
    certain: set[Piece]
    signed: Sequence[Chunk]

    def body(self, chunk: Chunk, whole: str, left: int) -> str:
        """What is shown of a definition when so many characters are left."""
        piece = chunk.piece
        fits = len(whole) <= left and (piece in self.certain or len(whole) <= 2 * CHUNK_CHARS)  # no few lines missing
        body = whole if fits else piece.text
        if piece in self.meant and fits:
            return lines_about(body, code_words(self.words) - {_last(chunk)})
        if chunk in self.signed:
            return call_of(body)
        return summary_of(body) if self.meant and piece not in self.meant and not spoken(chunk, self.stems) else body


def _fitting(words: str, chunks: Sequence[Chunk], chars: int, *, tests: bool) -> list[Chunk]:
    """What shares words with a task that names nothing; of tests a few, and all short helpers."""
    if not tests:
        return retrieve(words, chunks, limit=FITTING, chars=chars)
    helps = [one for one in chunks if not _last(one).lower().startswith("test") and len(one.text) <= SHORT_CHARS]
    return helps + retrieve(words, [one for one in chunks if one not in helps], limit=TESTS, chars=TESTS_CHARS)


def _top_values(symbols: Symbols, lines: Sequence[str]) -> list[Definition]:
    values = [one for one in symbols.definitions if one.kind == "value"]
    return [one for one in values if not lines[one.line - 1].startswith((" ", "\t"))]


def _unused(values: Sequence[Definition], used: set[str]) -> list[Piece]:
    return [
        Piece(one.name, one.line, one.end, "", {})
        for one in values
        if one.name not in used and not one.name.startswith("__")
    ]


def _near(values: Sequence[Definition], lines: Sequence[str], subject: set[str], stems: set[str]) -> set[str]:
    """Names of short values that mention the subject, or whose own name begins with a word of the task."""
    return {
        one.name
        for one in values
        if len(value := "\n".join(lines[one.line - 1 : one.end])) <= VALUE_CHARS
        and (subject & set(_WORD.findall(value)) or stems.intersection(terms(one.name.partition("_")[0])))
    }


def spoken(chunk: Chunk, stems: set[str]) -> bool:
    """Whether the words of a task speak of a definition without its name: "the column widths" of compute_cols_width."""
    found = [part for part in parts_of(_last(chunk)) if len(part) > 2]
    told = [part for part in found if any(stem.startswith(part.rstrip("s")) for stem in stems)]
    return len({*told} - _VERBS) >= 2 or (len(told) == len(found) == 1)


def _signed(words: str, chunks: Sequence[Chunk]) -> list[Chunk]:
    """Documented definitions whose docstring quotes a value as the words do: what `=` is by default."""
    signs = [f"{mark}{sign}{mark}" for sign in set(_SIGN.findall(words)) for mark in "'\""]
    return [one for one in chunks if any(sign in docstring_of(one.text) for sign in signs)] if signs else []


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
    """The text with the definitions that `before` does not hold as they are; the others by name, many by number."""
    lines, pieces = text.split("\n"), pieces_of(text, symbols)
    bodies = {piece: "\n".join(lines[piece.line - 1 : piece.end]) for piece in pieces}
    new = {piece: body for piece, body in bodies.items() if body not in before}
    # Of many tests that pass already the names tell nothing.
    return _drawn(text, pieces, _classes(symbols), new, set(_WORD.findall("\n".join(new.values()))), listed=0)


def _classes(symbols: Symbols) -> list[Piece]:
    return [Piece(one.name, one.line, one.end, "", {}) for one in symbols.definitions if one.kind == "class"]


def _drawn(
    text: str,
    pieces: Sequence[Piece],
    classes: Sequence[Piece],
    shown: Mapping[Piece, str],
    words: Collection[str] | None = None,
    listed: int = LISTED,
) -> str:
    """The text with what is shown of some pieces, and one line in place of others that follow on each other.

    Of a class of which no piece is shown the name stands for all of it. With `words` only what of these is told stands
    between the pieces (agents.context.brief.between).
    """
    lines, made, last = text.split("\n"), list[str](), 0
    names: list[str] = []
    closed = [one for one in classes if not any(one.line <= piece.line <= one.end for piece in shown)]
    for piece in [*sorted([*pieces, *closed], key=lambda each: (each.line, -each.end)), None]:
        outside = lines[last : piece.line - 1 if piece else None]
        if words is not None:
            outside = between(outside, words, in_class=any(one.line <= last < one.end for one in classes))
        if names and (piece is None or piece in shown or any(line.strip() for line in outside)):
            made.append(f"… not shown: {_listed(names, listed)} …")
            names = []
        if not names:
            made += outside
        if piece and piece.end > last:
            if piece in shown:
                made.append(shown[piece])
            else:
                names.append(piece.name)
            last = piece.end
    return "\n".join(made)


def _listed(names: Sequence[str], most: int) -> str:
    """So many of the names, each without the class that the one before it has."""
    if not most and len(names) > LISTED:
        return f"{len(names)} definitions"
    most = most or LISTED
    owners = ["", *(name.rpartition(".")[0] for name in names)]
    told = [
        name.rpartition(".")[2] if owner and owner == before else name
        for name, owner, before in zip(names, owners[1:], owners, strict=False)
    ]
    return f"{', '.join(told[:most])}{f' and {len(told) - most} more' if len(told) > most else ''}"


def _last(chunk: Chunk) -> str:
    return chunk.name.rpartition(".")[2]
