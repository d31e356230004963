"""Known kinds of secrets, found in text and told from what only stands for one.

The kinds themselves are data, in `rules/`. The secrets gate, the firewall and redaction all look here.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

from agents.secrets.tables import pattern

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


# Blocks between armour lines: their dashes and dots say nothing about a stand-in.
WHOLE_KINDS = frozenset(
    {"private-key", "ssh2-private-key", "putty-private-key", "openvpn-static-key", "encoded-private-key"}
)

_PLACEHOLDER = pattern("values", "placeholder")


def is_placeholder(value: str) -> bool:
    """Whether a value plainly stands for a secret instead of being one."""
    return bool(_PLACEHOLDER.search(value))


@cache
def _anchored(place: Place) -> list[tuple[str, int]]:
    return [
        (anchor, number) for number, entry in enumerate(formats()) if entry.place == place for anchor in entry.anchors
    ]


_RUN = re.compile(r"[^\s\"'`<>(),;{}\[\]\\]{14,}")


def find_known(text: str) -> Iterator[tuple[str, int, int]]:
    """Every known secret in a text as kind, start, end (of the secret itself)."""
    known = formats()
    runs = "\n".join(_RUN.findall(text))
    lower = text.lower()
    # In a table of hundreds of kinds the order of the table decides which name a secret gets, not where it stands.
    found: list[tuple[int, re.Match[str]]] = []
    for anchor, number in _anchored("start"):
        if anchor in runs:
            found += [(number, match) for match in _from(known[number].pattern, text, anchor)]
    numbers = {number for anchor, number in _anchored("around") if anchor in lower}
    words = {n for anchor, n in _anchored("inside") if anchor in runs} | {
        n for anchor, n in _anchored("near") if anchor in lower
    }
    numbers |= {n for n in words if known[n].pattern.search(runs)}
    for number in numbers:
        found += [(number, match) for match in known[number].pattern.finditer(text)]
    for number, match in sorted(found, key=lambda pair: (pair[0], pair[1].start())):
        group = 1 if match.re.groups else 0
        yield known[number].kind, match.start(group), match.end(group)


def _from(pattern: re.Pattern[str], text: str, anchor: str) -> Iterator[re.Match[str]]:
    place = text.find(anchor)
    while place >= 0:
        match = pattern.match(text, place)
        if match:
            yield match
        place = text.find(anchor, match.end() if match else place + 1)
