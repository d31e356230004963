"""Noticing code that was left out: a file with "rest of the code" in it must never replace the real one."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

_PROSE = (".md", ".markdown", ".rst", ".txt")
_NOTE = r"^\s*(?:#|//|/\*|\*|<!--|--|;|\{#|\{/\*)\s*"
# A docstring too; but what one asks for ("Implement the function f that …") may well stand below it.
_COMMENT = _NOTE.replace(")\\s*", r"""|\"\"\"|''')\s*""")
_STARTS = {"after_comment": _COMMENT, "after_note": _NOTE, "anywhere": ""}


@cache
def _patterns(kind: str) -> list[re.Pattern[str]]:
    """The patterns of one table of placeholders.toml."""
    table = tomllib.loads(Path(__file__).with_name("placeholders.toml").read_text("utf-8"))[kind]
    return [re.compile(_STARTS[where] + pattern, re.I) for where in table for pattern in table[where]]


def find_placeholder(path: str, content: str, before: str) -> tuple[int, str] | None:
    """The first line (number, text) that stands for code left out; lines the file already had do not count."""
    patterns = _patterns("left_out") + ([] if path.lower().endswith(_PROSE) else _patterns("unwritten"))
    known = {line.strip() for line in before.splitlines()}
    for row, line in enumerate(content.splitlines(), start=1):
        if line.strip() in known:
            continue
        short = " ".join(line[:400].split())[:200]
        if any(pattern.search(short) for pattern in patterns):
            return row, line.strip()[:120]
    return None
