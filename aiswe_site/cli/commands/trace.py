"""aiswe trace: each requirement with what answers to it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from aiswe_site.cli import arguments
from aiswe_site.terminal import output
from aiswe_site.terminal.problems import WrongUse

if TYPE_CHECKING:
    from projects.models import Project


@click.command()
@click.argument("project", type=arguments.named_project)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV on stdout, with every line, test and decision.")
@output.json_option
def command(project: Project, as_csv: bool) -> int:
    """Trace each requirement of PROJECT (its short name) to its tasks, code, tests, findings and commits, gaps first.

    Code that no requirement asks for follows. Exit code 1 when there is a gap.
    """
    from projects.services.delivery import trace

    if as_csv and output.wants_json():
        raise WrongUse("Choose one of --csv and --json.", f"`aiswe trace {project.slug} --csv`.")
    found = trace.trace(project)
    ok = not found.counts[trace.GAP]
    if as_csv:
        sys.stdout.write(trace.as_csv(found))
        return output.answer({}, lambda: None, ok=ok)
    rows = trace.records(found)

    def people() -> None:
        columns: dict[str, output.Column] = {
            "Requirement": "requirement",
            "State": "state",
            "Missing": "missing",
            "Tasks": lambda row: ", ".join(key.partition(" ")[0] for key in row["tasks"]),
            "Code": lambda row: f"{row['code'][0]}{' …' * (len(row['code']) > 1)}" if row["code"] else "",
            "Tests": lambda row: len(row.get("tests", ())) or "",
            "Commits": lambda row: " ".join(sha[:10] for sha in row["commits"]),
        }
        output.records(rows, columns, nothing="No requirements yet.")
        if found.note:
            output.note(found.note)

    return output.answer({"project": project.slug, "at": found.at, "rows": rows}, people, ok=ok)
