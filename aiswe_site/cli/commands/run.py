"""aiswe run: start, watch, steer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from aiswe_site.cli import django, options, output
from aiswe_site.cli.problems import NO

if TYPE_CHECKING:
    from projects.models import Run

LOOK_S = 0.5


@click.group()
def command() -> None:
    """Start, watch and steer runs."""


@command.command()
@click.argument("plan", type=int)
@options.as_option
@output.json_option
def start(plan: int, user: str, as_json: bool) -> None:
    """Build the approved plan PLAN."""
    django.start()
    from projects.models import Plan
    from projects.services.work import runs

    run = runs.start_build(django.row(Plan, plan, "plan"), by=django.acting_user(user))
    _say(run, as_json, f"Next: aiswe run watch {run.pk}")
    options.tell_worker()


@command.command()
@click.argument("run", type=int)
@click.option("--after", default=0, type=click.IntRange(0), help="Leave out events up to this number.")
@output.json_option
def watch(run: int, after: int, as_json: bool) -> int:
    """Show what run RUN does until it ends or needs a person; exit code 1 unless it finished.

    With --json the document comes at the end and the events go to stderr.
    """
    django.start()
    from projects.models import Run
    from projects.services.audit.events import events_after

    current = django.row(Run, run, "run")
    tell = output.note if as_json else output.say
    while True:
        current.refresh_from_db()
        for event in events_after(current.pk, after):
            after = event.seq
            task = event.task.key if event.task else ""
            tell(f"{event.seq:>5} {event.at:%H:%M:%S} {task:<6} {event.role:<9} {event.type:<18} {event.summary}")
        if current.status in (*Run.OVER, Run.Status.NEEDS_YOU) and after >= current.last_seq:
            break
        time.sleep(LOOK_S)
    _say(current, as_json, current.why)
    return 0 if current.status == Run.Status.FINISHED else NO


@command.command()
@click.argument("run", type=int)
@options.as_option
@output.json_option
def resume(run: int, user: str, as_json: bool) -> None:
    """Go on with a paused or failed run, where it stopped."""
    _steer("resume_run", run, user, as_json)


@command.command()
@click.argument("run", type=int)
@options.as_option
@output.json_option
def pause(run: int, user: str, as_json: bool) -> None:
    """Stop run RUN after the step in hand; `resume` goes on there."""
    _steer("pause_run", run, user, as_json)


@command.command()
@click.argument("run", type=int)
@options.as_option
@output.json_option
def cancel(run: int, user: str, as_json: bool) -> None:
    """End run RUN for good; what was merged stays."""
    _steer("cancel_run", run, user, as_json)


def _steer(verb: str, key: int, user: str, as_json: bool) -> None:
    django.start()
    from projects.models import Run
    from projects.services.work import runs

    by = django.acting_user(user)
    run = django.row(Run, key, "run")
    change: Callable[..., object] = getattr(runs, verb)
    change(run, by=by)
    run.refresh_from_db()
    _say(run, as_json)
    if verb == "resume_run":
        options.tell_worker()


def _say(run: Run, as_json: bool, more: str = "") -> None:
    from projects.services.work import runs

    document: dict[str, Any] = {
        "run": run.pk,
        "kind": run.kind,
        "project": run.project.slug,
        "status": run.status,
        "why": run.why,
        "recording": run.recording,
        "events": run.last_seq,
        **runs.totals(run),
    }

    def people() -> None:
        output.say(f"Run {run.pk} of {run.project.name}: {run.get_status_display().lower()}")
        if more:
            output.say(more)

    output.answer(document, as_json=as_json, people=people)
