"""How one kind of secret is described."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Literal

Place = Literal["start", "inside", "near", "around"]


class Format:
    """One kind of secret. Group 1 of the pattern, where there is one, is the secret itself.

    `anchors` are plain pieces of text of which one must be present: looking for those first makes the common case (no
    secret at all) cost a few substring searches, and patterns are compiled only when they are needed. `place` says
    where an anchor stands: at the start of the secret, somewhere inside it (the secret being one run of characters),
    or near or around it; the last two are in lower case and looked for without regard to case.
    """

    def __init__(self, kind: str, source: str, anchors: tuple[str, ...], place: Place) -> None:
        self.kind = kind
        self.anchors = anchors
        self.place = place
        self._source = source

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled pattern."""
        return re.compile(self._source)


# No letter or digit may touch a token on either side, or parts of longer words would match.
START, END = r"(?<![A-Za-z0-9_])", r"(?![A-Za-z0-9_])"
UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


def token(kind: str, body: str, *anchors: str) -> Format:
    """A word of its own that begins with an anchor."""
    return Format(kind, f"{START}(?:{body}){END}", anchors, "start")


def holding(kind: str, body: str, *anchors: str) -> Format:
    """A word of its own with an anchor somewhere in it."""
    return Format(kind, f"{START}(?:{body}){END}", anchors, "inside")


def near(kind: str, body: str, *anchors: str) -> Format:
    """A word of its own whose shape says too little: looked for only in texts that speak of its vendor or use."""
    return Format(kind, f"{START}(?:{body}){END}", anchors, "near")


def begun(kind: str, pattern: str, *anchors: str) -> Format:
    """A kind that begins with an anchor and says itself where it ends."""
    return Format(kind, pattern, anchors, "start")


def whole(kind: str, pattern: str, *anchors: str) -> Format:
    """A kind without gaps that says itself where it begins and ends."""
    return Format(kind, pattern, anchors, "inside")


def free(kind: str, pattern: str, *anchors: str) -> Format:
    """A secret in a place that gives it away."""
    return Format(kind, pattern, anchors, "around")
