"""Tables of examples: one test for a table, one subtest for a row.

A row that fails is named, and the rows after it are still tried. As parameters, rows would be tests of their own:
thousands of them, each with fixtures of its own.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest


def each_row(
    names: str | Sequence[str], rows: Iterable[Any], ids: Callable[[Any], object] | Iterable[object] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Take what `pytest.mark.parametrize` takes, and make one test of it.

    Each row has a `tmp_path` and a `monkeypatch` of its own; other fixtures are shared by all rows. A row cannot have
    marks, and a table not be empty: ValueError.
    """
    alone = isinstance(names, str) and "," not in names
    arguments = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    labels = None if ids is None or callable(ids) else list(ids)
    table: list[tuple[str | None, dict[str, Any]]] = []
    for number, row in enumerate(rows):
        label = None if labels is None else str(labels[number])
        if isinstance(row, type(pytest.param())):
            if row.marks:
                raise ValueError("a row with marks is a test of its own")
            values: Sequence[Any] = row.values
            label = label if row.id is None else str(row.id)
        else:
            values = (row,) if alone else tuple(row)
        if callable(ids):
            label = "-".join(str(ids(value)) for value in values)
        table.append((label, dict(zip(arguments, values, strict=True))))
    if not table:
        raise ValueError("a table without rows tests nothing")

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        asked = inspect.signature(function).parameters
        fixtures = [asked[name] for name in asked if name not in arguments]

        @functools.wraps(function)
        def test(*instance: Any, subtests: pytest.Subtests, **made: Any) -> None:
            for number, (label, values) in enumerate(table):
                with subtests.test(label, **({} if label else values)), ExitStack() as row:
                    own = dict(made)
                    if "monkeypatch" in own:
                        own["monkeypatch"] = row.enter_context(pytest.MonkeyPatch.context())
                    if "tmp_path" in own:
                        own["tmp_path"] = _folder(made["tmp_path"], number)
                    function(*instance, **own, **values)

        subtests = inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY)
        test.__signature__ = inspect.Signature([*fixtures, subtests])  # type: ignore[attr-defined]
        return test

    return decorate


def _folder(folder: Path, number: int) -> Path:
    made = folder / f"row-{number}"
    made.mkdir()
    return made
