"""What belongs to the code that a task names: what that calls, and what calls it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from agents.context.retrieval import Chunk

SHARED = 3  # a name that more pieces of code have does not tell which is meant
MOST = 8
_WORD = re.compile(r"[A-Za-z_]\w+")
_CALLED = re.compile(r"\b([A-Za-z_]\w+)\(")
_QUOTED = re.compile(r"`([^`\n]*)`")


def named(about: str, chunks: Sequence[Chunk]) -> list[Chunk]:
    """The chunks that `about` names: by their full name first, then what is in a class that it names."""
    words, by_name = code_words(about), _by_name(chunks)
    telling = [chunk for chunk in chunks if _last(chunk) in words and len(by_name[_last(chunk)]) <= SHARED]
    whole = [chunk for chunk in chunks if words & {chunk.name, chunk.name.partition(".")[0]}]
    # Till.count before the rest of Till.
    return list(dict.fromkeys([*telling, *sorted(whole, key=lambda chunk: _last(chunk) not in words)]))


def around(first: Sequence[Chunk], chunks: Sequence[Chunk]) -> list[Chunk]:
    """Of `chunks` what `first` call, in that order, then what calls them; at most MOST."""
    telling = {name: found for name, found in _by_name(chunks).items() if len(found) <= SHARED}
    called = [one for chunk in first for name in _calls(chunk) for one in telling.get(name, ())]
    names = {_last(chunk) for chunk in first} & telling.keys()
    # Most pieces of a large repository hold none of the names, which is seen sooner than what they call.
    callers = [one for one in chunks if any(name in one.text for name in names) and not names.isdisjoint(_calls(one))]
    return [one for one in dict.fromkeys([*called, *callers]) if one not in first][:MOST]


def code_words(about: str) -> set[str]:
    """The words that `about` writes as names, not as English: called, quoted, or spelt as names are."""
    spelt = {word for word in set(_WORD.findall(about)) if not word.islower() or "_" in word}
    quoted = {word for span in _QUOTED.findall(about) for word in _WORD.findall(span)}
    return spelt | quoted | set(_CALLED.findall(about))


def _calls(chunk: Chunk) -> list[str]:
    return [name for name in _CALLED.findall(chunk.text) if name != _last(chunk)]


def _by_name(chunks: Sequence[Chunk]) -> dict[str, list[Chunk]]:
    found: dict[str, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        found[_last(chunk)].append(chunk)
    return found


def _last(chunk: Chunk) -> str:
    return chunk.name.rpartition(".")[2]
