"""The event stream as a page and a socket show it: chunks, filters, frames.

One renderer for all of them: a row that came by the socket, by a poll and with the page is the same text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import takewhile
from typing import Any, Literal
from urllib.parse import urlencode

from django.db.models import Count, Max, Min, Q, QuerySet
from django.template.loader import render_to_string
from django.utils.html import strip_spaces_between_tags

from dashboard.drawing import run_graph
from dashboard.http.requests import words
from dashboard.live import rows as lines
from dashboard.live.rows import CHUNK, Height, chunk_of
from dashboard.text.safe import one_line
from projects.models import Event, Run, Task
from projects.services.audit.vocabulary import (
    STEPS,
    Preset,
    TaskAdded,
    Urgency,
    families,
    look_of,
    types_in,
    types_with_words,
)
from projects.services.planning import runs

FRAME = 200  # rows at most in one message
SKIP_AFTER = 2_000  # a reader further behind than this is sent counts first, rows when it scrolls to them
FILTERED_PAGE = 300
NEAR = 30  # rows from an event to the next chunk, within which a page brings that chunk along

PRESETS: dict[Preset, str] = {"decisions": "Thoughts and decisions", "errors": "Errors", "needs": "Needs me"}
RUN_PANELS = ("run_status", "run_why", "run_counts")
AGENTS = ("planner", "tester", "coder", "reviewer", "runtime", "user")


@dataclass(frozen=True)
class Filter:
    """Which rows of a run are wanted; everything by default."""

    preset: Preset | Literal[""] = ""
    q: str = ""
    type: str = ""
    agent: str = ""
    task: str = ""

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Filter:
        """From a query string; what is not known is ignored, what is too long is cut."""
        kind, agent = query.get("type", ""), query.get("agent", "")
        return cls(
            preset=next((name for name in PRESETS if name == query.get("preset")), ""),
            q=words(query, "q"),
            type=kind if kind in families() else "",
            agent=agent if agent in AGENTS else "",
            task=query.get("task", "").replace("\x00", "")[:40],
        )

    @property
    def is_all(self) -> bool:
        """True when nothing is left out."""
        return self == Filter()

    @property
    def query(self) -> str:
        """The same filter as a query string."""
        return urlencode({name: value for name, value in self.__dict__.items() if value})

    def apply(self, events: QuerySet[Event]) -> QuerySet[Event]:
        """The wanted rows of a queryset."""
        if self.preset:
            wanted = Q(type__in=[*types_in(self.preset), *(types_with_words() if self.preset == "decisions" else ())])
            events = events.filter(wanted | Q(outcome="fail") if self.preset == "errors" else wanted)
        if self.q:
            events = events.filter(summary__icontains=self.q)
        if self.type:
            events = events.filter(Q(type=self.type) | Q(type__startswith=f"{self.type}."))
        if self.agent:
            events = events.filter(role=self.agent)
        if self.task:
            events = events.filter(task__key=self.task)
        return events


@dataclass(frozen=True)
class SeekResult:
    """An event that was looked for: its place among all of its kind, from 1; no `seq` when there is none that way."""

    seq: int | None
    number: int
    count: int


def seek(run: Run, after: int, wanted: Filter, *, back: bool = False) -> SeekResult:
    """The nearest wanted event after (or before) an event, in the whole run."""
    that_way, passed = (Q(seq__lt=after), Q(seq__lt=after)) if back else (Q(seq__gt=after), Q(seq__lte=after))
    found = wanted.apply(Event.objects.filter(run=run, seq__lte=run.last_seq)).aggregate(
        nearest=(Max if back else Min)("seq", filter=that_way), passed=Count("pk", filter=passed), count=Count("pk")
    )
    number = found["passed"] + (not back) if found["nearest"] else 0
    return SeekResult(found["nearest"], number, found["count"])


@dataclass
class StreamSection:
    """A chunk of the stream on a page: its number, its height and, when they are sent along, its rows."""

    n: int
    height: Height
    rows: list[Event] | None = field(default=None)

    @property
    def first(self) -> int:
        """Its first sequence number."""
        return self.n * CHUNK + 1

    @property
    def last(self) -> int:
        """Its last sequence number, once it is full."""
        return (self.n + 1) * CHUNK


def events_of(run: Run) -> QuerySet[Event]:
    """A run's rows in order, with what a row shows."""
    return lines.with_words(Event.objects.filter(run=run).select_related("task")).order_by("seq")


def seqs_of(run: Run, wanted: Filter) -> list[int]:
    """The events of a run that are wanted, found in one pass over it."""
    found = wanted.apply(Event.objects.filter(run=run, seq__lte=run.last_seq))
    return list(found.order_by("seq").values_list("seq", flat=True))


def sections(run: Run, *, around: int | None = None) -> list[StreamSection]:
    """Every chunk of a run; rows only for the newest two, or for what is in view around an event.

    The others come when they are scrolled to: rendering rows is most of the time that a page takes.
    """
    found = [StreamSection(n, height) for n, height in enumerate(lines.heights(run))]
    middle, place = divmod((run.last_seq if around is None else around) - 1, CHUNK)
    wanted = {middle}
    if around is None or place < NEAR:
        wanted.add(middle - 1)
    if place >= CHUNK - NEAR:
        wanted.add(middle + 1)
    for section in found:
        if section.n in wanted:
            last = min(section.last, run.last_seq)
            section.rows = list(events_of(run).filter(seq__gte=section.first, seq__lte=last))
    return found


def render_rows(rows: Iterable[Event], here: int | None = None, *, fold: bool = True) -> str:
    """Rows as HTML, escaped, without any attribute htmx would act on; `here` is the sequence number that is open.

    Consecutive steps fold; a filter asks for rows, so what it finds does not.

    The template's indentation is left out: it would be a quarter of every frame.
    """
    html = render_to_string("partials/rows.html", {"lines": lines.lines(rows, fold=fold), "seq": here})
    return strip_spaces_between_tags(" ".join(html.split()))


def tasks_of(run: Run) -> QuerySet[Task]:
    """A run's tasks with the number of tries so far."""
    return run.tasks.annotate(tries=Count("attempts")).order_by("ordinal").prefetch_related("needs")


class Stale(IntEnum):
    """What a page says of the run as a whole that rows made out of date."""

    NOTHING = 0
    WHY = 1
    RUN = 2


def panels(run_id: int, stale: Stale) -> str:
    """What is stale of a run's page, rendered anew."""
    return _run_panels(Run.objects.select_related("project").get(pk=run_id), stale)


def _run_panels(run: Run, stale: Stale, *extra: str) -> str:
    tasks = list(tasks_of(run))
    context: dict[str, Any] = {"run": run, "tasks": tasks}
    if stale is not Stale.RUN:
        return render_to_string("partials/run_why.html", context)
    context |= {"totals": runs.totals(run), "graph": run_graph.graph_of_run(run, tasks)}
    return "".join(render_to_string(f"partials/{name}.html", context) for name in (*RUN_PANELS, *extra))


def _made_stale(rows: list[Event]) -> Stale:
    if any("run" in look_of(row.type).panels for row in rows):
        return Stale.RUN
    return Stale.WHY if any(row.type in STEPS for row in rows) else Stale.NOTHING


def _touched(run: Run, rows: list[Event], *, totals: bool) -> str:
    """The panels that the rows make stale, rendered again; those of the run only with `totals` or for a new task."""
    moved = {row.task_id for row in rows if row.task_id and "task" in look_of(row.type).panels}
    parts: list[str] = []
    if moved:
        parts += [render_to_string("partials/task_item.html", {"task": t}) for t in tasks_of(run).filter(pk__in=moved)]
    added = any(row.type == TaskAdded.type for row in rows)
    stale = _made_stale(rows) if totals else Stale.NOTHING
    if added or stale:
        parts.append(_run_panels(run, Stale.RUN if added else stale, *(["run_graph"] if added else [])))
    return "".join(parts)


def _announced(rows: list[Event]) -> list[dict[str, Any]]:
    """What a screen reader announces: the three most urgent rows. Approval > failure > end of a task > progress."""
    urgent = [(urgency, row) for row in rows if (urgency := look_of(row.type).urgency)]
    return [
        {"p": "assertive" if urgency is Urgency.QUESTION else "polite", "w": int(urgency), "t": text}
        for urgency, row in sorted(urgent, key=lambda each: -each[0])[:3]
        if (text := one_line(row.summary, 160))
    ]


def _begun(run: Run, first: Event) -> list[Event]:
    """The rows before a frame that share a fold with its first: the page gets that fold anew, as it is now."""
    key = lines.fold_key(first)
    if len(key) == 1 or first.seq % CHUNK == 1:
        return []
    start = chunk_of(first.seq) * CHUNK
    before = events_of(run).filter(seq__gt=start, seq__lt=first.seq).order_by("-seq")
    return list(takewhile(lambda row: lines.fold_key(row) == key, before))[::-1]


def frame(
    run_id: int, after: int, wanted: Filter, *, upto: int | None = None, totals: bool = True
) -> dict[str, Any] | None:
    """What a reader at `after` is sent next, or None when it has everything.

    The frame covers from..to without a hole; with a filter its rows are only the wanted ones of that span. A reader far
    behind gets {"skip": true} for the distance, and fetches those rows by chunk when they come into view. Without
    `totals`, `stale` says that they are due.
    """
    run = Run.objects.select_related("project").get(pk=run_id)
    head = min(run.last_seq, upto) if upto is not None else run.last_seq
    if head <= after:
        return None
    base = {"v": 1, "run": run_id, "from": after + 1, "last": run.last_seq}
    if head - after > SKIP_AFTER and wanted.is_all:
        to = chunk_of(head - CHUNK) * CHUNK
        heights = [
            [n, *height] for n, height in enumerate(lines.heights(run)) if chunk_of(after + 1) <= n < to // CHUNK
        ]
        skipped = Filter(preset="errors").apply(Event.objects.filter(run=run, seq__gt=after, seq__lte=to)).count()
        return {**base, "to": to, "skip": True, "heights": heights, "stale": Stale.RUN, "errors": skipped}
    to = min(after + FRAME, head)
    span = list(events_of(run).filter(seq__gt=after, seq__lte=to))
    if not span:
        return None
    to = span[-1].seq
    if wanted.is_all:
        shown, rows = span, render_rows([*_begun(run, span[0]), *span])
    else:
        shown = list(wanted.apply(events_of(run).filter(seq__gt=after, seq__lte=to)))
        rows = render_rows(shown, fold=False)
    return {
        **base,
        "to": to,
        "rows": rows,
        "n": len(shown),
        "ui": _touched(run, span, totals=totals),
        "stale": Stale.NOTHING if totals else _made_stale(span),
        "say": _announced(span),
        "errors": sum(row.type in types_in("errors") or row.outcome == "fail" for row in span),
    }
