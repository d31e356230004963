"""A run over time: one lane a task, its steps as bars by author, failed tries, and now; in percent of its time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Max, Q, Window
from django.db.models.functions import Lag
from django.utils import timezone

from dashboard.drawing.run_graph import clock_of, meta_of
from dashboard.drawing.states import look_of_state
from projects.models import Attempt, Event, Run, Task
from projects.services.work.graphs import RunGraph

AUTHORS = ("planner", "coder", "tester", "reviewer")
MOST_BARS = 4_000
TICKS = 8
STEPS_MIN = (1, 2, 3, 5, 6, 10, 15, 20, 30, 60, 120, 240, 480, 720, 1_440)


def time_of_run(run: Run, tasks: Sequence[Task], chosen: str = "") -> dict[str, Any]:
    """What partials/run_time.html draws."""
    start = run.started_at or run.created_at
    now = getattr(run, "shown_at", None) or run.finished_at or timezone.now()
    whole = max((now - start).total_seconds(), 60.0) * 1.02
    critical = set(RunGraph(tasks).critical)

    def place(moment: datetime) -> float:
        return max(0.0, min(100.0, 100 * (moment - start).total_seconds() / whole))

    bars, failed = _bars(run, tasks, now), _failed(run, now)
    lanes = []
    for task in sorted(tasks, key=lambda task: (task.started_at is None, task.started_at or start, task.ordinal)):
        mine = [_bar(bar, place) for bar in bars.get(task.pk, ())]
        open_needs = [need.key for need in task.needs.all() if need.status not in Task.SETTLED]
        lanes.append(
            {
                "task": task,
                "look": look_of_state(task.status),
                "bars": mine,
                "failed": [{"x": place(moment), "number": number} for number, moment in failed.get(task.pk, ())],
                "line": (mine[0]["x"], mine[-1]["x"] + mine[-1]["width"] - mine[0]["x"]) if mine else None,
                "critical": task.key in critical,
                "chosen": task.key == chosen,
                "after": " and ".join(open_needs[:3]) if not mine else "",
                "meta": meta_of(task),
            }
        )
    return {
        "lanes": lanes,
        "ticks": _ticks(whole, place, start),
        "now": place(now),
        "passed": clock_of((now - start).total_seconds()),
        "live": run.status not in Run.OVER and not hasattr(run, "shown_at"),
    }


def _bar(bar: tuple[str, int, datetime, datetime], place: Any) -> dict[str, Any]:
    role, seq, begun, ended = bar
    x = place(begun)
    took = clock_of((ended - begun).total_seconds())
    return {"role": role, "seq": seq, "x": x, "width": max(0.15, place(ended) - x), "took": took, "begun": begun}


def _bars(run: Run, tasks: Sequence[Task], now: datetime) -> dict[int, list[tuple[str, int, datetime, datetime]]]:
    """By task: author, first event, begin and end of every stretch of events by one author."""
    events = Event.objects.filter(run=run, seq__lte=run.last_seq, task__isnull=False, role__in=AUTHORS).order_by()
    window: dict[str, Any] = {"partition_by": F("task_id"), "order_by": F("seq").asc()}
    changes = events.annotate(before=Window(Lag("role"), **window), since=Window(Lag("at"), **window)).filter(
        Q(before=None) | ~Q(before=F("role"))
    )
    rows: dict[int, list[tuple[int, str, datetime]]] = {}
    for task, seq, role, at, since, took in changes.order_by("task_id", "seq").values_list(
        "task_id", "seq", "role", "at", "since", "duration_ms"
    )[:MOST_BARS]:
        rows.setdefault(task, []).append((seq, role, since or at - timedelta(milliseconds=took)))
    last = dict(events.values_list("task_id").annotate(Max("at")))
    found = {}
    for task_row in tasks:
        mine = rows.get(task_row.pk, [])
        if mine and task_row.started_at:
            mine[0] = (*mine[0][:2], min(mine[0][2], task_row.started_at))
        end = now if task_row.status == Task.Status.RUNNING else last.get(task_row.pk, now)
        ends = [begun for _, _, begun in mine[1:]] + [end]
        found[task_row.pk] = [(role, seq, begun, ended) for (seq, role, begun), ended in zip(mine, ends, strict=False)]
    return found


def _failed(run: Run, now: datetime) -> dict[int, list[tuple[int, datetime]]]:
    rows = Attempt.objects.filter(task__run=run, outcome__in=("failed", "rejected"), finished_at__lte=now)
    found: dict[int, list[tuple[int, datetime]]] = {}
    for task, number, moment in rows.order_by("task", "number").values_list("task_id", "number", "finished_at"):
        if moment is not None:
            found.setdefault(task, []).append((number, moment))
    return found


def _ticks(whole: float, place: Any, start: datetime) -> list[dict[str, Any]]:
    minutes = whole / 60
    step = next((step for step in STEPS_MIN if minutes / step <= TICKS), STEPS_MIN[-1])
    at = range(0, min(int(minutes) + 1, 40 * step), step)
    return [{"x": place(start + timedelta(minutes=number)), "minutes": number} for number in at]
