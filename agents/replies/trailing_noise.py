"""The tokens of a chat template that models leave around their reply."""

from __future__ import annotations

import re

_TOKENS = re.compile(
    r"(?:\s*(?:<\|(?:im_end|endoftext|eot_id|end|end_of_text|eom_id|return|assistant|user)\|>|</s>|<end_of_turn>|<EOT>))+\s*\Z"
)
_BEFORE = re.compile(
    r"\A\s*(?:<\|im_start\|>\s*(?:assistant)?|<\|start_header_id\|>assistant<\|end_header_id\|>|<\|python_tag\|>|<s>)\s*"
)


def without_tokens(text: str) -> str:
    """The reply without the marks that a chat template should have kept to itself."""
    if "<" not in text:
        return text
    head, tail = text[:-400], text[-400:]
    return _BEFORE.sub("", head + _TOKENS.sub("\n", tail))
