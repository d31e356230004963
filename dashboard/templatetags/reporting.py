"""Charts as SVG made on the server, and where questions are answered.

A chart stands beside its numbers, so a screen reader skips it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import template
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from projects.services.insight.attention import OpenQuestion
from projects.services.insight.cost_rows import CostRow
from projects.services.insight.measures import COST_TARGET
from projects.services.insight.report import WeeklyReport

register = template.Library()

BAR = 200  # width of a bar of costs
SPARK_W, SPARK_H = 168, 36

# What a question looks like: its symbol, and the word on its button.
QUESTIONS = {
    "plan": ("plan", "Review"),
    "gate": ("gate", "Decide"),
    "escalation": ("flag", "Answer"),
    "requirements": ("doc", "Review"),
    "package": ("guard", "Decide"),
}


@register.filter
def address(question: OpenQuestion) -> str:
    """The page on which a question is answered."""
    if question.approval is None:
        return reverse("requirements", args=[question.project.pk])
    return reverse("approval", args=[question.approval.pk])


@register.filter
def symbol(question: OpenQuestion) -> str:
    """The symbol of its kind."""
    return QUESTIONS.get(question.kind.lower(), ("decision", ""))[0]


@register.filter
def verb(question: OpenQuestion) -> str:
    """What a person does about it."""
    return QUESTIONS.get(question.kind.lower(), ("", "Decide"))[1]


@register.simple_tag
def cost_bar(row: CostRow, report: WeeklyReport) -> SafeString:
    """A row's cost as a bar: hosted models, energy, and the target; its tokens where there is no money."""
    if report.has_money:
        most = float(max([COST_TARGET * 6 / 5, *(one.bill.money or 0 for one in report.rows)]))
        api, energy = (float(value or 0) / most * BAR for value in (row.bill.api, row.bill.energy))
        target = format_html('<path class="target" d="M{} 0V12"/>', round(float(COST_TARGET) / most * BAR))
    else:
        most = max([1, *(one.bill.tokens for one in report.rows)])
        api, energy, target = row.bill.tokens / most * BAR, 0.0, SafeString()
    return format_html(
        '<svg class="cost-bar" viewBox="0 0 {} 12" width="{}" height="12" preserveAspectRatio="none" '
        'aria-hidden="true">'
        '<rect class="api" y="1" width="{}" height="10"/><rect class="energy" x="{}" y="1" width="{}" height="10"/>{}'
        "</svg>",
        *(BAR, BAR, round(api, 1), round(api, 1), round(energy, 1), target),
    )


@register.simple_tag
def spark(values: Sequence[float | None], target: float | None = None) -> SafeString:
    """Bars from zero, the last one marked as now, with a line for the target. None: nothing known, no bar."""
    known = [value for value in values if value is not None]
    most = max([target * 1.25 if target else 0, *known, 0]) or 1
    step = SPARK_W / max(1, len(values))
    bars = [
        (
            "now" if place == len(values) - 1 else "",
            round(place * step, 1),
            round(SPARK_H - (value or 0) / most * SPARK_H, 1),
            round(step - 6, 1),
            round((value or 0) / most * SPARK_H, 1),
        )
        for place, value in enumerate(values)
    ]
    drawn = format_html_join("", '<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>', bars)
    line = (
        format_html('<path class="target" d="M0 {}H{}"/>', round(SPARK_H - target / most * SPARK_H, 1), SPARK_W)
        if target
        else ""
    )
    return _small(drawn, line)


@register.simple_tag
def dots(values: Sequence[float], target: float) -> SafeString:
    """One dot a case on a line from zero, and the target as a line across it."""
    most = max([target * 1.25, *values])
    where = [("over" if value > target else "", round(4 + value / most * (SPARK_W - 8), 1)) for value in values[:60]]
    drawn = format_html_join("", '<circle class="{}" cx="{}" cy="20" r="4"/>', where)
    axis = format_html('<path class="axis" d="M0 20H{}"/>', SPARK_W)
    return _small(
        axis, format_html('<path class="target" d="M{} 4V34"/>', round(4 + target / most * (SPARK_W - 8), 1)), drawn
    )


def _small(*parts: Any) -> SafeString:
    drawn = format_html_join("", "{}", ((part,) for part in parts))
    return format_html(
        '<svg class="spark" viewBox="0 0 {} {}" width="{}" height="{}" aria-hidden="true">{}</svg>',
        *(SPARK_W, SPARK_H, SPARK_W, SPARK_H, drawn),
    )
