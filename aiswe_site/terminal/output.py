"""Answers: Rich for people or one JSON document for programs on stdout, remarks on stderr."""

from __future__ import annotations

import json
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from aiswe_site.terminal.problems import NO

_JSON = "aiswe.json"  # where the context of a command keeps whether --json was given


def _keep(context: click.Context, option: click.Parameter, chosen: bool) -> None:
    context.meta[_JSON] = chosen


json_option = click.option(
    "--json", "as_json", is_flag=True, expose_value=False, callback=_keep, help="Print one JSON document on stdout."
)


def wants_json() -> bool:
    """Whether the command that runs was given --json."""
    return bool(click.get_current_context().meta.get(_JSON))


def print_json(document: Any) -> None:
    """The one JSON document of a command."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n")
    sys.stdout.flush()


def answer(document: Any, people: str | Callable[[], None], *, ok: bool = True) -> int:
    """Print the document, or for a reader what `people` says or prints; returns the exit code."""
    if wants_json():
        print_json(document)
    elif isinstance(people, str):
        say(people)
    else:
        people()
    return 0 if ok else NO


def table(
    columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str = "", nothing: str = "Nothing."
) -> None:
    """A table of plain text, or `nothing` when it has no rows."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if not rows:
        say(nothing)
        return
    grid = Table(title=title or None, box=box.SIMPLE_HEAD, title_justify="left")
    for place, column in enumerate(columns):
        grid.add_column(column, overflow="fold", no_wrap=place == 0)  # the first one names the row: it can be copied
    for row in rows:
        grid.add_row(*[Text(clean(str(cell))) for cell in row])
    Console(markup=False, highlight=False, emoji=False).print(grid)


Column = str | Callable[[Any], object]


def records(rows: Sequence[Any], columns: Mapping[str, Column], *, nothing: str = "Nothing.") -> None:
    """A table of documents: each column shows what is under a key, or what a function makes of the document."""
    show = [operator.itemgetter(column) if isinstance(column, str) else column for column in columns.values()]
    table([*columns], [[column(row) for column in show] for row in rows], nothing=nothing)


def pairs(values: Mapping[str, object]) -> None:
    """Names and values, one a line."""
    width = max((len(name) for name in values), default=0)
    for name, value in values.items():
        say(f"{name:<{width}}  {value}")


def say(text: str = "") -> None:
    """A line of the answer, on stdout."""
    click.echo(clean(text))


def note(text: str) -> None:
    """A remark, on stderr."""
    click.echo(clean(text), err=True)


def complain(message: str, hint: str = "") -> None:
    """An error and the way out, on stderr."""
    click.echo(click.style("✕ ", fg="red") + clean(message), err=True)
    if hint:
        click.echo(f"  → {clean(hint)}", err=True)


def clean(text: str) -> str:
    """Text without control characters: what a repository or a model says must not steer the terminal."""
    return "".join(c if c in "\n\t" or (c.isprintable()) else "\N{REPLACEMENT CHARACTER}" for c in text)
