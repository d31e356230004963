"""Fences around code and examples."""

from __future__ import annotations

import re
from collections.abc import Sequence

_FENCE = re.compile(r"^\s*(`{3,}|~{3,})([^`]*)$")


def closed_fences(lines: Sequence[str]) -> dict[int, int]:
    """Opening line → closing line. A fence that nobody closes is text, so that nothing after it is lost."""
    marks: list[tuple[int, str, bool]] = []
    for index, line in enumerate(lines):
        if "```" in line or "~~~" in line:
            found = _FENCE.match(line)
            if found:
                marks.append((index, found[1][:16], not found[2].strip()))
    closed: dict[int, int] = {}
    hopeless: dict[str, int] = {}
    at = 0
    while at < len(marks):
        index, fence, _ = marks[at]
        if len(fence) >= hopeless.get(fence[0], 99):
            at += 1
            continue
        for later in range(at + 1, len(marks)):
            end, other, bare = marks[later]
            if bare and other[0] == fence[0] and len(other) >= len(fence):
                closed[index] = end
                at = later + 1
                break
        else:
            hopeless[fence[0]] = len(fence)
            at += 1
    return closed
