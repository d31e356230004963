"""Likeness by shared words, for when no embedding model is there.

Words weigh as in BM25 (rare ones more, repeats less), and the share of weight that two texts have in common is their
likeness: 1.0 for the same words, 0.0 for none. It finds shared words, not shared meaning: "file missing" and "no such
path" are strangers to it. Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond"
(2009).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

K1 = 1.2
LOOKED_AT = 4_000  # characters
LEAST_SHARED = 2  # telling words; a wrong lesson is worse than none
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]{1,60}")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_EXCEPTION = re.compile(r"\w+(?:Error|Exception|Warning)")
# Any failing test says these, and any title.
_SAYS_NOTHING = frozenset(
    re.findall(
        r"\w+",
        """
        assert assertion assertionerror error errors failed failure exception traceback test tests expected actual got
        where none true false self line file in at the an of to is not and or for with was by be it as on no from that
        this add adds make makes""",
    )
)


@lru_cache(maxsize=8_192)  # lessons are compared with every question; reading a thousand anew takes 0.2 s
def words_of(text: str) -> Counter[str]:
    """Telling words in lower case and the parts of compound names, with how often each stands there."""
    found: Counter[str] = Counter()
    for word in _WORD.findall(text[:LOOKED_AT]):
        found[word.lower()] += 1
        parts = [] if _EXCEPTION.fullmatch(word) else [part.lower() for part in _PARTS.findall(word)]
        if len(parts) > 1:
            found.update(part for part in parts if len(part) > 1)
    return Counter({word: count for word, count in found.items() if word not in _SAYS_NOTHING})


def likeness(question: str, texts: Sequence[str]) -> list[float]:
    """How like the question each text is, 0…1; the texts are also the stock that says which words are rare."""
    asked = words_of(question)
    stock = [words_of(text) for text in texts]
    seen = Counter(word for words in stock for word in words)
    return [_overlap(asked, words, seen, len(stock)) for words in stock]


def _overlap(asked: Counter[str], words: Counter[str], seen: Counter[str], many: int) -> float:
    shared = asked.keys() & words.keys()
    if len(shared) < LEAST_SHARED:
        return 0.0

    def mass(chosen: Iterable[str], counts: Counter[str]) -> float:
        return sum(_rarity(seen[word], many) * counts[word] * (K1 + 1) / (counts[word] + K1) for word in chosen)

    in_common = min(mass(shared, asked), mass(shared, words))
    whole = mass(asked, asked) + mass(words, words)
    return min(1.0, 2.0 * in_common / whole) if whole else 0.0


def _rarity(seen: int, many: int) -> float:
    # A word that no lesson has counts as rare as one in a single lesson: in a small collection it would outweigh the
    # rest.
    return math.log(1.0 + (max(many, 1) - max(seen, 1) + 0.5) / (max(seen, 1) + 0.5))
