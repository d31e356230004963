"""Text that agents, repositories and tools wrote, made safe to look at.

Escaping is the template engine's work. What is left is what a browser renders faithfully and a reader is fooled by:
terminal escapes, characters that reverse or hide the text around them, and length.
"""

from __future__ import annotations

import re
from typing import Any

# CSI and OSC sequences, then any lone escape with its one letter.
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|\x1b[@-_]")
# Bidirectional controls, zero-width characters, tags, annotation marks, other C0/C1 controls.
_INVISIBLE = re.compile(
    "[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e"
    "\u2028\u2029\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)


def _name(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else f"⟨U+{code:04X}⟩"


def plain(value: object, limit: int = 20_000) -> str:
    """The text without terminal escapes, its invisible characters shown by name, cut at `limit` characters."""
    text = str(value if value is not None else "")
    cut = len(text) - limit
    if cut > 0:
        text = text[:limit]
    text = _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    text = _INVISIBLE.sub(_name, text)
    return f"{text}… ({cut:,} more characters)" if cut > 0 else text


def one_line(value: object, limit: int = 400) -> str:
    """The same on one line."""
    return " ".join(plain(value, limit).split())


def shortened(text: str, most: int) -> str:
    """At most so many characters, with an ellipsis for those that are left out."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def listed(value: Any, limit: int = 50) -> list[Any]:
    """A payload's value as a list, whatever an agent put there."""
    if value in (None, "", {}):
        return []
    return list(value)[:limit] if isinstance(value, list | tuple) else [value]
