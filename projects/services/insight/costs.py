"""What work cost, by feature, task, project and week: tokens, model seconds, energy, money, minutes of people.

A feature is a requirement of a project. Work on a task with several requirements is divided equally among them, to the
last token and millisecond; work of no requirement (planning, tests on request) keeps a row of its own. So rows add up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import reduce
from typing import Any, NamedTuple, TypeVar

from django.conf import settings
from django.db.models import Count, F, Q, QuerySet, Sum

from projects.models import Approval, Project, Requirement, Task, Usage
from projects.models.project import RECORDING
from projects.services.insight.prices import MILLION, ModelPrice, PriceList
from projects.services.insight.weeks import Week

MOST_MINUTES = 10  # that one answer counts: longer than that, a person was not at it all the time
K = TypeVar("K")
SHARED = ""  # the key of what belongs to no feature


class Feature(NamedTuple):
    """A requirement by its project and key, or with SHARED what belongs to none."""

    project: int
    key: str


class Amounts(NamedTuple):
    """Whole numbers, so that they can be divided and added without loss. `sent` includes `reused`."""

    calls: int = 0
    sent: int = 0
    reused: int = 0
    written: int = 0
    ms: int = 0
    millijoules: int = 0  # measured
    unmeasured_ms: int = 0  # of `ms`, those without a measurement
    human_ms: int = 0  # of people, by the definition of `human_ms_of`

    def plus(self, other: Amounts) -> Amounts:
        """The sum."""
        return Amounts(*(one + another for one, another in zip(self, other, strict=True)))

    def divided(self, parts: int) -> list[Amounts]:
        """Equal parts that add up: the first ones take what is left over."""
        columns = [[whole // parts + (place < whole % parts) for place in range(parts)] for whole in self]
        return [Amounts(*row) for row in zip(*columns, strict=True)]


@dataclass(frozen=True)
class UsageEntry:
    """The model calls of one task (None: of none) with one model; or an answer of a person, which calls none."""

    project: int
    task: int | None
    model: str
    recording: bool
    amounts: Amounts
    day: date | None = None

    @property
    def week(self) -> Week | None:
        """The week of its day."""
        return Week(*self.day.isocalendar()[:2]) if self.day else None


def prices_in_force() -> PriceList:
    """The prices of this installation."""
    kwh, watts = (Decimal(str(value)) if value else None for value in (settings.KWH_PRICE, settings.WATTS))
    return PriceList(settings.MODEL_PRICES, kwh, watts)


@dataclass
class Bill:
    """What one row of a report took. Money and energy are None where a price or a figure is missing.

    Recordings count their tokens and seconds; they take no energy and no money, since no model works.
    """

    prices: PriceList = field(default_factory=prices_in_force)
    by_model: dict[str, Amounts] = field(default_factory=dict)
    others: Amounts = field(default_factory=Amounts)  # of recordings and people

    def add(self, entry: UsageEntry, amounts: Amounts) -> None:
        """Count these amounts of an entry."""
        if entry.recording:
            self.others = self.others.plus(amounts)
        else:
            self.by_model[entry.model] = self.by_model.get(entry.model, Amounts()).plus(amounts)

    @property
    def amounts(self) -> Amounts:
        """All models together, recordings included."""
        return _sum([self.others, *self.by_model.values()])

    @property
    def tokens(self) -> int:
        """Sent and written."""
        return self.amounts.sent + self.amounts.written

    @property
    def human_minutes(self) -> float:
        """Minutes of people."""
        return self.amounts.human_ms / 60_000

    @property
    def local(self) -> Amounts:
        """What models on this machine took."""
        return _sum(amounts for model, amounts in self.by_model.items() if model not in self.prices.models)

    @property
    def kwh(self) -> Decimal | None:
        """Energy of the models on this machine."""
        return self.prices.kwh_of(millijoules=self.local.millijoules, unmeasured_ms=self.local.unmeasured_ms)

    @property
    def energy(self) -> Decimal | None:
        """What that energy cost."""
        kwh = self.kwh
        if kwh == 0:
            return Decimal(0)
        return None if kwh is None or self.prices.kwh is None else kwh * self.prices.kwh

    @property
    def api(self) -> Decimal:
        """What the models with a price took."""
        priced = [(self.prices.models.get(name), amounts) for name, amounts in self.by_model.items()]
        return sum((_price_of(price, amounts) for price, amounts in priced if price), Decimal(0))

    @property
    def money(self) -> Decimal | None:
        """Energy and tokens together; None where a part has no price, and for recordings alone."""
        if self.energy is None or (self.others.calls and not self.by_model):
            return None
        return self.energy + self.api


def _sum(parts: Iterable[Amounts]) -> Amounts:
    return reduce(Amounts.plus, parts, Amounts())


def _price_of(price: ModelPrice, amounts: Amounts) -> Decimal:
    fresh = amounts.sent - amounts.reused
    return (fresh * price.sent + amounts.reused * price.reused + amounts.written * price.written) / MILLION


def entries_of(
    projects: QuerySet[Project],
    start: datetime | None = None,
    end: datetime | None = None,
    *,
    by_day: bool = False,
    **which: Any,
) -> list[UsageEntry]:
    """The model calls of projects from `start` up to but without `end`, by task and model; with `by_day` by day too.

    `which` are further lookups of Usage, like run__recording=False.
    """
    rows = Usage.objects.filter(run__project__in=projects, **_window("at", start, end), **which).order_by()
    columns = ["run__project_id", "task_id", "model", "run__recording", *(["at__date"] if by_day else [])]
    sums = {name: Sum(name) for name in ("prompt_tokens", "reused_tokens", "completion_tokens", "seconds")}
    found = rows.values(*columns).annotate(
        calls=Count("pk"),
        **{f"all_{name}": total for name, total in sums.items()},
        joules_all=Sum("joules", default=0.0),
        unmeasured=Sum("seconds", filter=Q(joules__isnull=True), default=0.0),
    )
    return [
        UsageEntry(
            row["run__project_id"],
            row["task_id"],
            row["model"],
            row["run__recording"],
            Amounts(
                row["calls"],
                row["all_prompt_tokens"],
                row["all_reused_tokens"],
                row["all_completion_tokens"],
                round(row["all_seconds"] * 1000),
                round(row["joules_all"] * 1000),
                round(row["unmeasured"] * 1000),
            ),
            row.get("at__date"),
        )
        for row in found
    ]


def bill_of(project: Project, start: datetime | None = None, end: datetime | None = None, **which: Any) -> Bill:
    """What the model calls of a project took, all in one."""
    return total_of(entries_of(Project.objects.filter(pk=project.pk), start, end, **which))


def _window(name: str, start: datetime | None, end: datetime | None) -> dict[str, datetime]:
    bounds = {f"{name}__gte": start, f"{name}__lt": end}
    return {lookup: moment for lookup, moment in bounds.items() if moment is not None}


def features_of(projects: QuerySet[Project], entries: Iterable[UsageEntry]) -> dict[int, list[str]]:
    """The keys of the requirements that tasks are for; a sub-task is for those of the task that asked for it."""
    wanted = {entry.task for entry in entries if entry.task is not None}
    pairs = Task.requirements.through.objects.filter(task__run__project__in=projects)
    found: dict[int, list[str]] = defaultdict(list)
    for task, key in pairs.order_by("task_id", "requirement__ordinal").values_list("task_id", "requirement__key"):
        found[task].append(key)
    asked = Task.objects.filter(run__project__in=projects, asked_by__isnull=False)
    parents = dict(asked.values_list("pk", "asked_by_id"))
    for task in wanted:
        parent: int | None = task
        while parent is not None and parent not in found:
            parent = parents.get(parent)
        if parent is not None and task not in found:
            found[task] = found[parent]
    return {task: list(dict.fromkeys(found[task])) for task in wanted if task in found}


def by_feature(entries: Iterable[UsageEntry], features: Mapping[int, Sequence[str]]) -> dict[Feature, Bill]:
    """A bill for each feature, and with SHARED one for each project; all together they are exactly the entries."""
    bills: dict[Feature, Bill] = defaultdict(Bill)
    for entry in entries:
        keys = (features.get(entry.task) if entry.task is not None else None) or (SHARED,)
        for key, part in zip(keys, entry.amounts.divided(len(keys)), strict=True):
            bills[Feature(entry.project, key)].add(entry, part)
    return dict(bills)


def total_of(entries: Iterable[UsageEntry]) -> Bill:
    """All entries on one bill."""
    return by_group(entries, lambda entry: None).get(None, Bill())


def by_group(entries: Iterable[UsageEntry], group: Callable[[UsageEntry], K]) -> dict[K, Bill]:
    """A bill for each task, project, day, week or model of the entries, as `group` names it."""
    bills: dict[K, Bill] = defaultdict(Bill)
    for entry in entries:
        bills[group(entry)].add(entry, entry.amounts)
    return dict(bills)


def human_ms_of(requested: datetime, decided: datetime) -> int:
    """Milliseconds from a question to its answer, at most MOST_MINUTES: an upper bound of the time it took a person."""
    waited = max(timedelta(0), min(decided - requested, timedelta(minutes=MOST_MINUTES)))
    return round(waited.total_seconds() * 1000)


def answers_of(
    projects: QuerySet[Project], start: datetime | None = None, end: datetime | None = None, *, recording: bool
) -> list[UsageEntry]:
    """The time of the people who answered questions, of recordings or of real runs: entries beside those of models."""
    rows = Approval.objects.filter(
        project__in=projects, decided_by__isnull=False, **_window("decided_at", start, end)
    ).exclude(status=Approval.Status.CLOSED)
    played = Q(run__recording=True) | Q(run__isnull=True, project__model__startswith=RECORDING)
    rows = rows.filter(played) if recording else rows.exclude(played)
    return [
        UsageEntry(project, task, "", True, Amounts(human_ms=human_ms_of(asked, at)), at.astimezone(UTC).date())
        for project, task, asked, at in rows.values_list("project_id", "task_id", "requested_at", "decided_at")
        if at is not None
    ]


def names_of(projects: QuerySet[Project]) -> dict[Feature, str]:
    """What features are called: the first line of the newest requirement with their key."""
    rows = Requirement.objects.filter(document__project__in=projects).order_by("document__version", "ordinal")
    found = rows.values_list("document__project_id", "key", "text")
    return {Feature(project, key): (text.strip().splitlines() or [""])[0] for project, key, text in found}


def ledger_tokens(
    projects: QuerySet[Project], start: datetime | None = None, end: datetime | None = None, **which: Any
) -> int:
    """The tokens of the ledger, counted without regard to features: what every report must add up to."""
    rows = Usage.objects.filter(run__project__in=projects, **_window("at", start, end), **which)
    return int(rows.aggregate(all=Sum(F("prompt_tokens") + F("completion_tokens"), default=0))["all"])
