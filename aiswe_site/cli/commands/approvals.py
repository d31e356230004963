"""aiswe approvals: the questions that wait for a person, and their answers."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from typing import TYPE_CHECKING, Any

import click

from aiswe_site.cli import arguments, documents
from aiswe_site.startup import django
from aiswe_site.terminal import output
from aiswe_site.terminal.operator import acting_user
from aiswe_site.terminal.problems import WrongUse
from aiswe_site.verbs.fields import fields

if TYPE_CHECKING:
    from projects.models import Approval


QUESTION = arguments.numbered("Approval", "question", "`aiswe approvals list --all` lists them.")
FIELDS = (
    "approval=pk kind project=project.slug run=run_id task=task.key title subject status why on_yes on_no payload"
    " reason decided_by requested_at decided_at"
)
COLUMNS: dict[str, output.Column] = {
    "ID": "approval",
    "Kind": "kind",
    "Project": "project",
    "Task": lambda row: row["task"] or "–",
    "Question": "title",
}


def details(row: dict[str, Any]) -> Iterator[str]:
    """What the question is about, beyond its words: changed tests as differences, lists by line."""
    for name, value in row["payload"].items():
        if name == "reasons" and all(str(reason) in row["why"] for reason in value):
            continue
        if name == "changes":
            for one in value:
                yield f"\n{one['path']}: {one['test']}"
                pair = (one["old"].splitlines(), one["new"].splitlines())
                yield from list(unified_diff(*pair, n=2, lineterm=""))[2:]
        elif isinstance(value, list):
            yield f"  {name}:"
            yield from (f"    {one}" for one in value)
        elif isinstance(value, dict):
            yield f"  {name}:"
            yield from (f"    {key}: {_in_words(one)}" for key, one in value.items())
        else:
            yield f"  {name}: {value}"


def _in_words(value: Any) -> str:
    """Nested data on one line, without what is empty."""
    if isinstance(value, dict):
        return ", ".join(
            f"{key.replace('_', ' ')} {_in_words(one)}" for key, one in value.items() if one not in ("", [])
        )
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def say_all(rows: list[dict[str, Any]], *, everything: bool) -> None:
    """Questions as a table; with `everything` also what became of them."""
    columns = COLUMNS | ({"Status": "status"} if everything else {})
    output.records(rows, columns, nothing="Nothing waits for an answer.")


@click.group("approvals")
def command() -> None:
    """List, show and answer the questions that wait for a person."""


def document_of(approval: Approval) -> dict[str, Any]:
    """An approval as data."""
    found = fields(approval, FIELDS)
    return {**found, "decided_by": approval.decided_by.get_username() if approval.decided_by else None}


def say(approval: Approval) -> None:
    """The question as a person reads it."""
    say_row(document_of(approval), approval.project.name, approval.get_kind_display().lower())


def say_row(row: dict[str, Any], project: str, kind: str) -> None:
    """The same from its data."""
    place = " · ".join(part for part in (project, f"run {row['run']}" if row["run"] else "", row["task"]) if part)
    output.say(f"{row['title']}\n{place} · {kind}")
    if row["why"]:
        output.say(f"\n{row['why']}\n")
    if row["on_yes"]:
        output.say(f"yes: {row['on_yes']}")
    if row["on_no"]:
        output.say(f"no:  {row['on_no']}")


def say_whole(row: dict[str, Any], project: str, kind: str, status: str) -> None:
    """A question with everything it is about, and its answer if there is one."""
    say_row(row, project, kind)
    for line in details(row):
        output.say(line)
    if row["status"] == "pending":
        output.say(f"\nAnswer: aiswe approvals answer {row['approval']} yes|no [--reason TEXT]")
    else:
        by = f" by {row['decided_by']}" if row["decided_by"] else ""
        output.say(f"\n{status}{by}" + (f": {row['reason']}" if row["reason"] else ""))


@command.command("list")
@arguments.project_option
@click.option("--all", "everything", is_flag=True, help="Answered and closed ones too.")
@arguments.as_option
@output.json_option
def list_(slug: str, everything: bool, user: str) -> None:
    """List the questions that the user may answer, oldest first, and the documents they may confirm."""
    django.start()
    from projects.models import Approval
    from projects.services.decisions import approvals

    by = acting_user(user)
    rows, waiting = approvals.pending_for(by), approvals.unconfirmed_for(by)
    if everything:
        rows = Approval.objects.order_by("requested_at").select_related("project", "run", "task")
    if slug:
        project = arguments.project(slug)
        rows, waiting = rows.filter(project=project), [run for run in waiting if run.project == project]
    found = [document_of(row) for row in rows.select_related("decided_by")]

    def people() -> None:
        if found or not waiting:
            say_all(found, everything=everything)
        for run in waiting:
            output.say(f"Run {run.pk} of {run.project.name}, {run.document}: {run.why}\n{documents.next_step(run)}")

    output.answer(found, people)


@command.command()
@click.argument("approval", metavar="ID", type=QUESTION)
@output.json_option
def show(approval: Approval) -> None:
    """Show the question ID with everything it is about, and its answer if there is one."""
    row, kind = document_of(approval), approval.get_kind_display().lower()
    output.answer(row, lambda: say_whole(row, approval.project.name, kind, approval.get_status_display()))


@command.command()
@click.argument("approval", metavar="ID", type=QUESTION)
@click.argument("word", metavar="yes|no", type=click.Choice(["yes", "no", "y", "n"], case_sensitive=False))
@click.option("--reason", default="", metavar="TEXT", help="Why; a no needs it. The agents and the trail get it.")
@arguments.as_option
@output.json_option
def answer(approval: Approval, word: str, reason: str, user: str) -> None:
    """Answer the question ID. Exit code 1 when it was answered before or what it was about has changed."""
    yes = word.lower().startswith("y")
    if not yes and not reason.strip() and approval.kind != "chat":
        raise WrongUse("A no needs a reason.", f'Give it: `aiswe approvals answer {approval.pk} no --reason "…"`.')
    from projects.services.decisions import approvals

    found = approvals.decide(approval, by=acting_user(user), yes=yes, reason=reason)
    words = f"{found.get_status_display()}: {found.title}"
    plan = found.project.plans.filter(status="approved").first() if found.kind == "plan" and yes else None
    output.answer(document_of(found), f"{words}\nNext: aiswe run start {plan.pk}" if plan else words)
    arguments.tell_worker()
