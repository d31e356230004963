"""One text for one value: what is hashed must come out of every database as it went in."""

from __future__ import annotations

import hashlib
import json
import math
from datetime import UTC, date, datetime
from typing import Any

GENESIS = "0" * 64  # what the first row of a chain names as the hash before it
MAX_STRING = 65_536  # characters of one string in a payload; longer content belongs in a blob
MAX_DEPTH = 24
MAX_DIGITS = 300  # of an integer; Python refuses to print very long ones


def clean_text(text: str, limit: int | None = None) -> str:
    """`text` as both databases can hold it: no NUL, no lone surrogate, at most `limit` characters."""
    if "\x00" in text:
        text = text.replace("\x00", "\N{REPLACEMENT CHARACTER}")
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    if limit is not None and len(text) > limit:
        return text[: limit - 1] + "…"
    return text


def clean_line(text: str, limit: int) -> str:
    """`text` on one line of at most `limit` characters."""
    return clean_text(" ".join(text.split()), limit)


def clean_json(value: Any, depth: int = 0) -> Any:
    """`value` as plain JSON data that SQLite and PostgreSQL give back unchanged.

    Whole floats become integers because PostgreSQL's jsonb forgets the difference in large ones; not-a-number and
    infinity become words; foreign objects become their text.
    """
    if depth > MAX_DEPTH:
        return "[nested too deeply]"
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean_text(str(value), MAX_STRING)
    if isinstance(value, int):
        return int(value) if abs(value) < 10**MAX_DIGITS else "[number too long]"
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        return int(value) if value.is_integer() else value
    if isinstance(value, dict):
        return {clean_text(str(name), 200): clean_json(item, depth + 1) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean_json(item, depth + 1) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((clean_json(item, depth + 1) for item in value), key=str)
    if isinstance(value, datetime):
        return iso(value)
    return clean_text(str(value), MAX_STRING)


def iso(moment: datetime | date) -> str:
    """UTC with microseconds, always: 2026-01-02T03:04:05.000006Z. A naive time is taken as UTC."""
    if not isinstance(moment, datetime):
        return moment.isoformat()
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def canonical_json(value: Any) -> str:
    """Sorted keys, no spaces, ASCII only: the same bytes on every machine. `value` is what clean_json() gave."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def link(before: str, columns: Any) -> str:
    """The hash of a row of a chain: sha256 over the hash before it and the canonical JSON of its columns."""
    return hashlib.sha256((before + canonical_json(columns)).encode()).hexdigest()
