"""What to look at first in a finished build: what scanners found and a person let in, many tries, little coverage."""

from __future__ import annotations

from typing import NamedTuple

from django.db.models import Count
from django.urls import reverse

from projects.models import Attempt, Finding, Run, Task

MOST, MOST_OF_A_KIND = 5, 2
COVERED_ENOUGH = 80.0  # percent of branches


class FirstLook(NamedTuple):
    """A place worth a reader's first minutes, and why."""

    href: str
    what: str
    kind: str
    why: str


def first_looks(run: Run) -> list[FirstLook]:
    """At most five places, the riskiest first; none when nothing stands out."""
    merged = run.tasks.filter(status=Task.Status.MERGED)
    open_findings = Finding.objects.filter(task__in=merged, state=Finding.State.NEW).select_related("task")
    found = [
        FirstLook(
            reverse("gate", args=[one.task_id]),
            f"{one.path}, line {one.line}",
            "finding",
            f"{one.severity} finding of {one.tool}"
            + (f", {one.disposition.replace('_', ' ')}: {one.reason}" if one.disposition else f": {one.message}"),
        )
        for one in open_findings.order_by("-pk")[:MOST_OF_A_KIND]
    ]
    tried = merged.annotate(tries=Count("attempts")).filter(tries__gt=1).order_by("-tries", "ordinal")
    for task in tried[:MOST_OF_A_KIND]:
        cause = next((str(one.diagnosis.get("cause", "")) for one in task.attempts.all() if one.diagnosis), "")
        why = f"It took {task.tries} tries" + (f": {cause}" if cause else ".")
        found.append(FirstLook(reverse("task", args=[task.pk]), f"{task.key} {task.title}", "tries", why))
    tested = Attempt.objects.filter(task__in=merged, outcome="passed", branch_coverage__lt=COVERED_ENOUGH)
    for attempt in tested.select_related("task").order_by("branch_coverage")[:MOST_OF_A_KIND]:
        why = f"Its tests cover {attempt.branch_coverage:.0f} % of the branches; {COVERED_ENOUGH:.0f} % are asked for."
        href = reverse("task", args=[attempt.task_id])
        found.append(FirstLook(href, f"{attempt.task.key} {attempt.task.title}", "coverage", why))
    return found[:MOST]
