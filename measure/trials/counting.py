"""What a prefix cache could not reuse of many prompts."""

from __future__ import annotations

from collections.abc import Sequence

from agents.llm.base import Message
from agents.llm.tokens import count_messages, count_tokens


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
