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
import pytest_timeout


def each_row(
    names: str | Sequence[str], rows: Iterable[Any], ids: Callable[[Any], object] | Iterable[object] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Take what `pytest.mark.parametrize` takes, and make one test of it.

    Each row has a `tmp_path`, a `monkeypatch` and a time limit of its own; other fixtures are shared by all rows. A row
    cannot have marks, and a table not be empty: ValueError.
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
        fixtures = [asked[name] for name in asked if name not in (*arguments, "request")]

        @functools.wraps(function)
        def test(*instance: Any, subtests: pytest.Subtests, request: pytest.FixtureRequest, **made: Any) -> None:
            if "request" in asked:
                made["request"] = request
            for number, (label, values) in enumerate(table):
                _restart_time_limit(request.node)
                with subtests.test(label, **({} if label else values)), ExitStack() as row:
                    own = dict(made)
                    if "monkeypatch" in own:
                        own["monkeypatch"] = row.enter_context(pytest.MonkeyPatch.context())
                    if "tmp_path" in own:
                        own["tmp_path"] = _folder(made["tmp_path"], number)
                    function(*instance, **own, **values)

        own = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in ("subtests", "request")]
        test.__signature__ = inspect.Signature([*fixtures, *own])  # type: ignore[attr-defined]
        return test

    return decorate


def _restart_time_limit(item: pytest.Item) -> None:
    """Give a row the time limit of a test: a row that fails ends the limit for the rows after it."""
    hooks = item.config.pluginmanager.hook
    hooks.pytest_timeout_cancel_timer(item=item)
    settings = pytest_timeout._get_item_settings(item)
    if settings.timeout:
        hooks.pytest_timeout_set_timer(item=item, settings=settings)


def _folder(folder: Path, number: int) -> Path:
    made = folder / f"row-{number}"
    made.mkdir()
    return made
