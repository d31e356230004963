"""aiswe run: start, watch, steer."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from aiswe_site.cli import django, output, watching
from aiswe_site.cli.problems import WrongUse

if TYPE_CHECKING:
    from projects.models import Run

LOOK_S = 0.5


@click.group()
def command() -> None:
    """Start, watch and steer runs."""


@command.command()
@click.argument("plan", type=int)
@django.as_option
@output.json_option
def start(plan: int, user: str) -> None:
    """Build the approved plan PLAN."""
    django.start()
    from projects.models import Plan
    from projects.services.work import runs

    run = runs.start_build(django.row(Plan, plan, "plan"), by=django.acting_user(user))
    _say(run, f"Next: aiswe run watch {run.pk}")
    django.tell_worker()


@command.command()
@click.argument("run", type=int)
@click.option("--after", default=0, type=click.IntRange(0), help="Leave out events up to this number.")
@click.option("--task", default="", metavar="KEY", help="Show only events of this task.")
@click.option("--role", default="", metavar="ROLE", help="Show only events of this role, like coder.")
@click.option("--type", "kind", default="", metavar="TYPE", help="Show only this type, or all that begin so: gate.")
@django.as_option
@output.json_option
def watch(run: int, after: int, task: str, role: str, kind: str, user: str) -> int:
    """Show what run RUN does until it ends or needs a person; exit code 1 unless it finished with nothing left out.

    On a terminal: its tasks, a progress bar and the newest events, and questions can be answered as they come up.
    Elsewhere: one line per event. With --json the document comes at the end and the events go to stderr.
    """
    django.start()
    from projects.models import Run

    current = django.row(Run, run, "run")
    wanted = watching.EventFilter(task, role, kind)
    if task and current.tasks.exists() and not current.tasks.filter(key__iexact=task).exists():
        keys = ", ".join(current.tasks.values_list("key", flat=True)[:20])
        raise WrongUse(f"Run {run} has no task {task!r}.", f"It has {keys}.")
    if sys.stdout.isatty() and not output.wants_json():
        watching.watch(current, after, wanted, user, asks=sys.stdin.isatty())
    else:
        _lines(current, after, wanted)
    return _say(current, current.why, ok=current.status == Run.Status.FINISHED and not current.left_out)


def _lines(current: Run, after: int, wanted: watching.EventFilter) -> None:
    from projects.models import Run
    from projects.services.audit.events import events_after

    tell = output.note if output.wants_json() else output.say
    while True:
        current.refresh_from_db()
        for event in events_after(current.pk, after):
            after = event.seq
            if wanted.shows(event):
                tell(watching.line_of(event))
        if current.status in (*Run.OVER, Run.Status.NEEDS_YOU) and after >= current.last_seq:
            return
        time.sleep(LOOK_S)


def _steering(verb: str, about: str) -> None:
    """Add the command that steers a run by `verb`."""

    @command.command(verb, help=about)
    @click.argument("run", type=int)
    @django.as_option
    @output.json_option
    def steer(run: int, user: str) -> None:
        django.start()
        from projects.models import Run
        from projects.services.work import runs

        by, found = django.acting_user(user), django.row(Run, run, "run")
        getattr(runs, f"{verb}_run")(found, by=by)
        found.refresh_from_db()
        _say(found)
        if verb == "resume":
            django.tell_worker()


_steering("resume", "Continue a paused or failed run where it stopped.")
_steering("pause", "Pause run RUN after its current step; `resume` continues there.")
_steering("cancel", "End run RUN for good; what was merged stays.")


@command.command("take-in")
@click.argument("run", type=int)
@django.as_option
@output.json_option
def take_in(run: int, user: str) -> int:
    """Put the commits of run RUN on top of what others put on the base branch meanwhile.

    Exit code 1 when both changed the same lines; then nothing has moved. The tests run with the next merge.
    """
    django.start()
    from projects.engine.base_branch import take_in_base
    from projects.models import Run

    found = django.row(Run, run, "run")
    taken = take_in_base(found, by=django.acting_user(user))
    document = {"run": run, "commits": taken.commits, "conflicts": list(taken.conflicts)}
    if taken.conflicts:
        words = f"✕ Both sides changed {', '.join(taken.conflicts)}: merge branch aiswe/run-{run} by hand."
    elif taken.commits:
        words = f"✓ {len(taken.commits)} commits now stand on the newest {found.project.base_branch}."
    else:
        words = "✓ Nobody has moved the base branch since the run left it."
    return output.answer(document, words, ok=not taken.conflicts)


def _say(run: Run, more: str = "", *, ok: bool = True) -> int:
    from projects.services.work import runs

    document: dict[str, Any] = {
        "run": run.pk,
        "kind": run.kind,
        "project": run.project.slug,
        "status": run.status,
        "left_out": run.left_out,
        "why": run.why,
        "recording": run.recording,
        "events": run.last_seq,
        **runs.totals(run),
    }

    left = f", {run.left_out} left out" if run.left_out else ""
    words = f"Run {run.pk} of {run.project.name}: {run.get_status_display().lower()}{left}"
    return output.answer(document, f"{words}\n{more}" if more else words, ok=ok)
