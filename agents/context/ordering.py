"""A model's order of what a search found: what it is shown of each find, and how its reply is read.

The finds are untrusted and so is the reply: it can put finds first, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from agents.context.questions import PLACES, FoundPlace
from agents.context.retrieval import LIBRARY, terms
from agents.context.wording import wording_of
from agents.llm.base import Message
from agents.prompts.provenance import Source, as_turn, joined, label, render
from agents.replies.jsonish import parse_json

T = TypeVar("T")
CANDIDATES, DETAILED = 60, 20  # finds that a model is shown, and how many of them with more than a line
TOKENS = 80  # of its reply
LINE_CHARS, HEAD_CHARS, MATCHES = 100, 160, 2
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"best": {"type": "array", "items": {"type": "integer"}}},
    "required": ["best"],
}
_HEAD_ENDS = re.compile(r"[:{]\s*$")


def order_turn(question: str, found: Sequence[FoundPlace]) -> Message:
    """What a model is asked: which of these finds answer the question."""
    weights = wording_of(question).weights
    shown: dict[Source, list[str]] = {}
    for number, one in enumerate(found, 1):
        source = Source.PACKAGE if one.chunk.kind == LIBRARY else Source.REPOSITORY
        shown.setdefault(source, []).append(_entry(number, one, weights))
    pieces = joined(label("\n".join(entries), source) for source, entries in shown.items())
    return as_turn("user", render("question.order", question=" ".join(question.split()), pieces=pieces))


def read_order(reply: str, many: int) -> list[int]:
    """The finds that a reply names, by position, best first; [] for a reply that names none of the `many`."""
    said, _ = parse_json(reply, SCHEMA)
    named = said.get("best") if isinstance(said, dict) else said
    numbers = [one for one in named if type(one) is int] if isinstance(named, list) else []
    return list(dict.fromkeys(one - 1 for one in numbers if 1 <= one <= many))[:PLACES]


def in_order(found: Sequence[T], first: Sequence[int]) -> list[T]:
    """The finds with those at the positions `first` before the others."""
    return [found[one] for one in first] + [one for number, one in enumerate(found) if number not in first]


def _entry(number: int, found: FoundPlace, weights: Mapping[str, float]) -> str:
    """One find: place and name, how it begins (up to where its head ends, and a line more), lines that match."""
    chunk, lines = found.chunk, [one.strip() for one in found.chunk.text.split("\n")]
    lines = [one for one in lines if re.search(r"\w", one)]
    end = next((at for at, one in enumerate(lines[:8]) if _HEAD_ENDS.search(one)), 0) + 1
    shown = [" ".join(lines[:end])[:HEAD_CHARS], *(one[:LINE_CHARS] for one in lines[end : end + 1])]
    if number > DETAILED:
        shown = shown[-1:]
    else:
        worth = {at: sum(weights.get(one, 0) for one in set(terms(lines[at]))) for at in range(end + 1, len(lines))}
        best = sorted((at for at in worth if worth[at] > 0), key=lambda at: (-worth[at], at))[:MATCHES]
        shown += [lines[at][:LINE_CHARS] for at in sorted(best)]
    head = f"[{number}] {chunk.path}:{chunk.piece.line}-{chunk.piece.end} {chunk.name[:HEAD_CHARS]}".rstrip()
    return "\n".join([head, *(f"  {one}" for one in shown)])
