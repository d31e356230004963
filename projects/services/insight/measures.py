"""What a manager judges the agents by: each measure with its definition, how many cases it rests on, and those cases.

Under ten cases there is no percentage and no p90, but the counts: a rate of three tasks says nothing.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from django.db.models import Exists, OuterRef, Q, QuerySet

from projects.models import Approval, Attempt, Finding, Incident, Project, Task, Usage
from projects.services.insight.costs import Bill, Feature
from projects.values.wording import dollars, duration_in_minutes, span

ENOUGH = 10  # cases for a percentage or a p90
RESOLVED_PERCENT, CORRECTED_PERCENT = 80, 60
COST_TARGET = Decimal("0.50")
REPAIR_S = 600
TOKENS_PER_S = 30  # SWE-NFR-01


class EndedTask(NamedTuple):
    """A task that was merged, escalated or skipped; `touched`: a person answered, decided, noted or retried."""

    task: int
    name: str
    at: datetime
    merged: bool
    touched: bool


class TaskFailure(NamedTuple):
    """A task whose tests failed, from its first failed try to the next that passed; `over`: no try can follow."""

    task: int
    name: str
    failed_at: datetime
    passed_at: datetime | None
    touched: bool
    over: bool

    @property
    def seconds(self) -> float | None:
        """How long the repair took."""
        return (self.passed_at - self.failed_at).total_seconds() if self.passed_at else None


class EndedIncident(NamedTuple):
    """Something that went wrong where a project runs, from its first sign to its resolution."""

    incident: int
    name: str
    at: datetime
    seconds: float


class DeliveredFeature(NamedTuple):
    """A requirement of which all tasks are merged, since the last of them was."""

    feature: Feature
    at: datetime


class Case(NamedTuple):
    """One row behind a measure."""

    task: int | None  # the task whose page shows it
    name: str
    value: str
    counts: bool = True  # for the measure
    incident: int | None = None  # the incident whose page shows it


@dataclass(frozen=True)
class Measure:
    """One measure of a time."""

    key: str
    name: str
    shown: str  # "84 %", or under ten cases "7 of 9"; "–" without any
    n: int
    definition: str
    target: str = ""
    met: bool | None = None  # None: no target, or not enough to say
    cases: Sequence[Case] = ()
    points: Sequence[float] = ()  # one a case, for a chart


@dataclass(frozen=True)
class WeekFacts:
    """What happened in a time, as read by `facts_of`."""

    ended: Sequence[EndedTask]
    failures: Sequence[TaskFailure]
    delivered: Sequence[DeliveredFeature]
    speeds: Sequence[tuple[datetime, float]]  # tokens per second of each call
    incidents: Sequence[EndedIncident] = ()

    def between(self, start: datetime, end: datetime) -> WeekFacts:
        """Those of a part of the time. A failure counts when it began."""
        return WeekFacts(
            [one for one in self.ended if start <= one.at < end],
            [one for one in self.failures if start <= one.failed_at < end],
            [one for one in self.delivered if start <= one.at < end],
            [one for one in self.speeds if start <= one[0] < end],
            [one for one in self.incidents if start <= one.at < end],
        )


def facts_of(projects: QuerySet[Project], start: datetime, end: datetime, *, recording: bool) -> WeekFacts:
    """What happened in projects from `start` up to but without `end`; in recordings, or in real runs."""
    mine = Task.objects.filter(run__project__in=projects, run__recording=recording)
    people = Exists(Approval.objects.filter(task=OuterRef("pk"), decided_by__isnull=False)) | Exists(
        Finding.objects.filter(task=OuterRef("pk"), decided_by__isnull=False)
    )
    mine = mine.annotate(touched=people | ~Q(note="") | Q(generation__gt=1))
    over = [Task.Status.MERGED, Task.Status.ESCALATED, Task.Status.SKIPPED]
    ended = mine.filter(status__in=over, finished_at__gte=start, finished_at__lt=end).order_by("finished_at")
    columns = ("pk", "key", "title", "finished_at", "status", "touched")
    speeds = Usage.objects.filter(
        run__project__in=projects, run__recording=recording, at__gte=start, at__lt=end, completion_tokens__gt=0
    )
    return WeekFacts(
        [
            EndedTask(pk, f"{key} {title}", at, status == Task.Status.MERGED, touched)
            for pk, key, title, at, status, touched in ended.values_list(*columns)
            if at is not None
        ],
        _failures(mine, start, end),
        delivered_in(projects, start, end, recording=recording),
        [
            (at, float(told or written / seconds))
            for at, told, written, seconds in speeds.values_list("at", "tokens_per_s", "completion_tokens", "seconds")
            if told or seconds
        ],
        [] if recording else _incidents(projects, start, end),
    )


def _incidents(projects: QuerySet[Project], start: datetime, end: datetime) -> list[EndedIncident]:
    rows = Incident.objects.filter(
        target__project__in=projects, status=Incident.Status.RESOLVED, resolved_at__gte=start, resolved_at__lt=end
    )
    columns = ("pk", "title", "first_seen", "resolved_at")
    return [
        EndedIncident(pk, title, at, (at - first).total_seconds())
        for pk, title, first, at in rows.order_by("resolved_at").values_list(*columns)
        if at is not None
    ]


def _failures(tasks: QuerySet[Task], start: datetime, end: datetime) -> list[TaskFailure]:
    failed = Attempt.objects.filter(
        task=OuterRef("pk"), outcome=Attempt.Outcome.FAILED, finished_at__gte=start, finished_at__lt=end
    )
    hit = {task.pk: task for task in tasks.filter(Exists(failed))}
    tries = Attempt.objects.filter(task__in=tasks.filter(Exists(failed)), finished_at__isnull=False)
    by_task: dict[int, list[tuple[str, datetime]]] = defaultdict(list)
    for pk, outcome, at in tries.order_by("task_id", "number").values_list("task_id", "outcome", "finished_at"):
        if at is not None:
            by_task[pk].append((outcome, at))
    found = []
    for pk, rows in by_task.items():
        task = hit[pk]
        first = next(at for outcome, at in rows if outcome == Attempt.Outcome.FAILED)
        if not start <= first < end:
            continue  # it began before
        passed = next((at for outcome, at in rows if outcome == Attempt.Outcome.PASSED and at > first), None)
        over = task.status in (*Task.SETTLED, Task.Status.ESCALATED)
        name, touched = f"{task.key} {task.title}", bool(getattr(task, "touched", False))
        found.append(TaskFailure(pk, name, first, passed, touched, over))
    return sorted(found, key=lambda one: one.failed_at)


def delivered_in(
    projects: QuerySet[Project], start: datetime, end: datetime, *, recording: bool
) -> list[DeliveredFeature]:
    """The requirements whose last open task was merged in the time, by the newest run that worked on them then."""
    busy = Task.objects.filter(
        run__project__in=projects, run__recording=recording, finished_at__gte=start, finished_at__lt=end
    )
    pairs = Task.requirements.through.objects.filter(task__run__in=busy.order_by().values("run"))
    rows: dict[Feature, dict[int, list[tuple[str, datetime | None]]]] = defaultdict(lambda: defaultdict(list))
    columns = ("task__run__project_id", "requirement__key", "task__run_id", "task__status", "task__finished_at")
    for project, key, run, status, at in pairs.values_list(*columns):
        rows[Feature(project, key)][run].append((status, at))
    found = []
    for feature, runs in rows.items():
        tasks = runs[max(runs)]
        moments = [at for status, at in tasks if status == Task.Status.MERGED and at is not None]
        if len(moments) == len(tasks) and start <= max(moments) < end:
            found.append(DeliveredFeature(feature, max(moments)))
    return sorted(found, key=lambda one: (one.at, one.feature))


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that this share of the values does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def _rate(key: str, name: str, target: int, cases: Sequence[Case], definition: str) -> Measure:
    n, hits = len(cases), sum(case.counts for case in cases)
    enough = n >= ENOUGH
    shown = f"{100 * hits / n:.0f} %" if enough else f"{hits} of {n}" if n else "–"
    definition = f"{definition}: {hits} of {n}" if n else definition
    met = 100 * hits > target * n if enough else None
    return Measure(key, name, shown, n, definition, f"over {target} %", met, cases)


def _median_time(key: str, name: str, definition: str, cases: Sequence[Case], times: Sequence[float]) -> Measure:
    """The middle of some times to resolution; from ENOUGH cases on it is judged, and a p90 goes with it."""
    n, shown, met = len(times), "–", None
    if times:
        median = statistics.median(times)
        shown, met = span(median), median < REPAIR_S if n >= ENOUGH else None
        last = f"slowest {span(max(times))}; a p90 is given from n = {ENOUGH}"
        definition += f"; {f'p90 {span(percentile(times, 0.9))}' if n >= ENOUGH else last}"
    return Measure(key, name, shown, n, definition, "under 10 min", met, cases, times)


def _repair_time(failures: Iterable[TaskFailure]) -> Measure:
    fixed = [(one, one.seconds) for one in failures if one.seconds is not None]
    cases = [Case(one.task, one.name, span(seconds)) for one, seconds in fixed]
    definition = "from a task's first failing test run to the next that passes"
    return _median_time("repair", "Failure to fix, median", definition, cases, [seconds for _, seconds in fixed])


def _incident_time(ended: Sequence[EndedIncident]) -> list[Measure]:
    """Nothing where nothing went wrong: most projects are not deployed from here."""
    if not ended:
        return []
    cases = [Case(None, one.name, span(one.seconds), incident=one.incident) for one in ended]
    definition = "from the first sign of an incident of a deployment until it was resolved"
    times = [one.seconds for one in ended]
    return [_median_time("incident", "Incident to resolution, median", definition, cases, times)]


def _speed(speeds: Sequence[tuple[datetime, float]]) -> Measure:
    n, shown, met = len(speeds), "–", None
    if speeds:
        median = statistics.median(speed for _, speed in speeds)
        shown, met = f"{median:.0f} tokens/s", median >= TOKENS_PER_S if n >= ENOUGH else None
    definition = "generated tokens by seconds of each call, as the model's server told, else by the time of the call"
    return Measure("speed", "Model speed, median", shown, n, definition, "at least 30 tokens/s", met)


def _per_feature(
    delivered: Sequence[DeliveredFeature], costs: dict[Feature, Bill], names: dict[Feature, str]
) -> list[Measure]:
    bills = [
        (f"{one.feature.key} {names.get(one.feature, one.feature.key)}", costs.get(one.feature, Bill()))
        for one in delivered
    ]
    n, known = len(bills), [bill.money for _, bill in bills if bill.money is not None]
    priced, shown, met, people = 0 < n == len(known), "–", None, "–"
    if n:
        average = sum(known, Decimal(0)) / n
        shown = dollars(average) if priced else f"{sum(bill.tokens for _, bill in bills) // n:,} tokens"
        met = average < COST_TARGET if priced and n >= ENOUGH else None
        people = duration_in_minutes(sum(bill.human_minutes for _, bill in bills) / n)
    what = "energy and tokens" if priced else "tokens, since a price is missing,"
    definition = f"all {what} of the delivered requirements since work on them began ÷ their number"
    cases = [Case(None, name, dollars(bill.money) if priced else f"{bill.tokens:,} tokens") for name, bill in bills]
    upper = (
        "from a question to a person's answer, each at most 10 min: an upper bound, since other work in between "
        "counts too; of the delivered requirements ÷ their number"
    )
    own = [Case(None, name, f"{bill.human_minutes:.1f} min") for name, bill in bills]
    return [
        Measure("cost", "Cost per delivered feature", shown, n, definition, "under $0.50", met, cases),
        Measure("people", "Minutes of people per feature", people, n, upper, "", None, own),
    ]


def measures_of(facts: WeekFacts, costs: dict[Feature, Bill], names: dict[Feature, str]) -> list[Measure]:
    """All measures of a time. `costs` are those of the delivered features since they began."""
    ended = [
        Case(
            one.task,
            one.name,
            "not merged" if not one.merged else "a person was asked" if one.touched else "merged",
            one.merged and not one.touched,
        )
        for one in facts.ended
    ]
    failed = [
        Case(
            one.task,
            one.name,
            "not fixed" if one.passed_at is None else "fixed with a person" if one.touched else "fixed",
            one.passed_at is not None and not one.touched,
        )
        for one in facts.failures
        if one.passed_at is not None or one.over
    ]
    return [
        _rate(
            "resolved",
            "Resolved without a person",
            RESOLVED_PERCENT,
            ended,
            "tasks merged without a person's answer, note or retry ÷ tasks merged, escalated or skipped",
        ),
        _rate(
            "corrected",
            "Failures repaired by the agents",
            CORRECTED_PERCENT,
            failed,
            "tasks with failing tests that passed later without a person ÷ all that passed or ended",
        ),
        *_per_feature(facts.delivered, costs, names),
        _repair_time(facts.failures),
        *_incident_time(facts.incidents),
        _speed(facts.speeds),
    ]
