"""aiswe run: start, show, watch, steer."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING, Any

import click

from agents.events.base import counted
from aiswe_site.cli import arguments, documents, watching
from aiswe_site.startup import django
from aiswe_site.terminal import output
from aiswe_site.terminal.operator import acting_user
from aiswe_site.terminal.problems import WrongUse
from aiswe_site.verbs.fields import fields

if TYPE_CHECKING:
    from projects.models import Plan, PullRequest, Run


COLUMNS: dict[str, output.Column] = {
    "Task": lambda row: row["key"] + (f" for {row['asked_by']}" if row["asked_by"] else ""),
    "Status": "status",
    "Tries": "tries",
    "Calls": "calls",
    "Tokens": lambda row: f"{row['tokens']:,}",
    "Seconds": lambda row: f"{row['seconds']:,.0f}",
    "Title": "title",
    "Why": "why",
}


@click.group()
def command() -> None:
    """Start, show, watch and steer runs."""


@command.command()
@click.argument("plan", type=arguments.numbered_plan)
@arguments.as_option
@output.json_option
def start(plan: Plan, user: str) -> None:
    """Build the approved plan PLAN."""
    from projects.services.planning import runs

    run = runs.start_build(plan, by=acting_user(user))
    _say(run, f"Next: aiswe run watch {run.pk}")
    arguments.tell_worker()


@command.command()
@click.argument("run", type=arguments.numbered_run)
@output.json_option
def show(run: Run) -> None:
    """Show run RUN: its tasks, what each waits for or ended with, and what its model calls took.

    Calls that belong to no task, as those of planning, count in the total alone.
    """
    from django.db.models import Count, F

    from projects.services.delivery.fix_report import request_section
    from projects.services.work.usage import usage_of

    names = "key title status tries why commit escalation"
    tasks = run.tasks.annotate(tries=Count("attempts"), asked=F("asked_by__key")).order_by("ordinal")
    found = [fields(task, names) | {"asked_by": task.asked or ""} | usage_of(task_id=task.pk) for task in tasks]
    section = request_section(run) if run.kind == run.Kind.BUILD and run.base_commit else ""
    document = {**_document(run), "by_task": found} | ({"failed_build": section} if section else {})
    say_whole(document, "\n\n".join(filter(None, [_words(run), section])), waits(run))


def say_whole(document: dict[str, Any], words: str, waits: str) -> int:
    """Answer with a run and its tasks."""

    def people() -> None:
        output.records(document["by_task"], COLUMNS, nothing="It has no tasks.")
        output.say(f"{counted(document['calls'], 'model call')}, {counted(document['tokens'], 'token')}")
        output.say("\n".join(filter(None, [words, waits])))

    return output.answer(document, people)


@command.command()
@click.argument("run", type=arguments.numbered_run)
@click.option("--after", default=0, type=click.IntRange(0), help="Leave out events up to this number.")
@click.option("--task", default="", metavar="KEY", help="Show only events of this task.")
@click.option("--role", default="", metavar="ROLE", help="Show only events of this role, like coder.")
@click.option("--type", "kind", default="", metavar="TYPE", help="Show only this type, or all that begin so: gate.")
@arguments.as_option
@output.json_option
def watch(run: Run, after: int, task: str, role: str, kind: str, user: str) -> int:
    """Show what run RUN does until it ends or needs a person; exit code 1 unless it finished with nothing left out.

    On a terminal: its tasks, a progress bar and the newest events, and questions can be answered as they come up.
    Elsewhere: one line per event. With --json the document comes at the end and the events go to stderr.
    """
    wanted = watching.EventFilter(task, role, kind)
    if task and run.tasks.exists() and not run.tasks.filter(key__iexact=task).exists():
        keys = ", ".join(run.tasks.values_list("key", flat=True)[:20])
        raise WrongUse(f"Run {run.pk} has no task {task!r}.", f"It has {keys}.")
    if sys.stdout.isatty() and not output.wants_json():
        watching.watch(run, after, wanted, user, asks=sys.stdin.isatty())
    else:
        tell = output.note if output.wants_json() else output.say
        for lines in watching.follow(run, after, wanted):
            for line in lines:
                tell(line)
    return _say(run, waits(run), ok=run.status == run.Status.FINISHED and not run.left_out)


@command.command()
@click.argument("run", type=arguments.numbered_run)
@click.argument("file", type=click.File("wb"))
@arguments.as_option
@output.json_option
def export(run: Run, file: IO[bytes], user: str) -> None:
    """Write run RUN to one packed FILE, redacted, which `aiswe run replay` shows on another installation.

    It has the events, the contents they name, the plan and the tasks. You need the right audit.export.
    """
    from projects.services.insight import replays

    for part in replays.export_run(run, by=acting_user(user)):
        file.write(part)
    output.answer(
        {"run": run.pk, "events": run.last_seq, "file": file.name}, lambda: output.say(f"{file.name} is written.")
    )


@command.command()
@click.argument("file", type=click.File("rb"))
@arguments.as_option
@output.json_option
def replay(file: IO[bytes], user: str) -> None:
    """Check FILE, which `aiswe run export` wrote elsewhere, and make a run of it to look at.

    The run is read-only and in a project of its own; `aiswe project delete` removes both.
    """
    django.start()
    from projects.services.insight import replays

    run = replays.replay_run(file, by=acting_user(user))
    made = {"run": run.pk, "project": run.project.slug, "replay_of": run.replay_of}
    output.answer(made, lambda: output.say(f"Run {run.pk} is the replay of {run.source}."))


def _steering(verb: str, about: str) -> None:
    """Add the command that steers a run by `verb`."""

    @command.command(verb, help=about)
    @click.argument("run", type=arguments.numbered_run)
    @arguments.as_option
    @output.json_option
    def steer(run: Run, user: str) -> None:
        from projects.services.planning import runs

        getattr(runs, f"{verb}_run")(run, by=acting_user(user))
        run.refresh_from_db()
        _say(run)
        if verb == "resume":
            arguments.tell_worker()


_steering("resume", "Continue a paused or failed run where it stopped.")
_steering("pause", "Pause run RUN after its current step; `resume` continues there.")
_steering("cancel", "End run RUN for good; what was merged stays.")


@command.command("take-in")
@click.argument("run", type=arguments.numbered_run)
@arguments.as_option
@output.json_option
def take_in(run: Run, user: str) -> int:
    """Put the commits of run RUN on top of what others put on the base branch meanwhile.

    Exit code 1 when both changed the same lines; then nothing has moved. The tests run with the next merge.
    """
    from projects.engine.base_branch import outcome_of, take_in_base

    taken = take_in_base(run, by=acting_user(user))
    document = {"run": run.pk, "commits": taken.commits, "conflicts": list(taken.conflicts)}
    words = f"{'✕' if taken.conflicts else '✓'} {outcome_of(run, taken)}"
    return output.answer(document, words, ok=not taken.conflicts)


def waits(run: Run) -> str:
    """What the run waits for, and how a person ends that."""
    waiting = run.approvals.filter(status="pending")
    ways = [f"{one.title}\nAnswer: aiswe approvals answer {one.pk} yes|no [--reason TEXT]" for one in waiting]
    return "\n".join(filter(None, [run.why, *ways, documents.next_step(run)]))


def _document(run: Run) -> dict[str, Any]:
    from projects.services.planning import runs

    names = "run=pk kind project=project.slug status left_out why recording events=last_seq"
    return fields(run, names) | runs.totals(run)


def _words(run: Run) -> str:
    return words_of(run.pk, run.project.name, run.get_status_display(), run.left_out)


def words_of(run: int, project: str, status: str, left_out: int) -> str:
    """How a run stands, in a line."""
    return f"Run {run} of {project}: {status.lower()}" + (f", {left_out} left out" if left_out else "")


def _say(run: Run, more: str = "", *, ok: bool = True) -> int:
    return output.answer(_document(run), "\n".join(filter(None, [_words(run), more])), ok=ok)


@command.command()
@click.argument("run", type=arguments.numbered_run)
@click.option("--draft", is_flag=True, help="As a draft.")
@click.option("--look", is_flag=True, help="Only ask how the pull request is; nothing is sent.")
@click.option("--yes", is_flag=True, help="Confirm without being asked.")
@arguments.as_option
@output.json_option
def request(run: Run, draft: bool, look: bool, yes: bool, user: str) -> None:
    """Push the results of build RUN to the project's forge and open a pull request, or bring its open one up to date.

    Nothing is forced: what somebody else pushed to the branch stays, and newer results go beside it.
    """
    from projects.services.forges import requests

    known = requests.request_of(run)
    if look:
        if known is None:
            raise WrongUse(f"Run {run.pk} has no pull request.", f"`aiswe run request {run.pk}` opens one.")
        made = requests.look(known)
        return _say_request(made)
    target = requests.offer(run)
    if not yes:
        if output.wants_json():
            raise WrongUse("A push asks for a yes.", "Add --yes.")
        words = f"Push {target.branch} at {target.commit[:10]} to {target.address} and ask to merge it?"
        click.confirm(words, abort=True, err=True)
    _say_request(requests.open_request(run, by=acting_user(user), commit=target.commit, draft=draft))


def _say_request(made: PullRequest) -> None:
    told = fields(made, "number run=run_id state branch base commit web_address")
    output.answer(told, f"{made.web_address} is {made.state}, at {made.commit[:10]}.")
