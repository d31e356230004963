"""Lessons as a prompt shows them: found, read, and taken out again."""

from __future__ import annotations

import re

# A fence in which every line is "- cause → fix" (agents.engine.nodes.common.lessons_text), with the line that announces
# it.
_LESSONS = re.compile(
    r"\n*[^\n]{0,200}:\n(?P<marks>`{3,})from=model\n(?P<lines>(?:- [^\n]* → [^\n]*\n)+)(?P=marks)(?=\n|$)"
)
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")


def lessons_in(text: str) -> list[str]:
    """The lessons that a turn shows, "cause → fix", in order; none when it shows none."""
    found = _LESSONS.search(text)
    return [line[2:] for line in found["lines"].splitlines()] if found else []


def without_lessons(text: str) -> str:
    """The turn as it were without lessons, spaces and addresses made alike: equal for two turns that ask the same."""
    return " ".join(_ADDRESS.sub("0x", _LESSONS.sub("\n\n", text)).split())
