"""The security gate of a task: its weaknesses with their evidence, and what people decide about them."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from dashboard.forms.projects import DispositionForm
from dashboard.http.pages import page, show
from dashboard.http.requests import AuthenticatedHttpRequest
from dashboard.presenters import queue
from dashboard.presenters.weaknesses import FindingGroup, change_of, tries_of, weaknesses_of
from dashboard.views.comments import review_of
from projects.errors import BadInput
from projects.models import Approval, Event, Finding, Task
from projects.services.audit.vocabulary import GateJudged
from projects.services.decisions import send_back
from projects.services.work import findings

FIX, LEAVE = "fix", "leave"


@page("GET POST", Task)
def gate(request: AuthenticatedHttpRequest, task: Task) -> HttpResponse:
    """What the scanners said about a task's change, and what people decide; posted, it goes back to the agents."""
    if request.method == "POST":
        return _send_back(request, task)
    found = weaknesses_of(task)
    _mark_waiting(task, found)
    left = [one for one in found if not one.fixed]
    open_ones = [one for one in found if one.must]
    asked = send_back.gate_question(task)
    files, left_out = change_of(task)
    tries = tries_of(list(task.attempts.all()))
    context = {
        "found": found,
        "severe": [one for one in left if not one.lesser],
        "lesser": [one for one in left if one.lesser],
        "fixed": [one for one in found if one.fixed],
        "to_fix": open_ones,
        "blocking": [one for one in found if one.blocks],
        "verdict": _verdict(task, found),
        "tries": [one for one in tries if one.attempt.strategy == "findings" or one.attempt.outcome == "rejected"],
        "asked": asked,
        "can_send": task.status in send_back.AGAIN and bool(open_ones),
        "send_verb": send_back.verb_for(task),
        "seconds": findings.seconds_for(task.run.project, request.user),
        "alone": (findings.ALONE_REASON, findings.ALONE_LIFE.days),
        "unblocks": task.unblocks.all(),
        "next_up": queue.next_for(request.user, task=task),
        **review_of(request, task, files, "gate"),
        "left_out": left_out,
    }
    return show(request, "pages/gate.html", context)


def _mark_waiting(task: Task, found: list[FindingGroup]) -> None:
    """Give each finding the question to a second person about it, if one is open."""
    asking = task.approvals.filter(kind=Approval.Kind.GATE, status=Approval.Status.PENDING)
    waiting = {row.payload.get("finding"): row for row in asking}
    for row in [row for one in found for row in one.findings]:
        row.second = waiting.get(row.pk)  # type: ignore[attr-defined]  # only this page shows it


def _verdict(task: Task, found: list[FindingGroup]) -> dict[str, object]:
    """The gate's answer in one sentence, with its rule."""
    event = Event.objects.filter(task=task, type=GateJudged.type).order_by("-seq").first()
    blocking = [one.first for one in found if one.blocks]
    if blocking:
        worst = blocking[0]
        state, words = "blocked", f"Blocked: {worst.tool} {worst.rule} is {worst.severity}."
    elif event is None:
        state, words = "queued", "Not scanned yet. A change that was not scanned has not passed."
    else:
        state, words = "blocked" if event.outcome == "fail" else "passed", event.summary
    return {"state": state, "words": words, "event": event}


def _send_back(request: AuthenticatedHttpRequest, task: Task) -> HttpResponse:
    """Record what was decided in the form, then send the rest back to be fixed."""
    wanted = []
    for one in weaknesses_of(task, with_code=False):
        key = f"f{one.first.pk}"
        if one.fixed or one.decided:
            continue
        choice = request.POST.get(f"{key}-disposition", FIX if one.must else LEAVE)
        if choice == FIX:
            wanted.append(send_back.ToFix(one.findings, request.POST.get(f"{key}-reason", "")[: send_back.WORDS]))
        elif choice != LEAVE:
            _decide(request, one)
    send_back.send_back(task, by=request.user, wanted=wanted, note=request.POST.get("note", ""))
    s = "" if len(wanted) == 1 else "s"
    messages.success(request, f"{task.key} was sent back with {len(wanted)} finding{s}.")
    return queue.after_decision(request, task=task)


@page("POST", Finding)
def dispose(request: AuthenticatedHttpRequest, finding: Finding) -> HttpResponse:
    """Decide about a weakness, with a reason and an expiry: each report of it is decided by itself."""
    found = weaknesses_of(finding.task, with_code=False)
    one = next(each for each in found if finding in each.findings)
    messages.success(request, _decide(request, one))
    return redirect("gate", finding.task_id)


def _decide(request: HttpRequest, one: FindingGroup) -> str:
    """Record the form's decision about each open report of a weakness; returns what holds now."""
    user: Any = request.user
    prefix = f"f{one.first.pk}"
    form = DispositionForm(request.POST, prefix=prefix if f"{prefix}-disposition" in request.POST else None)
    if request.POST.get(f"{prefix}-disposition") in (FIX, LEAVE):
        raise BadInput("To have it fixed, send the task back. Here you decide to live with it.")
    if not form.is_valid():
        missing = ", ".join(form.errors)
        raise BadInput(f"The decision is incomplete: {missing}. A reason and a number of days (1-365) are needed.")
    second = _second(form.cleaned_data["second"])
    for finding in one.findings:
        if one.is_open(finding):
            findings.dispose(
                finding,
                by=user,
                disposition=form.cleaned_data["disposition"],
                reason=form.cleaned_data["reason"],
                expires_at=form.expires_at(),
                second=second,
            )
    if any(one.is_open(finding) for finding in one.findings):
        name = form.cleaned_data["second"] or "a second person"
        return f"Not decided yet: a {one.first.severity} finding waits for {name} to say yes under Approvals."
    return "The decision is recorded with your name and its expiry date."


def _second(name: str) -> User | None:
    if not name:
        return None
    second = get_user_model().objects.filter(username=name, is_active=True).first()
    if second is None:
        raise BadInput(f"There is no user {name!r} who could be the second person.")
    return second
