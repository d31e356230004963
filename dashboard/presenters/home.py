"""What the home page shows: what waits, the week in five numbers, each project with its graph, and what was spent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Count, Max, Q, Sum
from django.utils.safestring import SafeString

from dashboard.access import visibility
from dashboard.drawing import minigraph
from dashboard.drawing.dag import entries_of
from dashboard.drawing.minigraph import MiniCell
from projects.models import Approval, Plan, Project, Run, Task, Usage
from projects.services.insight.attention import OpenQuestion, waiting_for
from projects.services.insight.costs import Bill, by_group
from projects.services.insight.measures import REPAIR_S, RESOLVED_PERCENT, Measure
from projects.services.insight.report import WeeklyReport, weekly_report
from projects.services.insight.weeks import Week
from projects.values.wording import counted, dollars, words

MOST = 200  # projects
ORDER = ("needs", "working", "done", "archived")
CHART_W, CHART_H, BASE = 312, 124, 104


@dataclass(frozen=True)
class ProjectRow:
    """A project on the home page."""

    project: Project
    run: Run | None
    asks: int
    picture: SafeString
    spent: str  # this week
    tokens: int  # of its newest build
    cap: int

    @property
    def phase(self) -> str:
        """Needs you, working, done or archived."""
        if self.project.archived_at:
            return "archived"
        if self.asks or self.run is None or self.run.status in ("needs_you", "paused", "failed"):
            return "needs"
        return "done" if self.run.status in Run.OVER else "working"


def rows_of(user: User, report: WeeklyReport) -> list[ProjectRow]:
    """The projects a person sees, those that need somebody first. Takes a constant number of queries."""
    asks = Count("approvals", filter=Q(approvals__status=Approval.Status.PENDING), distinct=True)
    builds = Max("runs", filter=Q(runs__kind=Run.Kind.BUILD))
    rows = visibility.visible(Project, user).annotate(
        asks=asks,
        newest_run=Max("runs", filter=~Q(runs__kind=Run.Kind.CHAT)),
        newest_build=builds,
        newest_plan=Max("plans"),
    )
    projects = list(rows.order_by("-pk")[:MOST])
    runs = visibility.counted(Run.objects.all()).in_bulk([p.newest_run for p in projects if p.newest_run])
    built = [p.newest_build for p in projects if p.newest_build]
    plans = Plan.objects.in_bulk([p.newest_plan for p in projects if p.newest_plan and not p.newest_build])
    graphs = _graphs(built)
    spent = Usage.objects.filter(run__in=built).order_by().values_list("run")
    tokens = dict(spent.annotate(all=Sum("prompt_tokens") + Sum("completion_tokens")))
    week = by_group(report.entries, lambda entry: entry.project)
    found = [
        ProjectRow(
            project,
            runs.get(project.newest_run),
            project.asks,
            minigraph.draw(graphs.get(project.newest_build) or _proposed(plans.get(project.newest_plan))),
            _spent(report, week.get(project.pk)),
            tokens.get(project.newest_build, 0),
            int(project.limits.get("run_tokens", 0)),
        )
        for project in projects
    ]
    return sorted(found, key=lambda row: ORDER.index(row.phase))


def _graphs(runs: Iterable[int]) -> dict[int, dict[int, MiniCell]]:
    needs: dict[int, list[int]] = defaultdict(list)
    edges = Task.needs.through.objects.filter(from_task__run__in=runs)
    for task, needed in edges.values_list("from_task_id", "to_task_id"):
        needs[task].append(needed)
    found: dict[int, dict[int, MiniCell]] = defaultdict(dict)
    rows = Task.objects.filter(run__in=runs).order_by("ordinal")
    for pk, run, status in rows.values_list("pk", "run_id", "status"):
        found[run][pk] = MiniCell(status, needs[pk])
    return found


def _proposed(plan: Plan | None) -> dict[int, MiniCell]:
    """The tasks of a plan that nobody has built."""
    entries = entries_of(plan) if plan else []
    places = {str(entry.get("key")): place for place, entry in enumerate(entries)}
    return {
        place: MiniCell("proposed", [places[str(need)] for need in entry.get("needs") or () if str(need) in places])
        for place, entry in enumerate(entries)
    }


def _spent(report: WeeklyReport, bill: Bill | None) -> str:
    if bill is None or not bill.amounts.calls:
        return ""
    return dollars(bill.money) if bill.money is not None and not report.recording else f"{bill.tokens:,} tokens"


@dataclass(frozen=True)
class SpendChart:
    """The spending of a week by day, added up: as a line of steps, against the budget if there is one."""

    line: str
    area: str
    cap_y: float | None
    at: tuple[float, float]
    days: Sequence[tuple[str, str, float]]  # its name, what was spent up to it, and where it stands


def spend_chart(report: WeeklyReport, budget: Decimal | None) -> SpendChart:
    """The chart of a week, up to the day of the report."""
    money = report.has_money
    last = min(6, (report.as_of.date() - report.week.start.date()).days)
    total, sums, days = Decimal(0), [], by_group(report.entries, lambda entry: entry.day)
    for place in range(last + 1):
        bill = days.get((report.week.start + timedelta(days=place)).date(), Bill())
        total += (bill.money or 0) if money else bill.tokens
        sums.append(total)
    most = float(max([*sums, budget if money and budget else Decimal(0), Decimal(1) if not money else Decimal("0.01")]))
    step = CHART_W / 7
    heights = [round(BASE - float(one) / most * (BASE - 14), 1) for one in sums]
    line = f"M0 {BASE}" + "".join(f"H{round(place * step + 8, 1)}V{y}" for place, y in enumerate(heights))
    end = round(last * step + step - 4, 1)
    names = "Mo Tu We Th Fr Sa Su".split()
    shown = [dollars(one) if money else f"{one:,} tokens" for one in sums]
    return SpendChart(
        f"{line}H{end}",
        f"{line}H{end}V{BASE}H0Z",
        round(BASE - float(budget) / most * (BASE - 14), 1) if money and budget else None,
        (end, heights[-1] if heights else BASE),
        [(name, shown[place] if place <= last else "", round(place * step + 8, 1)) for place, name in enumerate(names)],
    )


def home_of(user: User, now: datetime) -> dict[str, Any]:
    """Everything that the page shows."""
    needs = waiting_for(user, now)
    report = weekly_report(visibility.visible(Project, user), Week.of(now), now=now, needs=needs)
    rows = rows_of(user, report)
    budget = Decimal(str(settings.WEEK_BUDGET)) if settings.WEEK_BUDGET else None
    measures = {one.key: one for one in report.measures}
    return {
        "report": report,
        "needs": needs[:6],
        "more": max(0, len(needs) - 6),
        "rows": [row for row in rows if row.phase != "archived"],
        "has_graphs": any(row.picture.startswith("<svg") for row in rows),
        "archived": [row for row in rows if row.phase == "archived"],
        "headline": headline_of(needs, rows),
        "behind": behind_of(needs),
        "tiles": list(tiles_of(report, measures)),
        "repair": measures["repair"],
        "repair_target": REPAIR_S,
        "budget": dollars(budget) if budget else "",
        "chart": spend_chart(report, budget),
    }


def headline_of(needs: Sequence[OpenQuestion], rows: Sequence[ProjectRow]) -> str:
    """The answer to: does anything need me?"""
    if needs:
        return f"{words(len(needs)).capitalize()} decision{'s wait' if len(needs) > 1 else ' waits'} for you"
    working = sum(row.phase == "working" for row in rows)
    if working:
        return f"Nothing is waiting for you; work goes on in {words(working)} project{'s' * (working > 1)}"
    return "Nothing is waiting for you, and nothing is running"


def behind_of(needs: Sequence[OpenQuestion]) -> str:
    """What the waiting holds up."""
    behind = sum(one.behind for one in needs)
    if not behind:
        return "No task is held up by it." if needs else ""
    verb = "stands" if behind == 1 else "stand"
    return f"{counted(behind, 'task')} {verb} behind {'them' if len(needs) > 1 else 'it'}."


def tiles_of(report: WeeklyReport, measures: dict[str, Measure]) -> Iterable[dict[str, Any]]:
    """Four of the five numbers of the week with bars of six weeks; the fifth, failure to fix, has a dot a case."""
    resolved, cost, people = measures["resolved"], measures["cost"], measures["people"]
    per_week = ", ".join(str(point.delivered) for point in report.trend)
    delivered = {"name": "Requirements delivered", "shown": str(report.delivered_count), "part": "trend"}
    yield delivered | {"values": report.trend_delivered, "n": f"{per_week} in six weeks"}
    share = {"name": resolved.name, "shown": resolved.shown, "measure": resolved, "part": "measures"}
    yield share | {"values": report.trend_resolved, "target": RESOLVED_PERCENT, "n": f"n = {resolved.n} · line: 80 %"}
    what = "money" if report.has_money else "tokens"
    price = {"name": "Cost per feature", "shown": cost.shown, "measure": cost, "part": "cost"}
    yield price | {"values": report.trend_spent, "n": f"n = {cost.n} · bars: {what} spent in each week"}
    minutes = [point.bill.human_minutes for point in report.trend]
    time = {"name": people.name, "shown": people.shown, "part": "measures"}
    yield time | {"values": minutes, "n": f"n = {people.n} · bars: minutes in each week"}
