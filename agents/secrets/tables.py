"""The words and expressions by which secrets are found and judged, read from words.toml and patterns.toml."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def _table(file: str) -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / file).read_text(encoding="utf-8"))


def words(group: str) -> frozenset[str]:
    """The words of one group."""
    return frozenset(_table("words.toml")[group].split())


def pattern(group: str, name: str) -> re.Pattern[str]:
    """One of the expressions, put together from its parts."""
    text: str = _table("patterns.toml")[group][name]
    for part, inside in _table("patterns.toml")["parts"].items():
        text = text.replace(f"<{part}>", inside)
    return re.compile(text.replace("\n", ""))
