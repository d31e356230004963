"""The state of a run at any of its events, folded from the events up to it: its state, its tasks, its numbers.

What the events do not say is not guessed: of runs older than an event's field, the state is what their events give.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import Lock
from typing import Any, NamedTuple

from agents.events.effects import FindingFixed, FindingRecorded
from agents.events.lifecycle import (
    AttemptPassed,
    AttemptStarted,
    RunFinished,
    RunPaused,
    RunQueued,
    RunResumed,
    RunStarted,
    RunWaiting,
    TaskAdded,
    TaskBlocked,
    TaskDone,
    TaskFailed,
    TaskQueued,
    TaskReady,
    TaskStarted,
)
from agents.events.reasoning import Adjudicated, ModelCalled
from projects.models import Event, Run, Task
from projects.services.audit.canonical import clean_line
from projects.services.work.usage import totals_of

STEP = 100  # events between two kept states
KEPT_RUNS = 8
OVER = (Task.Status.MERGED, Task.Status.SKIPPED, Task.Status.ESCALATED, Task.Status.CANCELLED)
RUN_MOVED = {kind.type for kind in (RunStarted, RunResumed, RunPaused, RunFinished)}
TASK_MOVED = {kind.type for kind in (TaskQueued, TaskReady, TaskStarted, TaskBlocked, TaskDone, TaskFailed)}
REPAIRS = ("repair", "fresh")  # as in the totals of a run
OTHERS = (
    *(RunQueued, RunWaiting, TaskAdded, AttemptStarted, AttemptPassed),
    *(ModelCalled, FindingRecorded, FindingFixed, Adjudicated),
)
FOLDED = RUN_MOVED | TASK_MOVED | {kind.type for kind in OTHERS}


class FoldedEvent(NamedTuple):
    """The columns of an event that the fold reads."""

    seq: int
    at: datetime
    type: str
    task: int | None
    duration_ms: int
    payload: Mapping[str, Any]


@dataclass(frozen=True)
class TaskSnapshot:
    """A task at an event."""

    status: str = Task.Status.QUEUED
    wait: str = ""
    detail: str = ""
    tries: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None
    added: bool = False  # a sub-task, since its event


@dataclass(frozen=True)
class RunSnapshot:
    """A run at an event. `found`: finding → whether it was fixed; sums are those of its model calls."""

    seq: int = 0
    at: datetime | None = None
    status: str = Run.Status.QUEUED
    wait: str = ""
    detail: str = ""
    since: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    tasks: Mapping[int, TaskSnapshot] = field(default_factory=dict)
    found: Mapping[int, bool] = field(default_factory=dict)
    sums: tuple[int, ...] = (0, 0, 0, 0, 0)  # calls, prompt, reused, completion, milliseconds
    repairs: tuple[int, int] = (0, 0)  # attempted, succeeded
    adjudicated: int = 0

    def task(self, pk: int) -> TaskSnapshot:
        """A task at this event."""
        return self.tasks.get(pk, TaskSnapshot())


def fold(state: RunSnapshot, events: Iterable[FoldedEvent]) -> RunSnapshot:
    """`state` after `events`, which follow it in order."""
    for event in events:
        state = replace(_next(state, event), seq=event.seq, at=event.at)
    return state


def _next(state: RunSnapshot, event: FoldedEvent) -> RunSnapshot:
    said = event.payload
    if event.type in RUN_MOVED:
        return replace(state, **_moved(state, event), since=event.at if said.get("reason") else None)
    if event.type == RunWaiting.type:
        wait, detail = str(said.get("wait") or ""), str(said.get("detail") or "")
        return replace(state, wait=wait, detail=detail, since=event.at if wait else None)
    if event.type == ModelCalled.type:
        counts = [_whole(said.get(name)) for name in ("prompt_tokens", "reused_tokens", "completion_tokens")]
        more = (1, *counts, event.duration_ms)
        return replace(state, sums=tuple(a + b for a, b in zip(state.sums, more, strict=True)))
    if event.type == Adjudicated.type:
        return replace(state, adjudicated=state.adjudicated + 1)
    if event.type in (FindingRecorded.type, FindingFixed.type):
        found = {**state.found, _whole(said.get("finding")): event.type == FindingFixed.type}
        return replace(state, found=found)
    if event.type in (AttemptStarted.type, AttemptPassed.type):
        begun = event.type == AttemptStarted.type
        attempted, succeeded = state.repairs
        if said.get("strategy") in REPAIRS:
            state = replace(state, repairs=(attempted + begun, succeeded + (not begun)))
        if not begun:
            return state
    return _with_task(state, event)


def _with_task(state: RunSnapshot, event: FoldedEvent) -> RunSnapshot:
    if event.task is None:
        return state
    then = state.tasks.get(event.task, TaskSnapshot())
    if event.type in TASK_MOVED:
        then = replace(then, **_moved(then, event))
    elif event.type == AttemptStarted.type:
        then = replace(then, tries=then.tries + 1)
    elif event.type == TaskAdded.type:
        then = replace(then, added=True)
    return replace(state, tasks={**state.tasks, event.task: then})


def _moved(row: RunSnapshot | TaskSnapshot, event: FoldedEvent) -> dict[str, Any]:
    """What a move sets: as projects.services.work.moves sets it on the row."""
    to, wait = str(event.payload.get("to") or row.status), str(event.payload.get("wait") or "")
    over = to in (Run.OVER if isinstance(row, RunSnapshot) else OVER)
    return {
        "status": to,
        "wait": wait,
        "detail": clean_line(str(event.payload.get("detail" if wait else "reason") or ""), 300),
        "started_at": event.at if to == Run.Status.RUNNING and row.started_at is None else row.started_at,
        "finished_at": event.at if over else None,
    }


def _whole(value: object) -> int:
    return max(0, int(value)) if isinstance(value, int | float) else 0


class _KeptSnapshots:
    """The states of one run at every STEP-th event that was folded; events never change, so neither do they."""

    def __init__(self) -> None:
        self.states = [RunSnapshot()]
        self.lock = Lock()


_kept: OrderedDict[tuple[int, datetime], _KeptSnapshots] = OrderedDict()
_lock = Lock()


def state_at(run: Run, seq: int) -> RunSnapshot:
    """The run's state after event `seq`: from the nearest kept state before it, and the events since."""
    seq = min(seq, run.last_seq)
    with _lock:
        kept = _kept.setdefault((run.pk, run.created_at), _KeptSnapshots())
        _kept.move_to_end((run.pk, run.created_at))
        while len(_kept) > KEPT_RUNS:
            _kept.popitem(last=False)
    with kept.lock:
        newest = min(seq // STEP, len(kept.states) - 1)
        state = kept.states[newest]
        for event in _events(run, newest * STEP, seq):
            while event.seq > len(kept.states) * STEP:
                kept.states.append(state)
            state = fold(state, [event])
        while len(kept.states) <= seq // STEP:
            kept.states.append(state)
    return state


def _events(run: Run, after: int, upto: int) -> Iterator[FoldedEvent]:
    rows = Event.objects.filter(run=run, seq__gt=after, seq__lte=upto, type__in=FOLDED).order_by("seq")
    columns = ("seq", "at", "type", "task_id", "duration_ms", "payload")
    for row in rows.values_list(*columns).iterator(chunk_size=500):
        yield FoldedEvent(*row)


def run_at(run: Run, state: RunSnapshot) -> Run:
    """A copy of the run as it was, to be shown and never saved."""
    then = Run(**{each.attname: getattr(run, each.attname) for each in Run._meta.concrete_fields})
    then._state.fields_cache = run._state.fields_cache
    then._state.adding = False
    then.status, then.wait_reason, then.why_detail, then.why_since = state.status, state.wait, state.detail, state.since
    then.started_at, then.finished_at = state.started_at, state.finished_at
    return then


def tasks_at(tasks: Iterable[Task], state: RunSnapshot) -> list[Task]:
    """The tasks there were, each as it was and with the needs it had; `tries` are those begun by then."""
    there = [task for task in tasks if task.asked_by_id is None or state.task(task.pk).added]
    known = {task.pk for task in there}
    for task in there:
        then = state.task(task.pk)
        if task.status != then.status:
            task.commit = task.escalation = ""
        task.status, task.wait_reason, task.why_detail = then.status, then.wait, then.detail
        task.started_at, task.finished_at = then.started_at, then.finished_at
        needs = task.needs.all()
        needs._result_cache = [need for need in needs if need.pk in known]
        # Under the names that dashboard.live.stream.tasks_of gives them.
        vars(task).update(tries=then.tries, _prefetched_objects_cache={"needs": needs})
    return there


def totals_at(tasks: Iterable[Task], state: RunSnapshot) -> dict[str, Any]:
    """The numbers that projects.services.planning.runs.totals gives of the run now, as they were."""
    counts = dict.fromkeys(Task.Status.values, 0)
    for task in tasks:
        counts[task.status] += 1
    calls, prompt, reused, completion, millis = state.sums
    return {
        "tasks": counts,
        **totals_of(
            calls=calls, prompt_tokens=prompt, reused_tokens=reused, completion_tokens=completion, seconds=millis / 1000
        ),
        "repairs": {"attempted": state.repairs[0], "succeeded": state.repairs[1]},
        "findings": {"raised": len(state.found), "fixed": sum(state.found.values())},
        "tests_adjudicated": state.adjudicated,
    }
