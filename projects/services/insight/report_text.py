"""The weekly report as plain text: for a terminal, and beside the HTML of an e-mail."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from projects.services.insight.cost_rows import CostRow
from projects.services.insight.report import WeeklyReport

COLUMNS = {
    "tokens": "Tokens",
    "seconds": "Model s",
    "kwh": "kWh",
    "energy": "Energy",
    "api": "API",
    "minutes": "People min",
    "money": "Cost",
}


def _columns(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    """Rows with their columns below each other, figures to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        yield "  ".join([first.ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(others, widths[1:], strict=True))])


def _named(row: CostRow) -> str:
    return f"{row.project.name}: {row.key} {row.name}"[:60] if row.project and row.key else row.name[:60]


def text_of(report: WeeklyReport) -> str:
    """The same parts in the same order as on the page."""
    lists = {
        "Waiting for a decision": [f"{one.project.name}: {one.title} ({one.waits_words})" for one in report.needs],
        "Delivered": [f"{project.name}: {name}" for project, names in report.delivered.items() for name in names],
        "Stuck": [f"{task.run.project.name}: {task.key} {task.title}: {task.why}" for task in report.stuck],
    }
    lines = [f"{report.headline}.", f"Week {report.week.number}, {report.week.days}", "", report.lede]
    for title, entries in lists.items():
        lines += ["", title, *(f"  {entry}" for entry in entries or ["–"])]
    if report.rows:
        table = [[_named(row), *row.cells.values()] for row in report.rows]
        table = [
            ["Requirement", *COLUMNS.values()],
            *table,
            [f"All of week {report.week.number}", *report.sum.cells.values()],
        ]
        lines += ["", "Cost per feature", *_columns(table), *report.notes]
        lines.append("The rows add up to the ledger." if report.adds_up else "The rows DIFFER from the ledger.")
    lines += ["", "Measures"]
    lines += [f"  {one.name}: {one.shown} (n = {one.n}; target {one.target or 'none'})" for one in report.measures]
    return "\n".join(lines) + "\n"
