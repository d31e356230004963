"""Convert lessons to rows of a store and back: clean values in, and no invented values from a damaged row."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from agents.memory.base import Lesson
from agents.secrets.redaction import redact

LONGEST = 2_000  # characters of one part; what is shown is shorter still

_TEXTS = tuple(one.name for one in fields(Lesson) if one.type == "str")
_NUMBERS = tuple(one.name for one in fields(Lesson) if one.type in ("float", "int"))


def plain(text: str) -> str:
    """Text that every store can hold: no NUL, no half of a character pair."""
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")


def cleaned(lesson: Lesson) -> Lesson:
    """The lesson as it may be kept: redacted, bounded, with a reward of −1…1 and no time that is none."""
    row = dict(redact(lesson.to_json()))
    for name in _TEXTS:
        row[name] = plain(str(row[name]))[:LONGEST]
    for name in _NUMBERS:
        row[name] = row[name] if math.isfinite(row[name]) else 0
    row["reward"] = max(-1.0, min(1.0, float(row["reward"])))
    return Lesson(**row)


def lesson_of(row: Mapping[str, Any]) -> Lesson | None:
    """A row as a lesson; None for one that is none. Rows from before a field existed have its default."""
    known = {one.name: one.type for one in fields(Lesson)}
    kinds: dict[Any, Any] = {"str": str, "float": (int, float), "int": int, "bool": bool}
    found = {name: row[name] for name in known if name in row}
    if not all(isinstance(value, kinds[known[name]]) for name, value in found.items()):
        return None
    if not all(math.isfinite(found[name]) for name in _NUMBERS if name in found):
        return None
    try:
        return Lesson(**found)
    except TypeError:
        return None
