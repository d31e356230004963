"""What waits for a person."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect

from dashboard import access, dag, diffs, text
from dashboard.pages import page, show
from dashboard.requests import AuthenticatedHttpRequest
from dashboard.views.plans import conflict
from projects.errors import BadInput, StaleVersion
from projects.models import Approval, Blob, Event, Plan
from projects.services.audit.vocabulary import FileChanged, Thought
from projects.services.work import approvals

ASKS_ABOUT_CODE = (Approval.Kind.GATE, Approval.Kind.REMOVAL, Approval.Kind.TEST_CHANGE)
CODE_FILES = 10  # files of a question whose code is shown


@page("GET")
def inbox(request: AuthenticatedHttpRequest) -> HttpResponse:
    """The queue; its length is the badge's number, from the same query."""
    waiting = approvals.pending_for(request.user)
    decided = access.visible(Approval, request.user).exclude(status=Approval.Status.PENDING)
    context = {"pending": waiting, "decided": decided.order_by("-decided_at")[:10]}
    return show(request, "pages/approvals.html", context, part="inbox")


def _plan_of(approval: Approval) -> Plan | None:
    if approval.kind != Approval.Kind.PLAN:
        return None
    return approval.project.plans.filter(content_hash=approval.subject).first()


def _asked_code(approval: Approval) -> dict[str, Any]:
    """What a guard asks about: its reasons, and the code as it was when it asked; {} for other questions.

    Code that reaches outside is written already (`paths`), so its changes are shown. A file that a guard holds back
    (`path`) is not: there the reply that contains it is shown.
    """
    payload = approval.payload
    written = text.listed(payload.get("paths"), CODE_FILES)
    paths = written or text.listed(payload.get("path"), 1)
    if approval.kind not in ASKS_ABOUT_CODE or approval.task is None or not paths:
        return {}
    rows = Event.objects.filter(task=approval.task, run=approval.run, at__lte=approval.requested_at).order_by("-seq")
    answer = rows.filter(type=Thought.type).first()
    changes = [rows.filter(type=FileChanged.type, payload__path=str(path)).first() for path in written]
    files = [file for change in changes for file in diffs.parse(_blob(change, "diff"))[0]]
    return {
        "reasons": text.listed(payload.get("reasons"), 50),
        "rule": payload.get("rule"),
        "paths": paths,
        "files": files,
        "answer": answer,
        "said": "" if files else _blob(answer, "output"),
    }


def _blob(event: Event | None, name: str) -> str:
    found = Blob.objects.filter(pk=str(event.blobs.get(name, ""))).first() if event else None
    return found.content if found else ""


@page("GET POST", Approval)
def decide(request: AuthenticatedHttpRequest, approval: Approval) -> HttpResponse:
    """One approval: what, why, what happens on yes and no; then the next one."""
    plan = _plan_of(approval)
    if request.method == "POST":
        answer, reason = request.POST.get("answer"), request.POST.get("reason", "").strip()[:4_000]
        if answer not in ("yes", "no"):
            raise BadInput("Choose Approve or Reject.")
        try:
            approvals.decide(approval, by=request.user, yes=answer == "yes", reason=reason)
        except StaleVersion as refusal:
            if plan is None:
                raise
            return conflict(request, plan, refusal)
        upcoming = approvals.pending_for(request.user).exclude(pk=approval.pk).first()
        messages.success(request, f"{'Approved' if answer == 'yes' else 'Rejected'}: {approval.title}")
        return redirect("approval", upcoming.pk) if upcoming else redirect("approvals")
    context = {
        "run": approval.run,
        "plan": plan,
        "asked": _asked_code(approval),
        "graph": dag.graph_of(plan) if plan else None,
    }
    return show(request, "pages/approval.html", context)
