"""Counting tokens before sending, without the model's vocabulary.

The estimate is meant to be a little high: a prompt thought too long is shortened with care, while one thought too
short loses its oldest messages inside the server. It follows how byte-pair vocabularies of code models cut text:
a word is a token or a few, each digit is one, punctuation goes in small groups, indentation is one, and letters
outside ASCII cost about a token for two bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from agents.llm.base import Message

_PIECES = re.compile(
    r"(?P<word>[A-Za-z]+)|(?P<digit>[0-9])|(?P<space>\s+)|(?P<other>[^\x00-\x7f]+)|(?P<mark>[\x00-\x7f])"
)
_LETTERS_PER_TOKEN = 6
_MARKS_PER_TOKEN = 1.5
_PER_MESSAGE = 6  # the chat template's role and border tokens
_REGEX_LIMIT = 2_000_000  # characters; far over any window, where a rough count is as good


def count_tokens(text: str) -> int:
    """Estimate how many tokens a text costs, on the high side."""
    if len(text) > _REGEX_LIMIT:
        return len(text) // 3
    total, marks = 0, 0
    for match in _PIECES.finditer(text):
        kind = match.lastgroup
        if kind == "word":
            total += 1 + (len(match[0]) - 1) // _LETTERS_PER_TOKEN
        elif kind == "digit":
            total += 1
        elif kind == "mark":
            marks += 1
        elif kind == "other":
            total += -(-len(match[0].encode("utf-8", "surrogatepass")) // 2)
        elif "\n" in match[0] or len(match[0]) > 1:
            # A lone blank belongs to the word after it; line ends and indentation are tokens of their own.
            total += 1 + len(match[0]) // 16
    return total + int(marks / _MARKS_PER_TOKEN + 0.5)


def count_messages(messages: Iterable[Message]) -> int:
    """Estimate what a whole conversation costs, with the template around each message."""
    return sum(count_tokens(message["content"]) + _PER_MESSAGE for message in messages)
