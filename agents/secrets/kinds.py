"""The table of known kinds of secrets, read from rules/*.toml. One table for the gate, the firewall and redaction."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

Place = Literal["start", "inside", "near", "around"]
# In this order: a vendor's own kind names a secret better than the place where it was found, so keys come last.
FILES = ("cloud", "code", "chat", "money", "models", "services", "keys")
RULES = Path(__file__).parent / "rules"
UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # written <UUID> in the rules
# A word of its own: no letter or digit may touch it on either side, or parts of longer words would match.
WORD = r"(?<![A-Za-z0-9_])(?:{})(?![A-Za-z0-9_])"
# How the file describes a kind → whether the pattern is a word of its own, and where its anchors are.
SHAPES: dict[str, tuple[bool, Place]] = {
    "token": (True, "start"),  # begins with an anchor
    "holding": (True, "inside"),  # has an anchor somewhere in it
    "near": (True, "near"),  # says too little by itself: matched only in texts that name its vendor or use
    "begun": (False, "start"),  # begins with an anchor; the pattern says where it ends
    "whole": (False, "inside"),  # one run of characters; the pattern says where it begins and ends
    "free": (False, "around"),  # recognised by what is around it
}


@dataclass(frozen=True)
class Format:
    """One kind of secret. Group 1 of the pattern, where there is one, is the secret itself.

    `anchors` are plain pieces of text of which one must be present: looking for those first makes the common case (no
    secret) cost a few substring searches, and patterns are compiled only when they are needed. `place` says where an
    anchor is: at the start of the secret, inside it (the secret being one run of characters), or near or around it; the
    last two are in lower case and looked for without regard to case.
    """

    kind: str
    source: str
    anchors: tuple[str, ...]
    place: Place

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled pattern."""
        return re.compile(self.source)


@cache
def formats() -> tuple[Format, ...]:
    """All known kinds, in the order in which they name a secret."""
    return tuple(
        _format(kind, **rule)
        for name in FILES
        for kind, rule in tomllib.loads((RULES / f"{name}.toml").read_text("utf-8")).items()
    )


def _format(kind: str, *, shape: str, pattern: str, anchors: list[str]) -> Format:
    is_word, place = SHAPES[shape]
    body = pattern.replace("<UUID>", UUID)
    return Format(kind, WORD.replace("{}", body) if is_word else body, tuple(anchors), place)
