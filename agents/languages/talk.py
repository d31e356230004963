"""Prose that a model wrote after its code, cut off."""

from __future__ import annotations

import re
from collections.abc import Callable

_MAX_TRIES = 40
_MAX_LINES = 5_000


def without_talk(
    source: str,
    compiles: Callable[[str], bool | None],
    code: re.Pattern[str],
    prose: re.Pattern[str],
    headings: re.Pattern[str] | None = None,
) -> str | None:
    """Code without the prose that follows it; None when that is not what is wrong with it.

    Only what reads as `prose` at the begin of a line is cut off, and nothing that is followed by `code`: half a file
    must not pass for a complete one. `headings` above the prose go with it.
    """
    lines = source.split("\n")
    if len(lines) > _MAX_LINES or compiles(source) is not False:
        return None
    tries = 0
    for row in range(len(lines) - 1, 0, -1):
        line = lines[row]
        if not line or line[0] in " \t":
            continue
        if code.match(line):
            return None
        if not prose.match(line):
            continue
        tries += 1
        if tries > _MAX_TRIES:
            return None
        head = "\n".join(lines[:row])
        head = (headings.sub("", head) if headings else head).rstrip() + "\n"
        if head.strip() and compiles(head):
            return head
    return None
