"""Rows of the database as documents, by the names of their fields."""

from __future__ import annotations

from functools import reduce
from typing import Any


def fields(row: Any, names: str) -> dict[str, Any]:
    """A row as a document: its attributes by name, `name=attribute` where that is another one.

    An attribute may lead through other rows (`task.key`), and is None where one of them is.
    """
    pairs = (word.partition("=") for word in names.split())
    return {name: reduce(_attribute, (path or name).split("."), row) for name, _, path in pairs}


def _attribute(row: Any, name: str) -> Any:
    return None if row is None else getattr(row, name)
