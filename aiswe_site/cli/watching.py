"""The live view of a run on a terminal: its tasks, a progress bar, the newest lines, and questions to answer."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from aiswe_site.cli import arguments, questions
from aiswe_site.terminal import output
from aiswe_site.terminal.operator import acting_user

if TYPE_CHECKING:
    from rich.console import RenderableType

    from projects.models import Approval, Event, Run

LOOK_S = 0.5
LINES, TASKS = 12, 18  # of each at most
STYLES = {"merged": "green", "running": "cyan", "needs_you": "yellow", "escalated": "red", "blocked": "yellow"}


@dataclass(frozen=True)
class EventFilter:
    """Which events are shown; "" shows all. A type is matched from its beginning: "gate" is every gate.*."""

    task: str = ""
    role: str = ""
    type: str = ""

    def shows(self, event: Event) -> bool:
        """Whether the event is one of them."""
        key = event.task.key if event.task else ""
        return (
            (not self.task or key.casefold() == self.task.casefold())
            and (not self.role or event.role == self.role)
            and (not self.type or event.type == self.type or event.type.startswith(f"{self.type}."))
        )


def line_of(event: Event) -> str:
    """An event as one line."""
    task = event.task.key if event.task else ""
    return f"{event.seq:>5} {event.at:%H:%M:%S} {task:<6} {event.role:<9} {event.type:<18} {event.summary}"


def picture(run: Run, lines: deque[str]) -> RenderableType:
    """The whole view as it is now."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    tasks = list(run.tasks.order_by("ordinal"))
    over = [task for task in tasks if task.status in task.SETTLED]
    head = Table.grid(padding=(0, 1))
    words = f"Run {run.pk} of {output.clean(run.project.name)}: {run.get_status_display().lower()}"
    bar = ProgressBar(total=max(len(tasks), 1), completed=len(over), width=30)
    head.add_row(Text(words, style="bold"), bar, Text(f"{len(over)} of {len(tasks)} tasks"))
    grid = Table.grid(padding=(0, 2))
    # What is over leaves first when there is not enough room.
    shown = sorted(tasks, key=lambda task: task in over)[:TASKS]
    for task in sorted(shown, key=lambda task: task.ordinal):
        state = Text(task.get_status_display().lower(), style=STYLES.get(task.status, "dim"))
        grid.add_row(
            Text(output.clean(task.key)),
            state,
            Text(output.clean(task.title), no_wrap=True, overflow="ellipsis"),
            Text(output.clean(task.why), style="dim", no_wrap=True, overflow="ellipsis"),
        )
    if len(tasks) > TASKS:
        grid.add_row("", Text(f"and {len(tasks) - TASKS} more", style="dim"))
    newest = [Text(output.clean(line), no_wrap=True, overflow="ellipsis") for line in lines]
    return Group(head, grid, Text(), *newest, Text(output.clean(run.why), style="yellow"))


def follow(run: Run, after: int, wanted: EventFilter) -> Iterator[list[str]]:
    """The new lines at each look, until the run is over or waits for a person; `run` is read anew each time."""
    from projects.services.audit.events import events_after

    run.refresh_from_db()
    while True:
        found = events_after(run.pk, after)
        after = found[-1].seq if found else after
        yield [line_of(event) for event in found if wanted.shows(event)]
        run.refresh_from_db()  # only now: a question may have been answered meanwhile
        if run.status in (*run.OVER, run.Status.NEEDS_YOU) and after >= run.last_seq:
            return
        time.sleep(LOOK_S)


def watch(run: Run, after: int, wanted: EventFilter, by: str, *, asks: bool) -> None:
    """Show the run until it is over or waits for a person; with `asks`, ask the person at the terminal.

    Whoever answers acts as the user `by` names. A question that is put off ends the view.
    """
    from rich.console import Console
    from rich.live import Live

    lines: deque[str] = deque(maxlen=LINES)
    put_off: set[int] = set()
    looks, asked = follow(run, after, wanted), None
    while True:
        with Live(console=Console(highlight=False, markup=False), auto_refresh=False) as live:
            for new in looks:
                lines.extend(new)
                live.update(picture(run, lines), refresh=True)
                if asks and (asked := _question(run, put_off, by)):
                    break
            else:
                return
        if asked and not _answer(asked, by):
            put_off.add(asked.pk)


def _question(run: Run, put_off: set[int], by: str) -> Approval | None:
    from projects.services.decisions import approvals

    waiting = approvals.pending_for(acting_user(by)).filter(run=run)
    return waiting.exclude(pk__in=put_off).order_by("requested_at").first()


def _answer(approval: Approval, by: str) -> bool:
    """Ask the person at the terminal; False when they put it off."""
    from projects.errors import ProjectsError
    from projects.services.decisions import approvals

    output.say("")
    questions.say(approval)
    word = click.prompt("Yes, no or later", type=click.Choice(["y", "n", "l"]), default="l", show_choices=True)
    if word == "l":
        return False
    reason = click.prompt("Why", default="", show_default=False) if word == "n" else ""
    try:
        approvals.decide(approval, by=acting_user(by), yes=word == "y", reason=reason)
    except ProjectsError as refusal:
        output.complain(str(refusal))
        return False
    arguments.tell_worker()
    return True
