"""Code that fits a task: functions and classes as chunks, ranked by their words (BM25) and, if there is one, by an embedder.

Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009), over identifiers and their parts.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from agents.context.ranking import parts_of
from agents.context.symbols import Symbols

K1, B = 1.2, 0.6
NAMED = 3  # a word in a name or path counts like so many in the code
CHUNK_CHARS = 3_000
WORTH = 0.2  # of the best score; below it a piece shares a word by chance
NEAREST = 40  # chunks that an embedder is asked to compare
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,60}")
# Words of every programming task, which tell no chunk from another.
_COMMON = frozenset(
    [
        "the",
        "and",
        "for",
        "with",
        "from",
        "that",
        "this",
        "are",
        "not",
        "return",
        "self",
        "def",
        "class",
        "import",
        "none",
        "true",
        "false",
        "function",
        "value",
        "test",
        "should",
        "must",
        "shall",
        "file",
        "code",
        "given",
        "when",
        "then",
        "call",
    ]
)

Embed = Callable[[Sequence[str]], list[list[float]]]


@dataclass(frozen=True)
class Piece:
    """A function or class of a file, with the words it is found by; lines count from 1."""

    name: str
    line: int
    end: int
    text: str
    words: Mapping[str, int] = field(compare=False, repr=False)


@dataclass(frozen=True)
class Chunk:
    """A piece and the file it is from."""

    path: str
    piece: Piece

    @property
    def name(self) -> str:
        """The definition's name, with its class."""
        return self.piece.name

    @property
    def text(self) -> str:
        """The code."""
        return self.piece.text


def pieces_of(text: str, symbols: Symbols) -> tuple[Piece, ...]:
    """A file cut at its definitions: short classes whole, long ones by method."""
    lines = text.split("\n")
    bodies = {each: "\n".join(lines[each.line - 1 : each.end]) for each in symbols.definitions}
    short = {each.name for each, body in bodies.items() if each.kind == "class" and len(body) <= CHUNK_CHARS}
    made = []
    for definition, body in bodies.items():
        if definition.kind == "value" or not body.strip():
            continue
        if definition.inside in short or (definition.kind == "class" and definition.name not in short):
            continue  # it comes with its class, or by its methods
        shown, name = body[:CHUNK_CHARS], definition.full_name
        # What a thing is called says more of it than a word inside.
        words = Counter(terms(shown) + NAMED * terms(name))
        made.append(Piece(name, definition.line, definition.end, shown, words))
    return tuple(made)


def terms(text: str) -> list[str]:
    """The words of a text as they are compared."""
    found: list[str] = []
    for word in _WORD.findall(text[:50_000]):
        low = word.lower()
        pieces = parts_of(word)
        found.extend(each for each in {low, *pieces} if each not in _COMMON)
    return found


def retrieve(
    query: str,
    chunks: Sequence[Chunk],
    *,
    limit: int = 6,
    chars: int = 6_000,
    embed: Embed | None = None,
) -> list[Chunk]:
    """The chunks that fit the query best, best first, at most `limit` and `chars`; none that shares no word with it.

    With `embed`, the best by words are put in order anew, half by words and half by likeness.
    """
    scores = bm25(query, chunks)
    order = sorted(
        (number for number, score in enumerate(scores) if score > 0 and score >= WORTH * max(scores)),
        key=lambda number: (-scores[number], chunks[number].path, chunks[number].piece.line),
    )
    if embed is not None and order:
        order = _again(query, chunks, scores, order[:NEAREST], embed)
    chosen: list[Chunk] = []
    used = 0
    for number in order:
        if len(chosen) == limit:
            break
        if used + len(chunks[number].text) <= chars:
            chosen.append(chunks[number])
            used += len(chunks[number].text)
    return chosen


def bm25(query: str, chunks: Sequence[Chunk]) -> list[float]:
    """A score for each chunk; 0.0 when no word is shared. A chunk's name and path count like three words of it."""
    wanted = set(terms(query))
    places = {path: set(terms(path)) & wanted for path in {chunk.path for chunk in chunks}}
    bags = [
        {term: chunk.piece.words.get(term, 0) + NAMED * (term in places[chunk.path]) for term in found}
        for chunk in chunks
        for found in ((chunk.piece.words.keys() & wanted) | places[chunk.path],)
    ]
    lengths = [sum(chunk.piece.words.values()) for chunk in chunks]
    mean = sum(lengths) / len(lengths) if lengths else 1.0
    holds: Mapping[str, int] = Counter(term for bag in bags for term in bag)
    scores = []
    for bag, length in zip(bags, lengths, strict=True):
        score = 0.0
        for term in sorted(bag):
            rare = math.log(1 + (len(bags) - holds[term] + 0.5) / (holds[term] + 0.5))
            score += rare * bag[term] * (K1 + 1) / (bag[term] + K1 * (1 - B + B * length / (mean or 1.0)))
        scores.append(round(score, 9))
    return scores


def _again(
    query: str, chunks: Sequence[Chunk], scores: Sequence[float], order: Sequence[int], embed: Embed
) -> list[int]:
    vectors = embed([query, *(chunks[number].text for number in order)])
    best = max(scores[number] for number in order)

    def worth(place: int) -> float:
        alike = sum(one * other for one, other in zip(vectors[0], vectors[place + 1], strict=True))
        return round(0.5 * scores[order[place]] / best + 0.5 * alike, 9)

    return [order[place] for place in sorted(range(len(order)), key=lambda place: (-worth(place), place))]
