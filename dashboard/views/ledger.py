"""The token ledger: what filled the window of each model call, of a task, of a run, and of one call word by word."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_GET

from dashboard import access, prompt_breakdown
from dashboard.pages import show
from dashboard.requests import AuthenticatedHttpRequest
from projects.models import Run, Task
from projects.services.insight import ledger, usage


def _page(request: AuthenticatedHttpRequest, run: Run, task: Task | None) -> HttpResponse:
    text = request.GET.get("after", "")
    after = int(text) if text.isdecimal() and len(text) < 19 else 0
    calls = ledger.calls_of(run, task, after=after)
    context: dict[str, Any] = {
        "run": run,
        "project": run.project,
        "task": task,
        "calls": [{"call": call, "parts": prompt_breakdown.segments(call.parts)} for call in calls],
        "sums": ledger.sums_of(calls),
        "total": usage.task_usage(task.pk) if task else usage.run_usage(run.pk),
        "after": after,
        "more": calls[-1].usage.seq if len(calls) == ledger.MOST else None,
    }
    if task is None:
        context["tasks"] = [{"task": one, "total": usage.task_usage(one.pk)} for one in run.tasks.order_by("ordinal")]
    return show(request, "pages/ledger.html", context)


@require_GET
def of_task(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """Every model call of a task."""
    task = get_object_or_404(access.tasks(request.user), pk=pk)
    return _page(request, task.run, task)


@require_GET
def of_run(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """What each task of a run took, and the calls that belong to no task."""
    return _page(request, get_object_or_404(access.runs(request.user), pk=pk), None)


@require_GET
def one(request: AuthenticatedHttpRequest, pk: int, seq: int) -> HttpResponse:
    """One call: its window as a bar and a table, and the words of each part."""
    run = get_object_or_404(access.runs(request.user), pk=pk)
    call = ledger.call_at(run, seq)
    if call is None:
        raise Http404("That event is not a model call.")
    texts = ledger.texts_of(call)
    parts = prompt_breakdown.segments(call.parts)
    return show(
        request,
        "pages/call.html",
        {
            "run": run,
            "project": run.project,
            "task": call.usage.task,
            "call": call,
            "parts": parts,
            "texts": [(part, texts.get(part.name, "")) for part in parts],
        },
    )
