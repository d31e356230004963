"""What marks mean that the document explains: `W = won't be built`, `[-] = dropped`, 検討中=まだ決めていない."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from agents.requirements.blocks import DocumentBlock
from agents.requirements.languages import is_excluded, is_open, says
from agents.requirements.sections import heading_role

Mark = Literal["non_goal", "question"]

_PAIR = re.compile(
    r"[*`_]{0,3}(\[[^\]\w]\]|[^\W_]{1,8})[*`_]{0,3}\s?[=\uff1d]\s?[*`_]{0,3}([^,;·=\t\u3001\uff0c\uff1b]{2,60})"
)
_EQUALS = re.compile(r"[=\uff1d]")
_WONT = re.compile(r"\W{0,3}(?:won.?t|out\b|later\b|never\b)", re.IGNORECASE)
_USUAL: dict[str, Mark] = {"[-]": "non_goal", "[?]": "question"}


def read_legend(blocks: Sequence[DocumentBlock]) -> dict[str, Mark]:
    """The marks that keep a row or an item from being built, by legends of at least two marks and by custom."""
    marks = dict(_USUAL)
    for block in blocks:
        for mark, meaning in legend_pairs(block.text) if block.kind != "code" else ():
            found = verdict_of(meaning.strip())
            if found:
                marks[mark] = found
    return marks


def legend_pairs(text: str) -> list[tuple[str, str]]:
    """The marks of a legend with their meanings; none of a text that explains fewer than two."""
    pairs = _PAIR.findall(text) if len(_EQUALS.findall(text)) > 1 else []
    return pairs if len(pairs) > 1 else []


def verdict_of(words: str) -> Mark | None:
    """What a short remark on something says: it is not built, or not decided."""
    if heading_role(words) == "non_goal" or _WONT.match(words) or is_excluded(words) or says("rejected", words):
        return "non_goal"
    return "question" if is_open(words) else None
