"""What the page of a run shows: the run now, or as it was at one of its events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dashboard import stream
from projects.models import Run, Task
from projects.services.insight import run_state
from projects.services.work import runs


@dataclass(frozen=True)
class Moment:
    """A run, its tasks and its numbers at one of its events; `at` is None for now. `head` is its newest event."""

    run: Run
    tasks: list[Task]
    totals: dict[str, Any]
    at: int | None
    head: int


def moment(run: Run, at: int | None) -> Moment:
    """The run now, or after event `at`; an event that has not happened yet means now."""
    tasks = list(stream.tasks_of(run))
    if at is None or not 0 < at < run.last_seq:
        return Moment(run, tasks, runs.totals(run), None, run.last_seq)
    state = run_state.state_at(run, at)
    then = run_state.run_at(run, state)
    then.last_seq = at
    shown = run_state.tasks_at(tasks, state)
    return Moment(then, shown, run_state.totals_at(shown, state), at, run.last_seq)
