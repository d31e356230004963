"""aiswe approvals: the questions that wait for a person, and their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from aiswe_site.cli import arguments, documents, questions
from aiswe_site.startup import django
from aiswe_site.terminal import output
from aiswe_site.terminal.operator import acting_user
from aiswe_site.terminal.problems import WrongUse

if TYPE_CHECKING:
    from projects.models import Approval


QUESTION = arguments.numbered("Approval", "question", "`aiswe approvals list --all` lists them.")


@click.group("approvals")
def command() -> None:
    """List, show and answer the questions that wait for a person."""


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
    found = [questions.document_of(row) for row in rows.select_related("decided_by")]

    def people() -> None:
        if found or not waiting:
            questions.say_all(found, everything=everything)
        for run in waiting:
            output.say(f"Run {run.pk} of {run.project.name}, {run.document}: {run.why}\n{documents.next_step(run)}")

    output.answer(found, people)


@command.command()
@click.argument("approval", metavar="ID", type=QUESTION)
@output.json_option
def show(approval: Approval) -> None:
    """Show the question ID with everything it is about, and its answer if there is one."""
    row, kind = questions.document_of(approval), approval.get_kind_display().lower()
    output.answer(row, lambda: questions.say_whole(row, approval.project.name, kind, approval.get_status_display()))


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
    output.answer(questions.document_of(found), f"{words}\nNext: aiswe run start {plan.pk}" if plan else words)
    arguments.tell_worker()
