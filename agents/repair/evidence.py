"""Is the evidence that a diagnosis names really in what the model was shown? Small models make lines up."""

from __future__ import annotations

import re
from itertools import islice

MAX_TEXT = 400_000  # characters of a trace that are searched
MAX_LINES = 20_000
SHARE = 0.8  # of the words: models shorten a line, and put the error's name before it
NEIGHBOURS = 3  # lines: an error and its place stand on lines of their own
_WORD = re.compile(r"[^\W\d]\w*|\d+(?:\.\d+)?")
_QUOTED = re.compile(r"`([^`\n]{6,400})`|\"([^\"\n]{6,400})\"|'([^'\n]{6,400})'")
_NOISE = re.compile(r"[\s`*]+")


def is_shown(evidence: str, shown: str) -> bool:
    """True when the line stands in the text: word for word (whatever the spaces), or nearly all of its words in order
    of the text's own neighbouring lines, and then every number. False for an empty line.
    """
    wanted = _plain(evidence)
    if not wanted:
        return False
    shown = shown[:MAX_TEXT]
    text = _plain(shown)
    if wanted in text:
        return True
    if any(_plain(part) in text for groups in _QUOTED.findall(evidence) for part in groups if part):
        return True
    words = _WORD.findall(evidence)
    return len(set(words)) > 2 and _nearby(set(words), shown)


def _nearby(words: set[str], shown: str) -> bool:
    numbers = {word for word in words if word[0].isdigit()}
    recent: list[set[str]] = []
    for line in islice(shown.splitlines(), MAX_LINES):
        recent = [*recent[-(NEIGHBOURS - 1) :], set(_WORD.findall(line))]
        there = set().union(*recent)
        if numbers <= there and len(words & there) >= SHARE * len(words):
            return True
    return False


def _plain(text: str) -> str:
    """Without spaces and marks; `E ` at the start of a line is pytest's own."""
    return _NOISE.sub("", re.sub(r"(?m)^[E>][ \t]+", "", text.strip().strip("\"'")))
