"""The weekly report: what was delivered, what it cost, what is stuck, what needs somebody, and how well the agents did.

One object, from which the page, the e-mail, the CSV and the command line are made.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from projects.models import Project, Run, Task
from projects.services.audit.exports import csv_row
from projects.services.insight import costs
from projects.services.insight.attention import OpenQuestion
from projects.services.insight.cost_rows import COLUMNS, CostRow
from projects.services.insight.costs import SHARED, Bill, Feature
from projects.services.insight.measures import Measure, WeekFacts, facts_of, measures_of
from projects.services.insight.weeks import Week
from projects.values.wording import counted, dollars, words

TREND = 6  # weeks of the small charts, this one included


@dataclass(frozen=True)
class TrendPoint:
    """One week of the small charts."""

    week: Week
    bill: Bill
    delivered: int
    resolved: tuple[int, int]  # without a person, of how many
    money: str


@dataclass(frozen=True)
class WeeklyReport:
    """One week of some projects."""

    week: Week
    projects: Sequence[Project]
    as_of: datetime
    recording: bool  # its figures are those of recordings
    left_out_tokens: int  # of recordings that it leaves out
    needs: Sequence[OpenQuestion]
    delivered: dict[Project, list[str]]
    stuck: Sequence[Task]
    groups: Sequence[tuple[Project | None, Sequence[CostRow]]]
    total: Bill
    ledger: int
    measures: Sequence[Measure]
    trend: Sequence[TrendPoint]
    entries: Sequence[costs.UsageEntry]  # of this week

    @property
    def adds_up(self) -> bool:
        """Whether the rows are the ledger, to the last token."""
        return sum(row.bill.tokens for row in self.rows) == self.total.tokens == self.ledger

    @property
    def rows(self) -> list[CostRow]:
        """The rows of all groups."""
        return [row for _, rows in self.groups for row in rows]

    @property
    def sum(self) -> CostRow:
        """The row of the total."""
        return CostRow("", self.total)

    @property
    def delivered_count(self) -> int:
        """How many requirements were delivered."""
        return sum(map(len, self.delivered.values()))

    @property
    def is_empty(self) -> bool:
        """Whether nothing happened in it."""
        return not (self.total.amounts.calls or self.delivered_count or self.total.amounts.human_ms)

    @property
    def is_quiet(self) -> bool:
        """Whether nothing happened in it or in the weeks of its trend."""
        return self.is_empty and not any(point.bill.tokens or point.delivered for point in self.trend)

    @property
    def has_money(self) -> bool:
        """Whether every part of it has a price."""
        return not self.recording and self.total.money is not None

    @property
    def trend_delivered(self) -> list[float | None]:
        """For a chart."""
        return [float(point.delivered) for point in self.trend]

    @property
    def trend_resolved(self) -> list[float | None]:
        """For a chart, in percent; None for a week without an ended task."""
        return [100 * alone / n if n else None for alone, n in (point.resolved for point in self.trend)]

    @property
    def trend_spent(self) -> list[float | None]:
        """For a chart: money, or tokens where a price is missing."""
        return [float(point.bill.money or 0) if self.has_money else float(point.bill.tokens) for point in self.trend]

    @property
    def spent(self) -> str:
        """What it took, in money, else in tokens."""
        return dollars(self.total.money) if self.has_money else f"{self.total.tokens:,} tokens"

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        if self.is_empty:
            return f"No work was done in week {self.week.number}" + (f"; {self._stuck}" if self.stuck else "")
        what = f"{words(self.delivered_count)} requirement{'s' * (self.delivered_count != 1)} delivered"
        return f"{what.capitalize()} for {self.spent}" + (f"; {self._stuck}" if self.stuck else "")

    @property
    def _stuck(self) -> str:
        n = len(self.stuck)
        return f"{words(n)} task{'s are' if n != 1 else ' is'} stuck"

    @property
    def lede(self) -> str:
        """Two or three sentences on it: against the week before, against the target, and what waits."""
        before = self.trend[-2].delivered if len(self.trend) > 1 else 0
        more = self.delivered_count - before
        said = [
            f"The week before, it was {words(before)}."
            if not more
            else f"That is {words(abs(more))} {'more' if more > 0 else 'fewer'} than the week before."
        ]
        cost = next(one for one in self.measures if one.key == "cost")
        if cost.n and cost.shown.startswith("$"):
            said.append(f"A delivered requirement cost {cost.shown} on average; the target is $0.50.")
        if self.needs:
            behind = sum(one.behind for one in self.needs)
            n = len(self.needs)
            said.append(
                f"{words(n).capitalize()} decision{'s wait' if n != 1 else ' waits'} for a person"
                + (f", with {counted(behind, 'task')} behind {'them' if n != 1 else 'it'}." if behind else ".")
            )
        return " ".join(said)

    @property
    def notes(self) -> list[str]:
        """What one must know to read the table of costs."""
        prices, said = self.total.prices, []
        local = self.total.amounts.ms and not self.recording
        if self.recording:
            said.append("All of this is a recording: no model worked, so there is neither energy nor money.")
        elif local and self.total.kwh is None:
            said.append("Energy is unknown: nothing measured it, and AISWE_WATTS is not set.")
        elif local and self.total.local.unmeasured_ms:
            said.append(f"* estimated: {float(prices.watts or 0):g} W while a model works.")
        if self.total.amounts.millijoules:
            said.append("Energy without * was measured by this machine.")
        if local and prices.kwh is None and self.total.energy is None:
            said.append("AISWE_KWH_PRICE is not set, so models on this machine have no price; that does not mean $0.")
        elif prices.kwh is not None and not self.recording:
            said.append(f"${float(prices.kwh):g} per kWh.")
        said.append(
            "Work on a task with several requirements is divided equally among them; planning and what belongs to no "
            "requirement keeps its own row. Money is rounded in each row."
        )
        said.append(
            f"Minutes of people: from a question to the answer, each at most {costs.MOST_MINUTES} min; an upper bound."
        )
        if self.left_out_tokens:
            said.append(f"Recordings with {self.left_out_tokens:,} tokens are left out.")
        return said

    def document(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "week": str(self.week),
            "as_of": self.as_of.isoformat(),
            "headline": self.headline,
            "recording": self.recording,
            "needs": [
                {"project": one.project.slug, "title": one.title, "since": one.since.isoformat(), "behind": one.behind}
                for one in self.needs
            ],
            "delivered": {project.slug: names for project, names in self.delivered.items()},
            "stuck": [
                {"project": task.run.project.slug, "task": task.key, "title": task.title, "why": task.why}
                for task in self.stuck
            ],
            "costs": [row.raw(self.week) for row in self.rows],
            "total_tokens": self.total.tokens,
            "ledger_tokens": self.ledger,
            "adds_up": self.adds_up,
            "measures": [
                {name: getattr(one, name) for name in "key name shown n target met definition".split()}
                for one in self.measures
            ],
        }

    def csv(self) -> str:
        """The costs as CSV, one feature a line, not rounded to cents."""
        return "".join(csv_row(cells) for cells in [COLUMNS, *(row.raw(self.week).values() for row in self.rows)])


def only_recordings(projects: QuerySet[Project]) -> bool:
    """Whether all that ever ran in the projects is recordings: then reports are of those, and say so."""
    kinds = set(Run.objects.filter(project__in=projects).order_by().values_list("recording", flat=True).distinct())
    return kinds == {True}


def weekly_report(
    projects: QuerySet[Project],
    week: Week,
    *,
    now: datetime,
    needs: Sequence[OpenQuestion] = (),
    recording: bool | None = None,
) -> WeeklyReport:
    """The report of a week. With recording=None it is of real runs, or of recordings where there is nothing else.

    Takes a constant number of queries.
    """
    recording = only_recordings(projects) if recording is None else recording
    first = week.shifted(1 - TREND)
    which = {"run__recording": recording}
    entries = costs.entries_of(projects, first.start, week.end, by_day=True, **which)
    entries += costs.answers_of(projects, first.start, week.end, recording=recording)
    here = [entry for entry in entries if entry.week == week]
    facts = facts_of(projects, first.start, week.end, recording=recording)
    bills, names = costs.by_feature(here, costs.features_of(projects, entries)), costs.names_of(projects)
    now_facts = facts.between(week.start, week.end)
    stuck = list(_stuck(projects, recording))
    found = {project.pk: project for project in projects}
    delivered: dict[Project, list[str]] = defaultdict(list)
    for one in now_facts.delivered:
        delivered[found[one.feature.project]].append(names.get(one.feature, one.feature.key))
    held = {Feature(task.run.project_id, row.key) for task in stuck for row in task.requirements.all()}
    measures = measures_of(now_facts, _since_begun(projects, week, now_facts.delivered, recording), names)
    return WeeklyReport(
        week,
        list(found.values()),
        now,
        recording,
        0 if recording else costs.ledger_tokens(projects, week.start, week.end, run__recording=True),
        needs,
        dict(delivered),
        stuck,
        list(_groups(found, bills, names, held)),
        costs.total_of(here),
        costs.ledger_tokens(projects, week.start, week.end, **which),
        [_of_recording(one) for one in measures] if recording else measures,
        list(_trend(week, entries, facts)),
        here,
    )


def _of_recording(measure: Measure) -> Measure:
    """A measure of recordings: nothing to judge a model by."""
    words = measure.definition.replace("since a price is missing", "since a recording has no price")
    return replace(measure, met=None, definition=words)


def _stuck(projects: QuerySet[Project], recording: bool) -> QuerySet[Task]:
    stuck = (Task.Status.ESCALATED, Task.Status.NEEDS_YOU)
    rows = Task.objects.filter(run__project__in=projects, run__recording=recording, status__in=stuck)
    rows = rows.exclude(run__status__in=Run.OVER).order_by("run__project_id", "ordinal")
    return rows.select_related("run__project").prefetch_related("requirements")


def _in_order(key: str) -> list[tuple[int, str]]:
    """R2 comes before R10."""
    return [(int(part) if part.isdecimal() else 0, part) for part in re.split(r"(\d{1,9})", key)]


def _groups(
    projects: dict[int, Project], bills: dict[Feature, Bill], names: dict[Feature, str], held: set[Feature]
) -> Iterator[tuple[Project | None, list[CostRow]]]:
    """The features by project, then what belongs to no feature."""
    shared = []
    for pk in sorted(projects, key=lambda pk: (projects[pk].name, pk)):
        project = projects[pk]
        mine = sorted((feature for feature in bills if feature.project == pk), key=lambda one: _in_order(one.key))
        rows = [CostRow(names.get(one, ""), bills[one], project, one.key, "", one in held) for one in mine if one.key]
        if rows:
            yield project, rows
        if rest := bills.get(Feature(pk, SHARED)):
            shared.append(CostRow(f"Planning and shared work of {project.name}", rest, project))
    if shared:
        yield None, shared


def _since_begun(
    projects: QuerySet[Project], week: Week, delivered: Sequence[Any], recording: bool
) -> dict[Feature, Bill]:
    """What the delivered features took since work on them began."""
    if not delivered:
        return {}
    keys = {one.feature.key for one in delivered}
    pairs = Task.requirements.through.objects.filter(task__run__project__in=projects, requirement__key__in=keys)
    tasks = pairs.order_by().values("task")
    entries = costs.entries_of(projects, None, week.end, run__recording=recording, task__in=tasks)
    entries += costs.answers_of(projects, None, week.end, recording=recording)
    return costs.by_feature(entries, costs.features_of(projects, entries))


def _trend(week: Week, entries: Sequence[costs.UsageEntry], facts: WeekFacts) -> Iterator[TrendPoint]:
    bills = costs.by_group(entries, lambda entry: entry.week)
    for back in range(1 - TREND, 1):
        one = week.shifted(back)
        part = facts.between(one.start, one.end)
        alone = sum(task.merged and not task.touched for task in part.ended)
        bill = bills.get(one, Bill())
        yield TrendPoint(one, bill, len(part.delivered), (alone, len(part.ended)), dollars(bill.money))
