"""aiswe history: what ran."""

from __future__ import annotations

from typing import Any

import click

from aiswe_site.startup import django
from aiswe_site.terminal import output
from aiswe_site.verbs.fields import fields

FIELDS = (
    "run=pk kind project=project.slug status why recording plan=plan_id tasks=all merged=done events=last_seq"
    " created_at finished_at"
)
COLUMNS: dict[str, output.Column] = {
    "Run": "run",
    "Project": "project",
    "Kind": lambda row: row["kind"] + (" (recording)" if row["recording"] else ""),
    "Status": lambda row: row["status"] + (f", {row['left_out']} left out" if row["left_out"] else ""),
    "Merged": lambda row: f"{row['merged']}/{row['tasks']}" if row["tasks"] else "–",
    "Events": "events",
    "Why": "why",
}


@click.command()
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1000), help="How many, newest first.")
@output.json_option
def command(limit: int) -> None:
    """List runs, newest first."""
    django.start()
    from dashboard.access.visibility import counted
    from projects.models import Run

    # A query that counts has no order of its own.
    runs = counted(Run.objects.select_related("project")).order_by("-pk")[:limit]
    document = [fields(run, FIELDS) for run in runs]
    for row in document:
        is_build = (row["kind"], row["status"]) == (Run.Kind.BUILD, Run.Status.FINISHED)
        row["left_out"] = row["tasks"] - row["merged"] if is_build else 0
    say(document)


def say(document: list[dict[str, Any]]) -> int:
    """Answer with these runs."""
    nothing = "No runs yet. `aiswe demo` shows one."
    return output.answer(document, lambda: output.records(document, COLUMNS, nothing=nothing))
