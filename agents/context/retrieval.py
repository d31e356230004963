"""What fits a task: functions, classes and sections as chunks, ranked by words and, if a model is there, by meaning.

Words: BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009) over identifiers and their parts.
The two orders become one by reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009), which needs no common
scale.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from agents.context.ranking import parts_of
from agents.languages.symbols import Symbols

K1, B = 1.2, 0.6
NAMED = 3  # a word in a name or path counts like so many in the code
HEAD_LINES = 8  # they say what code is for: their words count twice
CHUNK_CHARS = 3_000
WINDOW_CHARS, WINDOWS = 800, 4  # a vector of much text stands for none of it
VALUE_CHARS = 400  # a table that is longer is found and left out like a function
WORTH = 0.2  # of the best score; below it a piece shares a word by chance
NEAREST = 20  # chunks that meaning alone may put forward
LIKE = 0.2  # least cosine that counts; texts that have nothing in common lie below, or all alike
FUSED = 60  # of reciprocal rank fusion, as its authors found best
CODE, DOCUMENT, LIBRARY = "code", "document", "library"  # of the repository two, and what the operator provides
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,60}")
_UNSPOKEN = re.compile(r"[^\w.,?!%]+|_+|(?<=[a-z0-9])(?=[A-Z])")
# Words of every programming task and question, which tell no chunk from another.
_COMMON = frozenset(
    (
        "the and for with from that this are not return self def class import none true false function value test "
        "should must shall file code given when then call how does where which what who why can could was were has "
        "have had its been being did done than there these those into out only they them their after before while "
        "used use uses using"
    ).split()
)
_ENDINGS = ("ations", "ation", "ings", "ing", "edly", "ed", "ers", "er", "ors", "or", "ions", "ion", "es", "s", "ly")

# Likeness of texts to a question, None where it is not known; asked for the likeliest by words first.
Near = Callable[[str, Sequence[str]], Sequence[float | None]]


@dataclass(frozen=True)
class Piece:
    """A function, class or table of a file, with the words it is found by; lines count from 1."""

    name: str
    line: int
    end: int
    text: str
    words: Mapping[str, int] = field(compare=False, repr=False)
    is_between: bool = False  # what definitions leave of a file: imports, constants, heads of long classes


@dataclass(frozen=True)
class Chunk:
    """A piece and the file it is from."""

    path: str
    piece: Piece
    kind: str = CODE

    @property
    def name(self) -> str:
        """The definition's name, with its class."""
        return self.piece.name

    @property
    def text(self) -> str:
        """The code."""
        return self.piece.text

    @property
    def embedded(self) -> str:
        """What its first vector stands for."""
        return self.windows[0]

    @cached_property
    def windows(self) -> list[str]:
        """Its text in parts that a small model reads whole, as words without punctuation, each after place and name."""
        head = f"{_spoken(self.path.rsplit('.', 1)[0])} {_spoken(self.name)}".rstrip() + "."
        parts = [head]
        for line in filter(None, map(_spoken, self.text.split("\n"))):
            if len(parts[-1]) > len(head) and len(parts[-1]) + len(line) > WINDOW_CHARS + len(head):
                parts.append(head)
            parts[-1] += f" {line}"
        return parts[:WINDOWS]


def _spoken(text: str) -> str:
    return " ".join(_UNSPOKEN.sub(" ", text).split())


def pieces_of(text: str, symbols: Symbols) -> tuple[Piece, ...]:
    """A file cut at its definitions: short classes whole, long ones by method, short values not at all."""
    lines = text.split("\n")
    bodies = {each: "\n".join(lines[each.line - 1 : each.end]) for each in symbols.definitions}
    short = {each.name for each, body in bodies.items() if each.kind == "class" and len(body) <= CHUNK_CHARS}
    made = []
    for definition, body in bodies.items():
        if not body.strip() or (definition.kind == "value" and len(body) <= VALUE_CHARS):
            continue
        if definition.inside in short or (definition.kind == "class" and definition.name not in short):
            continue  # it comes with its class, or by its methods
        shown, name = shortened(body), definition.full_name
        # What a thing is called says more of it than a word inside.
        words = Counter(terms(shown) + NAMED * terms(name) + terms(_head(shown)))
        made.append(Piece(name, definition.line, definition.end, shown, words))
    return tuple(made)


def _head(body: str) -> str:
    return "\n".join(body.split("\n", HEAD_LINES)[:HEAD_LINES])


def between(text: str, symbols: Symbols, pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """What `pieces` leave of a file, with the name of the class that it is in: constants, heads of long classes."""
    inside = {number for piece in pieces for number in range(piece.line, piece.end + 1)}
    runs: list[list[tuple[int, str]]] = [[]]
    for number, line in enumerate(text.split("\n"), 1):
        if number in inside or (sum(len(each) for _, each in runs[-1]) > CHUNK_CHARS // 2 and not line.strip()):
            runs.append([])
        if number not in inside and (line.strip() or runs[-1]):
            runs[-1].append((number, line))
    made = []
    for run in runs:
        body = "\n".join(line for _, line in run).rstrip()
        if words := Counter(terms(body)):
            first, last = run[0][0], run[0][0] + body.count("\n")
            within = [one for one in symbols.definitions if one.kind == "class" and one.line <= first <= one.end]
            name = within[-1].full_name if within else ""
            words.update(NAMED * terms(name))
            made.append(Piece(name, first, last, shortened(body), words, is_between=True))
    return tuple(made)


def shortened(body: str, chars: int = CHUNK_CHARS) -> str:
    """The text; of a long one the first and the last lines."""
    if len(body) <= chars:
        return body
    head = body[: chars // 2].rpartition("\n")[0] or body[: chars // 2]
    tail = body[-chars // 2 :].partition("\n")[2]
    return f"{head}\n… {body.count(chr(10)) - head.count(chr(10)) - tail.count(chr(10)) - 1} lines not shown …\n{tail}"


def terms(text: str) -> list[str]:
    """The words of a text as they are compared."""
    found: list[str] = []
    for word in _WORD.findall(text[:50_000]):
        low = word.lower()
        pieces = parts_of(word)
        found.extend(_stem(each) for each in {low, *pieces} if each not in _COMMON)
    return found


def _stem(word: str) -> str:
    """Without its ending, so that "retries" and "retrying" are both met by "retry"."""
    if word.endswith("ss"):
        return word
    if word.endswith(("ies", "ied")) and len(word) > 4:
        return f"{word[:-3]}y"
    short = next((word.removesuffix(end) for end in _ENDINGS if word.endswith(end) and len(word) - len(end) > 2), word)
    if short != word and short[-1] == short[-2] and short[-1] not in "lsz":
        short = short[:-1]  # "stopping"
    return short.rstrip("e") if len(short) > 3 else short


def retrieve(
    query: str, chunks: Sequence[Chunk], *, limit: int = 6, chars: int = 6_000, near: Near | None = None
) -> list[Chunk]:
    """The chunks that fit the query best, best first, at most `limit` and `chars`.

    Without `near` none that shares no word with it; with it also those that stand out by meaning.
    """
    scores = bm25(dict.fromkeys(terms(query), 1.0), chunks)
    by_words = sorted(
        range(len(chunks)), key=lambda number: (-scores[number], chunks[number].path, chunks[number].piece.line)
    )
    shared = [number for number in by_words if scores[number] > 0 and scores[number] >= WORTH * max(scores)]
    order = shared if near is None else fused(shared, nearest(query, chunks, by_words, near))
    chosen: list[Chunk] = []
    used = 0
    for number in order:
        if len(chosen) == limit:
            break
        if used + len(chunks[number].text) <= chars:
            chosen.append(chunks[number])
            used += len(chunks[number].text)
    return chosen


def nearest(query: str, chunks: Sequence[Chunk], by_words: Sequence[int], near: Near) -> list[int]:
    """Numbers of chunks by meaning, nearest first.

    Those in the upper half between the usual likeness here and the greatest.
    """
    if not chunks or not query.strip():
        return []
    told = near(query, [chunks[number].embedded for number in by_words])
    likeness = {number: like for number, like in zip(by_words, told, strict=True) if like is not None}
    if not likeness:
        return []
    usual = sum(likeness.values()) / len(likeness)
    least = max(LIKE, (usual + max(likeness.values())) / 2)
    found = [number for number in by_words if likeness.get(number, -1.0) >= least]
    return sorted(found, key=lambda number: (-likeness[number], chunks[number].path, chunks[number].piece.line))[
        :NEAREST
    ]


def fused(*orders: Sequence[int]) -> list[int]:
    """One order of several; what is high in one of them is high, what is high in two is higher."""
    worth: dict[int, float] = {}
    for order in orders:
        for rank, number in enumerate(order, 1):
            worth[number] = worth.get(number, 0.0) + 1 / (FUSED + rank)
    return sorted(worth, key=lambda number: -round(worth[number], 12))


def bm25(weights: Mapping[str, float], chunks: Sequence[Chunk]) -> list[float]:
    """A score for each chunk by these stems, 0.0 when none is shared; its name and path count like three words."""
    wanted = weights.keys()
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
            rare = weights[term] * math.log(1 + (len(bags) - holds[term] + 0.5) / (holds[term] + 0.5))
            score += rare * bag[term] * (K1 + 1) / (bag[term] + K1 * (1 - B + B * length / (mean or 1.0)))
        scores.append(round(score, 9))
    return scores
