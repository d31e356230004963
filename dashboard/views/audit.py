"""The audit trail of a run: the same rows, proved and taken away."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_GET, require_POST

from dashboard import access, stream
from dashboard.pages import show
from dashboard.refusals import refusals
from projects.services import chain, events, intents, rights

PAGE = 200
TYPES = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """Runs and the head of each one's chain."""
    return show(request, "pages/audit_index.html", {"runs": access.runs(request.user).order_by("-pk")[:200]})


def _page(request: HttpRequest, pk: int, report: object = None) -> HttpResponse:
    run = get_object_or_404(access.runs(request.user), pk=pk)
    wanted = stream.Filter.read(request.GET)
    text = request.GET.get("before", "")
    rows = wanted.apply(stream.events_of(run)).order_by("-seq")
    if text.isdecimal() and len(text) < 19:
        rows = rows.filter(seq__lt=int(text))
    page = list(rows[:PAGE])
    context = {
        "run": run,
        "project": run.project,
        "rows": page,
        "wanted": wanted,
        "before": page[-1].seq if len(page) == PAGE else None,
        "report": report,
        "in_doubt": intents.in_doubt(run.pk, page),
        "agents": stream.AGENTS,
        "families": stream.FAMILIES,
    }
    return show(request, "pages/audit.html", context)


@require_GET
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    """A run's rows by number, newest first."""
    return _page(request, pk)


@require_POST
def verify(request: HttpRequest, pk: int) -> HttpResponse:
    """Recompute the chain now, on the server."""
    run = get_object_or_404(access.runs(request.user), pk=pk)
    return _page(request, pk, chain.verify_run(run.pk))


@require_GET
@refusals
def export(request: HttpRequest, pk: int, fmt: str) -> HttpResponse | StreamingHttpResponse:
    """Every row of a run as a file."""
    run = get_object_or_404(access.runs(request.user), pk=pk)
    rights.require(request.user, run.project, "audit.export")
    if fmt not in TYPES:
        raise Http404("Exports are jsonl or csv.")
    name = f"run-{run.pk}-audit.{fmt}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"}
    return StreamingHttpResponse(events.export_events(run.pk, fmt), content_type=TYPES[fmt], headers=headers)
