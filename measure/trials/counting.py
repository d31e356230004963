"""Figures of many trials: shares with Wilson intervals, and what a prefix cache could not reuse."""

from __future__ import annotations

import math
from collections.abc import Sequence

from agents.llm.base import Message
from agents.llm.tokens import count_messages, count_tokens

Z95 = 1.959963984540054


def wilson(hits: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share after Wilson (1927), as shares of one; (0, 1) for nothing measured."""
    if not of:
        return 0.0, 1.0
    share, square = hits / of, Z95 * Z95
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = Z95 / (1 + square / of) * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    # All and none are exact; rounding would leave 0.9999999999999999.
    return max(0.0, middle - half) if hits else 0.0, min(1.0, middle + half) if hits < of else 1.0


def uncached_tokens(messages: Sequence[Message], earlier: Sequence[Sequence[Message]]) -> int:
    """Tokens of a prompt that no earlier prompt begins with, by the longest common prefix of whole messages and text.

    A server's prefix cache can reuse no more than this leaves; a reply it wrote itself counts as sent anew here.
    """
    best = max((_reused(messages, before) for before in earlier), default=0)
    return max(0, count_messages(messages) - best)


def _reused(messages: Sequence[Message], before: Sequence[Message]) -> int:
    tokens = 0
    for one, other in zip(messages, before, strict=False):
        if one["role"] != other["role"]:
            break
        if one["content"] == other["content"]:
            tokens += count_messages([one])
            continue
        same = _common(one["content"], other["content"])
        tokens += count_tokens(one["content"][:same])
        break
    return tokens


def _common(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one.startswith(other[:middle]):
            low = middle
        else:
            high = middle - 1
    return low
