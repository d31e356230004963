"""aiswe export: what runs leave that other programs can use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from aiswe_site.cli import arguments
from aiswe_site.startup import django
from aiswe_site.terminal import output
from aiswe_site.terminal.operator import acting_user
from aiswe_site.terminal.problems import CliError, WrongUse

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.db.models import QuerySet

    from projects.models import Run


@click.group()
def command() -> None:
    """Take away what runs leave, for other programs."""


@command.command()
@click.argument("run", type=int, required=False)
@click.option("--all", "everything", is_flag=True, help="All builds in projects where you have permission.")
@click.option("--project", "slug", metavar="PROJECT", help="All builds of a project; with events all its runs.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["sft", "dpo", "grpo", "events"]),
    required=True,
    help="sft: chats that passed; dpo: a better and a worse reply; grpo: every reply with its reward; events: "
    "all prompts, replies, test results and verdicts of every persona.",
)
@click.option(
    "--output", "-o", "target", type=click.Path(dir_okay=False, path_type=Path), help="File to write instead of stdout."
)
@arguments.as_option
@output.json_option
def trajectories(
    run: int | None, everything: bool, slug: str | None, form: str, target: Path | None, user: str
) -> None:
    """Print the coder's rewarded attempts as chats to fine-tune a model on, one JSON line each, as TRL reads them.

    The format events is the whole trajectory instead: one line for each event, with its texts.
    Secrets are removed. You need the right audit.export. With --json: one array.
    """
    if [run is not None, everything, slug is not None].count(True) != 1:
        hint = "`aiswe export trajectories RUN`, `--project PROJECT` or `--all`."
        raise WrongUse("Name one run, one project, or all of them.", hint)
    django.start()
    from projects.errors import NotAllowed
    from projects.models import Run
    from projects.services.insight.trajectories import export_trajectories

    who = acting_user(user)
    try:
        if slug is not None:
            runs = list(_runs(form).filter(project=arguments.project(slug)))
        else:
            runs = _allowed(who, form) if run is None else [arguments.row(Run, run, "run")]
        lines = export_trajectories(runs, form, by=who)
    except NotAllowed as refusal:
        hint = "Name someone with permission using --as; `aiswe config admin NAME` creates an administrator."
        raise CliError(str(refusal), hint) from refusal
    text = "[\n" + ",\n".join(lines) + "\n]\n" if output.wants_json() else "\n".join(lines) + "\n"
    if target is None:
        click.echo(text, nl=False)
    else:
        try:
            target.write_text(text, encoding="utf-8")
        except OSError as wrong:
            raise WrongUse(
                f"{target} cannot be written: {wrong.strerror}.", "Choose a file in an existing folder."
            ) from wrong
    recorded = [one.pk for one in runs if one.recording]
    output.note(f"{len(lines)} lines, {form}." + (f" In {target}." if target else ""))
    if recorded:
        names = ", ".join(map(str, recorded[:10]))
        output.note(f"The words of run {names} are recorded, not written by a model: its lines have recording: true.")


def _runs(form: str) -> QuerySet[Run]:
    """What a format is made of: training data of builds, events of planning too."""
    from projects.models import Run

    runs = Run.objects.select_related("project").order_by("pk")
    return runs if form == "events" else runs.filter(kind=Run.Kind.BUILD)


def _allowed(who: User, form: str) -> list[Run]:
    """The runs that this person may take away."""
    from projects.errors import NotAllowed
    from projects.services.accounts.rights import can, roles_that_may
    from projects.services.insight.trajectories import RIGHT

    every = list(_runs(form))
    allowed = [run for run in every if can(who, run.project, RIGHT)]
    if every and not allowed:
        raise NotAllowed(
            f"Your roles do not include {RIGHT} in any project. Who may: {', '.join(roles_that_may(RIGHT))}."
        )
    return allowed
