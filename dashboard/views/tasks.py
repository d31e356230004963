"""One task: its attempts, tests, diff, findings and log, and what a person can do about it."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect

from dashboard.http.pages import page, show
from dashboard.http.requests import AuthenticatedHttpRequest
from dashboard.http.streaming import as_file
from dashboard.live import stream
from dashboard.presenters import best, failures, queue
from dashboard.presenters.weaknesses import SEVERITY, change_of, tries_of
from dashboard.views.comments import review_of
from projects.errors import BadInput
from projects.models import Approval, Attempt, Event, Task
from projects.services.audit.vocabulary import AttemptRepeated, AttemptTakenBack, CoverageMeasured, DiagnosisMade
from projects.services.delivery.state import tried_containers
from projects.services.insight import run_state, try_costs
from projects.services.planning import projects
from projects.services.work import tasks, usage

LIMITS = {name: projects.LIMITS[name].label for name in projects.PER_TASK}
LOG_ROWS = 200


@page("GET", Task)
def detail(request: AuthenticatedHttpRequest, task: Task) -> HttpResponse:
    """Everything known about one task."""
    if task.run.replay_of:
        run_state.tasks_at([task], run_state.state_at(task.run, task.run.last_seq))
    tries = list(task.attempts.all())
    seen: str | None = None
    for attempt in tries:
        # The same signature twice in a row is the sign that repairing will not help and the approach must change.
        _annotate(attempt, same_again=bool(attempt.error_signature) and attempt.error_signature == seen)
        seen = attempt.error_signature
    last = tries[-1] if tries else None
    files, left_out = change_of(task)
    repeats = _annotate_outcomes(task, tries)
    tested = next((attempt for attempt in reversed(tries) if attempt.tests and attempt.number not in repeats), None)
    log = list(stream.events_of(task.run).filter(task=task).order_by("-seq")[:LOG_ROWS])[::-1]
    coverage = Event.objects.filter(task=task, type=CoverageMeasured.type).order_by("-seq").first()
    context = {
        "tries": tries,
        "last": last,
        "tested": tested,
        **review_of(request, task, files, "task"),
        "left_out": left_out,
        "coverage": coverage,
        "containers": tried_containers(Event.objects.filter(task=task)),
        "found": sorted(task.findings.all(), key=lambda f: SEVERITY.get(f.severity.upper(), 5)),
        "rows": log,
        "limits": [(name, words, task.run.project.limits.get(name)) for name, words in LIMITS.items()],
        "best": best.best_of(task),
        "spent": usage.usage_of(task_id=task.pk),
        "needs": task.needs.all(),
        "unblocks": task.unblocks.all(),
        "requirements": task.requirements.all(),
        **(_escalation(request, task, tries, tested) if task.status == Task.Status.ESCALATED else {}),
    }
    return show(request, "pages/task.html", context)


def _escalation(
    request: AuthenticatedHttpRequest, task: Task, tries: list[Attempt], tested: Attempt | None
) -> dict[str, object]:
    """What a person needs to decide how a task that was given up goes on."""
    failing = failures.failures_of(tested)
    shown = tries_of(tries)
    signatures = [one.error_signature for one in tries if one.error_signature]
    return {
        "heading": failures.heading_of(task, failing),
        "failing": failing,
        "since": next((one.number for one in tries if signatures and one.error_signature == signatures[-1]), None),
        "tried": shown,
        "last_change": next((one for one in reversed(shown) if one.files), None),
        "cost": try_costs.try_cost(task.run.project),
        "asked": task.approvals.filter(kind=Approval.Kind.ESCALATION, status=Approval.Status.PENDING).first(),
        "next_up": queue.next_for(request.user, task=task),
    }


def _annotate(row: Attempt, **values: object) -> None:
    """Give a row attributes that only its page shows."""
    for name, value in values.items():
        setattr(row, name, value)


def _annotate_outcomes(task: Task, tries: list[Attempt]) -> dict[int, int]:
    """Give each attempt what its events say: same code as another, undone, evidence that was not shown.

    Returns the attempts whose code was the same as an earlier one's, with that one's number.
    """
    types = (AttemptRepeated.type, AttemptTakenBack.type, DiagnosisMade.type)
    rows = Event.objects.filter(task=task, type__in=types).order_by("seq")
    known = {(row.type, row.attempt): row.payload for row in rows}
    repeats = {
        number: of
        for (kind, number), payload in known.items()
        if kind == AttemptRepeated.type and (of := payload.get("of"))
    }
    for one in tries:
        _annotate(
            one,
            same_as=repeats.get(one.number),
            undone_to=known.get((AttemptTakenBack.type, one.number), {}).get("to"),
            unfounded=known.get((DiagnosisMade.type, one.number), {}).get("evidence_found") is False,
        )
    return repeats


@page("GET", Task)
def take_best(request: AuthenticatedHttpRequest, task: Task) -> HttpResponse:
    """The best attempt to take away: one file of it by `?path=`, or all of them as a zip."""
    found = best.best_of(task)
    if found is None:
        raise Http404("No attempt is attached to this task.")
    path = request.GET.get("path")
    if path is None:
        name, body, kind = f"{best.safe_name(task.key)}-best.zip", best.packed(found), "application/zip"
    else:
        file = next((one for one in found.files if one.path == path), None)
        if file is None:
            raise Http404("The attempt has no such file.")
        name, body, kind = best.safe_name(path), file.text.encode(), "text/plain; charset=utf-8"
    return HttpResponse(body, content_type=kind, headers=as_file(name))


@page("POST", Task)
def raise_limit(request: AuthenticatedHttpRequest, task: Task) -> HttpResponse:
    """Change one limit of the task's project, where its tasks run into it."""
    name, value = request.POST.get("limit", ""), request.POST.get("value", "").replace(",", "").strip()
    if name not in LIMITS:
        raise BadInput(f"Choose one of the limits: {', '.join(LIMITS.values())}.")
    if not value.isdecimal() or len(value) > 12:
        raise BadInput(f"{LIMITS[name]}: {value[:20]!r} is not a whole number.")
    projects.update_settings(task.run.project, by=request.user, limits={name: int(value)})
    messages.success(request, f"{LIMITS[name]}: {int(value):,} from now on. Retry {task.key} for it to count.")
    return redirect("task", task.pk)


@page("POST", Task)
def retry(request: AuthenticatedHttpRequest, task: Task) -> HttpResponse:
    """Another try, with a person's note."""
    tasks.retry_task(task, by=request.user, note=request.POST.get("note", "").strip()[:4_000])
    messages.success(request, f"{task.key} is tried again.")
    return redirect("task", task.pk)


@page("POST", Task)
def skip(request: AuthenticatedHttpRequest, task: Task) -> HttpResponse:
    """Skip a task."""
    reason = request.POST.get("reason", "").strip()[:2_000]
    if not reason:
        raise BadInput("Give a reason for skipping the task; it is kept in the audit trail.")
    tasks.skip_task(task, by=request.user, reason=reason)
    messages.success(request, f"{task.key} is skipped.")
    return redirect("task", task.pk)
