"""Answers: Rich for people or one JSON document for programs on stdout, remarks on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")


def print_json(document: Any) -> None:
    """The one JSON document of a command."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n")
    sys.stdout.flush()


def answer(document: Any, *, as_json: bool, people: Callable[[], None]) -> None:
    """Print the document, or let `people` print it for a reader."""
    if as_json:
        print_json(document)
    else:
        people()


def console() -> Console:
    """Rich on stdout; text from files and models is never read as markup (`markup=False`)."""
    from rich.console import Console

    return Console(markup=False, highlight=False, soft_wrap=True, emoji=False)


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
    for column in columns:
        grid.add_column(column, overflow="fold")
    for row in rows:
        grid.add_row(*[Text(clean(str(cell))) for cell in row])
    Console(markup=False, highlight=False, emoji=False).print(grid)


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
