"""The traceability matrix: from a sentence of the requirements to the merged lines, and what is missing on the way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from django.http import HttpResponse
from django.urls import reverse
from django.utils.text import Truncator

from dashboard.http.pages import page, show
from dashboard.http.requests import AuthenticatedHttpRequest, number
from dashboard.http.streaming import as_file
from dashboard.presenters.places import sentence
from projects.models import Finding, Project, Requirement
from projects.services.delivery.trace import GAP, NOTHING_YET, PLANNED, Trace, TraceRow, as_csv, trace
from projects.services.planning.progress import DONE, IN_WORK
from projects.values.wording import counted

MOST_ROWS = 400
BAR = 1_000  # units of its drawing
SHOWN = {"tasks": 4, "code": 1, "findings": 1, "decisions": 1, "commits": 2}  # entries that are shown unfolded
MOST_FOLDED = 60
# In the order of the bar: the state, its name in the bar's styles, its icon and tone, and its words.
PARTS = (
    (DONE, "done", "passed", "ok", "done"),
    (IN_WORK, "work", "running", "run", "in work"),
    (PLANNED, "planned", "ready", "info", "planned"),
    (GAP, "gap", "gap", "needs", "with a gap"),
    (NOTHING_YET, "none", "queued", "muted", "not planned yet"),
)
FILTERS = {"": "All", "gaps": "Gaps", "work": "In work", "inferred": "Inferred"}


def _fits(row: TraceRow, name: str) -> bool:
    if name == "gaps":
        return row.state == GAP
    if name == "work":
        return row.state == IN_WORK
    return name != "inferred" or row.requirement.origin in Requirement.SUGGESTED


def _heading(found: Trace) -> str:
    """The answer to what the page is asked for."""
    done, gaps = found.counts.get(DONE, 0), found.counts.get(GAP, 0)
    asked = counted(found.asked, "requirement")
    if not found.asked:
        return "No requirement to trace yet"
    if not found.at and not gaps:
        return f"{asked}, no code yet"
    proven = f"{done} of {asked} {'is' if done == 1 else 'are'} proven"
    return f"{proven}; {gaps} {'has' if gaps == 1 else 'have'} a gap" if gaps else proven


def _bar(found: Trace) -> list[dict[str, Any]]:
    """The parts of the coverage bar from left to right."""
    parts, left = [], 0
    for state, css, icon, tone, words in PARTS:
        count = found.counts.get(state, 0)
        width = round(BAR * count / max(1, found.asked))
        look = {"css": css, "icon": icon, "tone": tone if count else "muted"}
        parts.append(look | {"words": words, "count": count, "x": left, "w": width})
        left += width
    return [part for part in parts if part["count"] or part["css"] in ("done", "gap")]


@dataclass(frozen=True)
class Link:
    """What an entry of a cell opens, its words, and more about it that is no part of the link."""

    href: str
    words: str
    about: str = ""
    mono: bool = False
    title: str = ""


@dataclass(frozen=True)
class Cell:
    """A column of a row: what is missing in it, and its entries, those after the first few folded."""

    name: str
    links: Sequence[Link]
    missing: str = ""
    instead: str = ""  # words where there are no entries; "" is a dash: nothing is expected yet

    @property
    def shown(self) -> Sequence[Link]:
        """What is seen at first."""
        return self.links[: SHOWN.get(self.name, 0)]

    @property
    def folded(self) -> Sequence[Link]:
        """What opens."""
        return self.links[len(self.shown) :][:MOST_FOLDED]

    @property
    def left(self) -> int:
        """How many only the CSV file has."""
        return len(self.links) - len(self.shown) - len(self.folded)

    @property
    def fold(self) -> str:
        """The words that open it."""
        count = len(self.links) - len(self.shown)
        return f"{count} more" if self.shown else f"{count} {self.name[:-1] if count == 1 else self.name}"


def _row(project: Project, at: str, row: TraceRow) -> dict[str, Any]:
    plan = reverse("plan", args=[project.pk])

    def file(path: str, line: int) -> str:
        return f"{reverse('project-files', args=[project.pk, f'{at}/{path}'])}#L{line}"

    def task(pk: int, name: str = "task") -> str:
        return reverse(name, args=[pk])

    links = {
        "tasks": [
            *(Link(f"{plan}?v={row.plan.version}#task-{quote(key)}", key) for key in row.planned if row.plan),
            *(Link(task(one.pk), one.key, "" if one.commit else one.get_status_display().lower()) for one in row.tasks),
        ],
        "code": [
            Link(file(path, first), f"{path.rpartition('/')[2]}:{first}", about, True, path)
            for path, first, about in _files(row)
        ],
        "tests": [Link(file(one.path, one.line), one.name) for one in row.tests],
        "findings": [
            Link(task(one.task_id, "gate"), one.severity, _decided(one), title=f"{one.rule} {one.message}")
            for one in row.findings
        ],
        "decisions": [
            Link(reverse("run-event", args=[one.run_id, one.seq]), Truncator(one.summary).chars(48), title=one.summary)
            for one in row.decisions
        ],
        "commits": [Link(f"{task(one.pk)}#diff", one.commit[:7], mono=True) for one in row.commits],
    }
    instead = {"findings": "none" if row.commits else "", "tests": str(row.tests_added or "")}
    missing = {row.gap.cell: row.gap.words} if row.gap else {}
    cells = [Cell(name, links[name], missing.get(name, ""), instead.get(name, "")) for name in links]
    word = row.gap.state if row.gap else "done" if row.state == DONE else ""
    return {"row": row, "word": word, "requirement": row.requirement, "href": sentence(row.requirement), "cells": cells}


def _files(row: TraceRow) -> list[tuple[str, int, str]]:
    """Each file with its first line and how many are meant, the most first; tests have a column of their own."""
    files, tests = defaultdict(list), {test.path for test in row.tests}
    for span in row.spans:
        if span.path not in tests:
            files[span.path].append(span)
    found = [(path, min(s.first for s in spans), sum(s.lines for s in spans)) for path, spans in files.items()]
    found.sort(key=lambda one: -one[2])
    return [(path, first, counted(count, "line")) for path, first, count in found]


def _decided(finding: Finding) -> str:
    if finding.state == Finding.State.FIXED:
        return "fixed"
    return finding.disposition.replace("_", " ") or "open"


@page("GET", Project)
def matrix(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """The matrix, with ?show= for a part of it, and what nobody asked for."""
    found = trace(project)
    chosen = request.GET.get("show", "")
    chosen = chosen if chosen in FILTERS else ""
    rows = [row for row in found.rows if _fits(row, chosen)]
    gaps = [row.requirement for row in rows if row.state == GAP]
    at, bar = number(request.GET, "gap", digits=4) or 0, _bar(found)
    context = {
        "trace": found,
        "rows": [_row(project, found.at, row) for row in rows[:MOST_ROWS]],
        "more_rows": max(0, len(rows) - MOST_ROWS),
        "chosen": chosen,
        "filters": [
            {"name": name, "words": words, "count": sum(_fits(row, name) for row in found.rows)}
            for name, words in FILTERS.items()
        ],
        "bar": bar,
        "bar_words": ", ".join(f"{part['count']} {part['words']}" for part in bar),
        "heading": _heading(found),
        "next_gap": {"number": at % len(gaps) + 1, "requirement": gaps[at % len(gaps)]} if gaps else None,
        "here": gaps[(at - 1) % len(gaps)].pk if gaps and at else None,
        "document": project.documents.first(),
    }
    return show(request, "pages/trace.html", context)


@page("GET", Project)
def export(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """The whole matrix as a CSV file."""
    headers = as_file(f"{project.slug}-trace.csv")
    return HttpResponse(as_csv(trace(project)), content_type="text/csv; charset=utf-8", headers=headers)
