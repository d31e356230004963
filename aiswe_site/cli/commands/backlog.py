"""aiswe backlog: list, add, assign."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aiswe_site.cli import arguments
from aiswe_site.terminal import output
from aiswe_site.terminal.operator import acting_user
from aiswe_site.terminal.problems import WrongUse
from aiswe_site.verbs.fields import fields

if TYPE_CHECKING:
    from projects.models import BacklogItem, Project

MOST_BYTES = 1_000_000


@click.group()
def command() -> None:
    """List, add and assign the tickets that the agents work on by themselves."""


def _row(item: BacklogItem) -> dict[str, Any]:
    from projects.services.backlog.forecast import progress_of

    stands = progress_of(item)
    found = fields(item, "key title link minutes autonomy source assigned=assigned_at")
    return found | {"state": str(stands.state), "run": stands.run.pk if stands.run else None, "why": stands.why}


@command.command("list")
@click.argument("project", type=arguments.named_project)
@output.json_option
def list_(project: Project) -> int:
    """List the tickets of PROJECT in order, and say what the agents get done next."""
    from django.utils import timezone

    from dashboard.presenters.night import headline
    from projects.services.backlog.forecast import simulate
    from projects.services.backlog.items import open_items

    items = [_row(item) for item in open_items(project).select_related("document", "project")]
    title, sentence = headline(simulate(project, timezone.now()), len(items))
    return say_all({"headline": title, "sentence": sentence, "items": items})


def say_all(document: dict[str, Any]) -> int:
    """Answer with a backlog."""

    def people() -> None:
        output.say(f"{document['headline']}. {document['sentence']}".strip())
        columns: dict[str, output.Column] = {name.capitalize(): name for name in ("key", "title", "minutes", "state")}
        output.records(document["items"], {**columns, "Run": "run"}, nothing="Add tickets with `aiswe backlog add`.")

    return output.answer(document, people)


@command.command()
@click.argument("project", type=arguments.named_project)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
@arguments.as_option
@output.json_option
def add(project: Project, file: Path, user: str) -> int:
    """Add the tickets in FILE to PROJECT: one per line, blocks with an empty line between them, or a .csv.

    With - as FILE they are read from stdin.
    """
    from projects.services.backlog import items
    from projects.values.wording import counted

    data = sys.stdin.buffer.read(MOST_BYTES + 1) if str(file) == "-" else file.read_bytes()
    if len(data) > MOST_BYTES:
        raise WrongUse(f"{file} is larger than {MOST_BYTES // 1_000_000} MB.", "Split it.")
    is_csv = file.suffix.lower() == ".csv"
    given = items.from_csv(data) if is_csv else items.from_text(data.decode("utf-8", "replace"))
    added = items.add(project, given, by=acting_user(user), source="command")
    words = f"{counted(len(added), 'ticket')} added or changed: {', '.join(item.key for item in added[:20])}"
    return output.answer([_row(item) for item in added], words)


@command.command("import")
@click.argument("project", type=arguments.named_project)
@click.option("--from", "where", required=True, metavar="URL", help="A site of Jira Cloud, or a repository on a forge.")
@click.option(
    "--query", "--jql", default="", help="JQL for Jira; for a forge its labels and state; there all open ones."
)
@arguments.as_option
@output.json_option
def import_(project: Project, where: str, query: str, user: str) -> int:
    """Put the tickets that a query finds into the backlog of PROJECT (its short name).

    A ticket that is there takes the new words; one that is closed, done, left out or begun stays as it is.
    """
    from projects.services.forges.tickets import import_tickets
    from projects.values.wording import counted

    found = import_tickets(project, where, query, by=acting_user(user))
    words = (
        f"{counted(len(found.items), 'ticket')} added or renewed: {', '.join(item.key for item in found.items[:20])}"
    )
    words += f"\nLeft as they are: {', '.join(found.left[:20])}" if found.left else ""
    return output.answer({"items": [_row(item) for item in found.items], "left": found.left}, words)


@command.command()
@click.argument("project", type=arguments.named_project)
@click.argument("keys", nargs=-1, required=True)
@click.option("--minutes", default="", metavar="ESTIMATE", help="Also estimate them: minutes, or like 1h30.")
@arguments.as_option
@output.json_option
def assign(project: Project, keys: tuple[str, ...], minutes: str, user: str) -> int:
    """Assign the tickets KEYS of PROJECT to the agents."""
    from projects.services.backlog import items

    by, rows = acting_user(user), items.open_items(project).filter(key__in=keys)
    if missing := sorted(set(keys) - set(rows.values_list("key", flat=True))):
        raise WrongUse(f"There is no open ticket {missing[0]!r}.", f"`aiswe backlog list {project.slug}` lists them.")
    pks = list(rows.values_list("pk", flat=True))
    if minutes:
        items.change(project, pks, by=by, do="estimate", value=minutes)
    changed = items.change(project, pks, by=by, do="assign")
    arguments.tell_worker()
    return output.answer([_row(item) for item in changed], f"Assigned: {', '.join(item.key for item in changed)}")
