"""Where tickets stand, and what the agents will do next: the scheduler's rules over estimates instead of work.

What cannot be estimated is not: a ticket without an estimate takes its turn, and what follows may be later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from django.db.models import Count, Sum

from projects.models import BacklogItem, Plan, Project, RequirementDocument, Run, Task
from projects.services.backlog.hours import Night, hours_of, night_of, used_in
from projects.services.backlog.items import open_items
from projects.services.insight import costs

SHORTEST = timedelta(minutes=5)  # what a ticket at work is thought to need still, when its estimate is used up
WINDOW, BEHIND = "window", "behind"


class State(StrEnum):
    """Where a ticket stands."""

    OPEN = "open"
    WAITING = "waiting"
    WORKING = "working"
    NEEDS_YOU = "needs_you"
    APPROVED = "approved"  # its plan; the build waits for the scheduler
    DONE = "done"
    LEFT_OUT = "left_out"


class Standing(NamedTuple):
    """Where a ticket stands, the run that shows it, and why, in words."""

    state: State
    run: Run | None = None
    why: str = ""


def progress_of(item: BacklogItem) -> Standing:
    """Where a ticket stands now, from its document's plan and runs."""
    if item.left_out:
        return Standing(State.LEFT_OUT, _run(item, Run.Kind.BUILD) or _run(item, Run.Kind.PLAN), item.left_out)
    if item.document is None:
        return Standing(State.WAITING if item.assigned_at else State.OPEN)
    build = _run(item, Run.Kind.BUILD)
    if build is not None:
        if build.status == Run.Status.FINISHED:
            left = build.left_out
            return Standing(State.LEFT_OUT, build, f"{left} tasks left out") if left else Standing(State.DONE, build)
        if build.status == Run.Status.CANCELLED:
            return Standing(State.LEFT_OUT, build, f"run {build.pk} was cancelled")
        stuck = build.status in (Run.Status.NEEDS_YOU, Run.Status.PAUSED, Run.Status.FAILED)
        return Standing(State.NEEDS_YOU if stuck else State.WORKING, build, build.why)
    return _planned(item)


def _planned(item: BacklogItem) -> Standing:
    run = _run(item, Run.Kind.PLAN)
    plan = Plan.objects.filter(document=item.document).order_by("-version").first()
    if item.document is not None and item.document.status == RequirementDocument.Status.WITHDRAWN:
        return Standing(State.LEFT_OUT, run, "its document was withdrawn")
    if run is not None and run.status in (Run.Status.QUEUED, Run.Status.RUNNING):
        return Standing(State.WORKING, run, run.why)
    if plan is not None and plan.status == Plan.Status.APPROVED:
        return Standing(State.APPROVED, run, "its plan is approved")
    if plan is not None and plan.status == Plan.Status.SUPERSEDED:
        return Standing(State.LEFT_OUT, run, "another plan took the place of its plan")
    if run is None or run.status == Run.Status.CANCELLED:
        return Standing(State.LEFT_OUT, run, "its planning was cancelled")
    return Standing(State.NEEDS_YOU, run, run.why if plan is None else f"plan v{plan.version} is {plan.status}")


def _run(item: BacklogItem, kind: Run.Kind) -> Run | None:
    return Run.objects.filter(document=item.document_id, kind=kind).first() if item.document_id else None


class Rate(NamedTuple):
    """Tokens and cents that a minute of estimate took here so far, and over how many tasks; None: unknown."""

    tokens: float | None
    cents: float | None
    tasks: int


def rate_of(project: Project) -> Rate:
    """What merged tasks of the project took, by what they were estimated at."""
    merged = Task.objects.filter(run__project=project, status=Task.Status.MERGED).order_by()
    found = merged.aggregate(minutes=Sum("minutes"), tasks=Count("pk"))
    bill, minutes = costs.bill_of(project, task__status=Task.Status.MERGED), found["minutes"]
    if not (minutes and bill.tokens):
        return Rate(None, None, found["tasks"])
    return Rate(bill.tokens / minutes, float(bill.money) * 100 / minutes if bill.money else None, found["tasks"])


@dataclass
class Slot:
    """One ticket in the plan of the scheduler. `out` is why it does not fit: window, a measure, or behind."""

    item: BacklogItem
    progress: Standing
    start: datetime
    end: datetime
    need: dict[str, int]
    out: str = ""


@dataclass
class Forecast:
    """What the scheduler will do in the current or next opening of the window."""

    night: Night
    now: datetime
    used: dict[str, int]
    blocks: list[Slot] = field(default_factory=list)
    rate: Rate = field(default_factory=lambda: Rate(None, None, 0))
    # What would let the first ticket that is out fit: (what, its new value); "" when one change is not enough.
    offer: tuple[str, str] | None = None

    @property
    def inside(self) -> list[Slot]:
        """What gets done, as far as it can be told."""
        return [block for block in self.blocks if not block.out]

    @property
    def outside(self) -> list[Slot]:
        """What does not fit."""
        return [block for block in self.blocks if block.out]

    def total(self, measure: str) -> int:
        """What is used when everything that fits is done."""
        return self.used[measure] + sum(block.need[measure] for block in self.inside)


def does_not_fit(item: BacklogItem, now: datetime) -> str:
    """Why a ticket may not begin now: "window", or the measure whose cap it would break; "" when it may."""
    night = night_of(hours_of(item.project), now)
    end = now + timedelta(minutes=item.minutes or 0)
    need = _need(item.minutes or 0, rate_of(item.project))
    found = _violations(night, used_in(item.project, night.span, now), need, end)
    return found[0] if found else ""


def _need(minutes: float, rate: Rate) -> dict[str, int]:
    amounts = {"tokens": rate.tokens or 0, "minutes": 1.0, "cents": rate.cents or 0}
    return {name: round(minutes * amount) for name, amount in amounts.items()}


def _violations(night: Night, used: Mapping[str, int], need: Mapping[str, int], end: datetime) -> list[str]:
    """What is broken when so much more is used, until `end`; the window first."""
    over = [name for name, cap in night.caps.items() if cap is not None and used[name] + need[name] > cap]
    return [WINDOW] * (end > night.span.closes) + over


def simulate(project: Project, now: datetime) -> Forecast:
    """Go through the tickets in order, as the scheduler will; what does not fit is placed behind, marked."""
    night = night_of(hours_of(project), now)
    used = used_in(project, night.span, now)
    found = Forecast(night, now, used, rate=rate_of(project))
    at, spent = max(now, night.span.opens), dict(used)
    for item in open_items(project).filter(assigned_at__isnull=False).select_related("document", "project"):
        stands = progress_of(item)
        if stands.state not in (State.WAITING, State.WORKING, State.APPROVED, State.NEEDS_YOU):
            continue
        length = timedelta(minutes=item.minutes or 0)
        if stands.run is not None and stands.run.started_at is not None and item.minutes:
            length = max(SHORTEST, length - (now - stands.run.started_at))
        need = _need(length.total_seconds() / 60, found.rate)
        broken = _violations(night, spent, need, at + length)
        block = Slot(item, stands, at, at + length, need)
        if stands.state in (State.WAITING, State.APPROVED):
            block.out = broken[0] if broken else BEHIND if found.outside else ""
        if block.out and found.offer is None:
            found.offer = _offer(night, broken, spent, need, at + length)
        found.blocks.append(block)
        at += length
        spent = {name: spent[name] + need[name] for name in spent}
    return found


def _offer(
    night: Night, broken: list[str], spent: Mapping[str, int], need: Mapping[str, int], end: datetime
) -> tuple[str, str]:
    """The one change that lets a ticket in; ("", "") when it takes more than one."""
    if len(broken) != 1:
        return "", ""
    if broken[0] == WINDOW:
        short = night.is_limited and end - night.span.closes < timedelta(hours=4)
        return ("closes", end.isoformat()) if short else ("", "")
    step = {"tokens": 10_000, "minutes": 5, "cents": 10}[broken[0]]
    return broken[0], str(-(-(spent[broken[0]] + need[broken[0]]) // step) * step)
