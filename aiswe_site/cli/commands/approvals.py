"""aiswe approvals: the questions that wait for a person, and their answers."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from typing import TYPE_CHECKING, Any

import click

from aiswe_site.cli import django, documents, output
from aiswe_site.cli.problems import WrongUse

if TYPE_CHECKING:
    from projects.models import Approval


QUESTION = django.numbered("Approval", "question", "`aiswe approvals list --all` lists them.")
FIELDS = (
    "approval=pk kind project=project.slug run=run_id task=task.key title subject status why on_yes on_no payload"
    " reason decided_by requested_at decided_at"
)


def details(approval: Approval) -> Iterator[str]:
    """What the question is about, beyond its words: changed tests as differences, lists by line."""
    for name, value in approval.payload.items():
        if name == "reasons" and all(str(reason) in approval.why for reason in value):
            continue
        if name == "changes":
            for row in value:
                yield f"\n{row['path']}: {row['test']}"
                pair = (row["old"].splitlines(), row["new"].splitlines())
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


@click.group("approvals")
def command() -> None:
    """List, show and answer the questions that wait for a person."""


def document_of(approval: Approval) -> dict[str, Any]:
    """An approval as data."""
    found = output.fields(approval, FIELDS)
    return {**found, "decided_by": approval.decided_by.get_username() if approval.decided_by else None}


def say(approval: Approval) -> None:
    """The question as a person reads it."""
    run, task = f"run {approval.run_id}" if approval.run_id else "", approval.task.key if approval.task else ""
    place = " · ".join(part for part in (approval.project.name, run, task) if part)
    output.say(f"{approval.title}\n{place} · {approval.get_kind_display().lower()}")
    if approval.why:
        output.say(f"\n{approval.why}\n")
    if approval.on_yes:
        output.say(f"yes: {approval.on_yes}")
    if approval.on_no:
        output.say(f"no:  {approval.on_no}")


@command.command("list")
@django.project_option
@click.option("--all", "everything", is_flag=True, help="Answered and closed ones too.")
@django.as_option
@output.json_option
def list_(slug: str, everything: bool, user: str) -> None:
    """List the questions that the user may answer, oldest first, and the documents they may confirm."""
    django.start()
    from projects.models import Approval
    from projects.services.work import approvals

    by = django.acting_user(user)
    rows, waiting = approvals.pending_for(by), approvals.unconfirmed_for(by)
    if everything:
        rows = Approval.objects.order_by("requested_at").select_related("project", "run", "task")
    if slug:
        project = django.project(slug)
        rows, waiting = rows.filter(project=project), [run for run in waiting if run.project == project]
    found = [document_of(row) for row in rows.select_related("decided_by")]
    columns: dict[str, output.Column] = {
        "ID": "approval",
        "Kind": "kind",
        "Project": "project",
        "Task": lambda row: row["task"] or "–",
        "Question": "title",
    }
    if everything:
        columns["Status"] = "status"

    def people() -> None:
        if found or not waiting:
            output.records(found, columns, nothing="Nothing waits for an answer.")
        for run in waiting:
            output.say(f"Run {run.pk} of {run.project.name}, {run.document}: {run.why}\n{documents.next_step(run)}")

    output.answer(found, people)


@command.command()
@click.argument("approval", metavar="ID", type=QUESTION)
@output.json_option
def show(approval: Approval) -> None:
    """Show the question ID with everything it is about, and its answer if there is one."""

    def people() -> None:
        say(approval)
        for line in details(approval):
            output.say(line)
        if approval.status == "pending":
            output.say(f"\nAnswer: aiswe approvals answer {approval.pk} yes|no [--reason TEXT]")
        else:
            by = f" by {approval.decided_by.get_username()}" if approval.decided_by else ""
            output.say(f"\n{approval.get_status_display()}{by}" + (f": {approval.reason}" if approval.reason else ""))

    output.answer(document_of(approval), people)


@command.command()
@click.argument("approval", metavar="ID", type=QUESTION)
@click.argument("word", metavar="yes|no", type=click.Choice(["yes", "no", "y", "n"], case_sensitive=False))
@click.option("--reason", default="", metavar="TEXT", help="Why; a no needs it. The agents and the trail get it.")
@django.as_option
@output.json_option
def answer(approval: Approval, word: str, reason: str, user: str) -> None:
    """Answer the question ID. Exit code 1 when it was answered before or what it was about has changed."""
    yes = word.lower().startswith("y")
    if not yes and not reason.strip():
        raise WrongUse("A no needs a reason.", f'Give it: `aiswe approvals answer {approval.pk} no --reason "…"`.')
    from projects.services.work import approvals

    found = approvals.decide(approval, by=django.acting_user(user), yes=yes, reason=reason)
    words = f"{found.get_status_display()}: {found.title}"
    plan = found.project.plans.filter(status="approved").first() if found.kind == "plan" and yes else None
    output.answer(document_of(found), f"{words}\nNext: aiswe run start {plan.pk}" if plan else words)
    django.tell_worker()
