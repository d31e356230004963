"""What the page of a run shows: the run now, or as it was at one of its events."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from dashboard.live import stream
from dashboard.text.safe import one_line
from projects.models import Event, Run, Task
from projects.services.audit.vocabulary import types_in
from projects.services.insight import run_state
from projects.services.planning import runs

BARS = 150
MARKS: dict[str, tuple[str, ...]] = {  # the first kind that a place has is shown
    "need": ("approval.requested",),
    "err": tuple(types_in("errors")),
    "ok": ("task.done",),
    "dec": ("decision", "approval.decided", "plan.approved"),
}
PHASES = ("task.started", "attempt.started")
MOST_PHASES = 2_000


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
        if run.replay_of is None:
            return Moment(run, tasks, runs.totals(run), None, run.last_seq)
        at = None  # a replay has nothing but its events
    state = run_state.state_at(run, run.last_seq if at is None else at)
    then = run_state.run_at(run, state)
    then.last_seq = state.seq if at is None else at
    then.kind = run.replay_of["kind"] if run.replay_of else run.kind
    shown = run_state.tasks_at(tasks, state)
    return Moment(then, shown, run_state.totals_at(shown, state), at, run.last_seq)


def track(run: Run, at: int | None, head: int) -> dict[str, Any]:
    """What the slider under a run shows: how dense events are in time, marks, where phases begin, and where it stands.

    "bars" is a path in a field of 100 by 10, "marks" are (kind, place in percent), "phases" sequence numbers.
    """
    if head < 2:  # the slider comes with the second event
        nothing: dict[str, Any] = {"at": 1, "head": 1, "bars": "", "marks": [], "phases": [], "moment": None}
        return nothing
    now = at or head
    event = Event.objects.filter(run=run, seq=now).defer("payload", "blobs").first()
    rows = Event.objects.filter(
        run=run, seq__lte=head, type__in={*PHASES, *(t for kind in MARKS.values() for t in kind)}
    )
    told = list(rows.order_by("seq").values_list("seq", "type", "outcome"))
    phases = [seq for seq, type_, _ in told if type_ in PHASES]
    return {
        "at": now,
        "head": head,
        "done": _place(now, head),
        "bars": _bars(run, head),
        "marks": _marks(told, head),
        "phases": phases[:: len(phases) // MOST_PHASES + 1],
        "moment": event.at if event else None,
        "text": f"event {now:,} of {head:,}"
        + (f", {event.at:%H:%M:%S}, {one_line(event.summary, 80)}" if event else ""),
    }


def _place(seq: int, head: int) -> str:
    return f"{100 * (seq - 1) / (head - 1):.1f}"


def _marks(told: list[tuple[int, str, str]], head: int) -> list[tuple[str, str]]:
    """One mark at each place of the track, the weightiest of what happened there."""
    order = list(MARKS)
    places: dict[int, str] = {}
    for seq, type_, outcome in told:
        kind = next((kind for kind, types in MARKS.items() if type_ in types), "")
        if not kind or (kind == "ok" and outcome != "merged"):
            continue
        place = BARS * (seq - 1) // (head - 1)
        places[place] = min(places.get(place, kind), kind, key=order.index)
    return [(kind, f"{100 * place / BARS:.1f}") for place, kind in sorted(places.items())]


def _bars(run: Run, head: int) -> str:
    """How many events there were in a second, by part of the stream, as bars; read from some of them only."""
    places = sorted({1 + (head - 1) * n // BARS for n in range(BARS + 1)})
    times = dict(Event.objects.filter(run=run, seq__in=places).values_list("seq", "at"))
    spans = [(a, (b - a) / max(0.05, (times[b] - times[a]).total_seconds())) for a, b in pairwise(places)]
    most = math.log1p(max(rate for _, rate in spans))
    width = 70 / len(spans)
    return "".join(
        f"M{_place(seq, head)} 10v-{1 + 8 * math.log1p(rate) / most:.1f}h{width:.2f}V10z" for seq, rate in spans
    )
