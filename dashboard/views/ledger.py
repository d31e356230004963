"""The token ledger: what filled the window of each model call, of a task, of a run, and of one call word by word."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse

from dashboard.http.pages import page, show
from dashboard.http.requests import AuthenticatedHttpRequest, number
from dashboard.presenters import prompt_breakdown
from projects.models import Run, Task
from projects.services.insight import ledger
from projects.services.work import usage


def _page(request: AuthenticatedHttpRequest, run: Run, task: Task | None) -> HttpResponse:
    after = number(request.GET, "after") or 0
    calls = ledger.calls_of(run, task, after=after)
    context: dict[str, Any] = {
        "run": run,
        "task": task,
        "calls": [{"call": call, "parts": prompt_breakdown.segments(call.parts)} for call in calls],
        "sums": ledger.sums_of(calls),
        "total": usage.usage_of(task_id=task.pk) if task else usage.usage_of(run_id=run.pk),
        "after": after,
        "more": calls[-1].usage.seq if len(calls) == ledger.MOST else None,
    }
    if task is None:
        totals = usage.usage_by_task(run.pk)
        context["tasks"] = [{"task": one, "total": totals[one.pk]} for one in run.tasks.order_by("ordinal")]
    return show(request, "pages/ledger.html", context)


@page("GET", Task)
def of_task(request: AuthenticatedHttpRequest, task: Task) -> HttpResponse:
    """Every model call of a task."""
    return _page(request, task.run, task)


@page("GET", Run)
def of_run(request: AuthenticatedHttpRequest, run: Run) -> HttpResponse:
    """What each task of a run took, and the calls that belong to no task."""
    return _page(request, run, None)


@page("GET", Run)
def one(request: AuthenticatedHttpRequest, run: Run, seq: int) -> HttpResponse:
    """One call: its window as a bar and a table, and the words of each part."""
    call = ledger.call_at(run, seq)
    if call is None:
        raise Http404("That event is not a model call.")
    texts = ledger.texts_of(call)
    parts = prompt_breakdown.segments(call.parts)
    words = [(part, texts.get(part.name, "")) for part in parts]
    return show(request, "pages/call.html", {"task": call.usage.task, "call": call, "parts": parts, "texts": words})
