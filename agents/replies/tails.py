"""What models leave behind their last word: template tokens, and small talk inside a file that was not closed."""

from __future__ import annotations

import re

from agents import syntax

_TOKENS = re.compile(
    r"(?:\s*(?:<\|(?:im_end|endoftext|eot_id|end|end_of_text|eom_id|return|assistant|user)\|>|</s>|<end_of_turn>|<EOT>))+\s*\Z"
)
_BEFORE = re.compile(
    r"\A\s*(?:<\|im_start\|>\s*(?:assistant)?|<\|start_header_id\|>assistant<\|end_header_id\|>|<\|python_tag\|>|<s>)\s*"
)
_CODE = re.compile(r"(?:def|class|import|from|async|@|if|for|while|with|try|return)\b|@")
_WORDS = re.compile(r"(?:[#>*-]+\s*|\d{1,2}[.)]\s+)?(?:[A-Z][\w'’]*|\*\*)[^=(]{8,}|`{3,}|~{3,}|#{1,6}\s+[A-Z]")
_HEADINGS = re.compile(r"(?:\s*\n#{2,6}[ ]+[A-Z][^\n]{0,100})+\s*\Z")  # to Python they are comments
MAX_LINES = 5_000
_MAX_TRIES = 40


def without_tokens(text: str) -> str:
    """The reply without the marks that a chat template should have kept to itself."""
    if "<" not in text:
        return text
    head, tail = text[:-400], text[-400:]
    return _BEFORE.sub("", head + _TOKENS.sub("\n", tail))


def compiles(text: str) -> bool:
    """Is this Python? Nothing is run."""
    try:
        syntax.parse(text)
    except syntax.UNREADABLE:
        return False
    return True


def without_talk(content: str) -> str | None:
    """Python without the small talk that follows it; None when that is not what is wrong with it.

    Only what reads as prose is cut off, and nothing that is followed by code: half a file must not pass for a whole.
    """
    lines = content.split("\n")
    if len(lines) > MAX_LINES or compiles(content):
        return None
    tries = 0
    for row in range(len(lines) - 1, 0, -1):
        line = lines[row]
        if not line or line[0] in " \t":
            continue
        if _CODE.match(line):
            return None
        if not _WORDS.match(line):
            continue
        tries += 1
        if tries > _MAX_TRIES:
            return None
        head = _HEADINGS.sub("", "\n".join(lines[:row])).rstrip() + "\n"
        if compiles(head) and head.strip():
            return head
    return None
