"""What waits for a person."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.contrib import messages
from django.db.models import Count
from django.http import Http404, HttpResponse
from django.shortcuts import redirect

from dashboard.access import visibility
from dashboard.drawing import dag
from dashboard.http.pages import page, show
from dashboard.http.requests import AuthenticatedHttpRequest
from dashboard.presenters import queue
from dashboard.presenters.weaknesses import FindingGroup, changed, weaknesses_of
from dashboard.text import diffs, safe
from dashboard.views.plans import conflict
from projects.errors import BadInput, LostRace, StaleVersion
from projects.models import Approval, Blob, Deployment, Event, Plan, Run
from projects.services.audit.vocabulary import FileChanged, Thought
from projects.services.decisions import approvals
from projects.services.delivery.changes import Changed, changes_between
from projects.services.insight import package_use

ASKS_ABOUT_CODE = (Approval.Kind.GATE, Approval.Kind.REMOVAL, Approval.Kind.TEST_CHANGE)
CODE_FILES = 10  # files of a question whose code is shown


@page("GET")
def inbox(request: AuthenticatedHttpRequest) -> HttpResponse:
    """The queue; its length is the badge's number, from the same query."""
    waiting = list(queue.waiting_for(request.user).annotate(behind=Count("task__unblocks")))
    kinds = Counter(row.kind for row in waiting)
    decided = visibility.visible(Approval, request.user).exclude(status=Approval.Status.PENDING)
    context = {
        "pending": waiting,
        "together": [(kind, kind.label.lower(), kinds[kind]) for kind in queue.BULK if kinds[kind] > 1],
        "decided": decided.select_related("decided_by").order_by("-decided_at")[:10],
    }
    return show(request, "pages/approvals.html", context, part="inbox")


@page("GET POST")
def together(request: AuthenticatedHttpRequest, kind: str) -> HttpResponse:
    """Several questions of one kind, answered with one form; each answer is recorded by itself."""
    if kind not in queue.BULK:
        raise Http404("Questions of this kind are answered one by one.")
    rows = list(queue.waiting_for(request.user).filter(kind=kind))
    if request.method == "GET":
        return show(request, "pages/approvals_together.html", {"pending": rows, "kind": Approval.Kind(kind).label})
    answer, reason = _answer(request)
    picked = [row for row in rows if str(row.pk) in request.POST.getlist("approval")]
    gone = len(set(request.POST.getlist("approval"))) - len(picked)
    if not picked and not gone:
        raise BadInput("Pick at least one question.")
    done = 0
    for row in picked:
        try:
            approvals.decide(row, by=request.user, yes=answer == "yes", reason=reason)
            done += 1
        except LostRace:
            gone += 1
    if gone:
        messages.warning(request, f"Decided elsewhere meanwhile: {gone}. Your answer to these does not count.")
    if done:
        messages.success(request, f"{'Approved' if answer == 'yes' else 'Rejected'}: {done}.")
    return queue.after_decision(request)


def _answer(request: AuthenticatedHttpRequest) -> tuple[str, str]:
    answer = request.POST.get("answer", "")
    if answer not in ("yes", "no"):
        raise BadInput("Choose Approve or Reject.")
    return answer, request.POST.get("reason", "").strip()[:4_000]


def _plan_of(approval: Approval) -> Plan | None:
    if approval.kind != Approval.Kind.PLAN:
        return None
    return approval.project.plans.filter(content_hash=approval.subject).first()


def _weakness_of(approval: Approval) -> FindingGroup | None:
    """What a second person is asked about."""
    if approval.task is None or "finding" not in approval.payload:
        return None
    wanted = approval.payload["finding"]
    found = weaknesses_of(approval.task)
    return next((one for one in found if wanted in [row.pk for row in one.findings]), None)


def _package(approval: Approval) -> dict[str, Any]:
    """What a question about packages is for, and who else uses them; {} for other questions."""
    if approval.kind != Approval.Kind.PACKAGE:
        return {}
    named = approval.payload.get("packages")
    names = [str(name) for name in named][:20] if isinstance(named, dict) and named else [approval.subject]
    rows = Event.objects.filter(task=approval.task, run=approval.run, at__lte=approval.requested_at, type=Thought.type)
    answer = rows.order_by("-seq").first() if approval.task else None
    return {
        "names": names,
        "answer": answer,
        "needed": package_use.lines_that_need(_blob(answer, "output"), names),
        "uses": package_use.uses_of(approval.project, names),
        "tasks": package_use.tasks_naming(approval.project, names, but=approval.task),
        "earlier": package_use.earlier_answers(approval),
    }


def _reasons(plan: Plan | None) -> list[Event]:
    """Why the planner chose what it chose, in its own words."""
    if plan is None:
        return []
    planning = Run.objects.filter(kind=Run.Kind.PLAN, document=plan.document, created_at__lte=plan.created_at)
    newest = planning.order_by("-pk").first()
    rows = Event.objects.filter(run=newest, type="decision", role="planner") if newest else Event.objects.none()
    return list(rows.order_by("seq")[:20])


def _asked_code(approval: Approval) -> dict[str, Any]:
    """What a guard asks about: its reasons, and the code as it was when it asked; {} for other questions.

    Code that reaches outside is written already (`paths`), so its changes are shown. A file that a guard holds back
    (`path`) is not: there the reply that contains it is shown.
    """
    payload = approval.payload
    written = safe.listed(payload.get("paths"), CODE_FILES)
    paths = written or safe.listed(payload.get("path"), 1)
    if approval.kind not in ASKS_ABOUT_CODE or approval.task is None or not paths:
        return {}
    rows = Event.objects.filter(task=approval.task, run=approval.run, at__lte=approval.requested_at).order_by("-seq")
    answer = rows.filter(type=Thought.type).first()
    changes = [rows.filter(type=FileChanged.type, payload__path=str(path)).first() for path in written]
    files = [file for change in changes for file in diffs.parse(_blob(change, "diff"))[0]]
    return {
        "reasons": safe.listed(payload.get("reasons"), 50),
        "rule": payload.get("rule"),
        "paths": paths,
        "files": files,
        "answer": answer,
        "said": "" if written else _blob(answer, "output"),
    }


def _deployment(approval: Approval) -> dict[str, Any]:
    """What a deployment would bring to its target: commits and files, since what runs there; {} for other questions."""
    if approval.kind != Approval.Kind.DEPLOY:
        return {}
    row = Deployment.objects.filter(pk=approval.payload.get("deployment")).select_related("target__live").first()
    if row is None:
        return {}
    before = row.target.live
    return {
        "row": row,
        "before": before,
        "changed": changes_between(approval.project, before.commit, row.commit) if before else Changed(),
    }


def _tests(approval: Approval) -> list[tuple[str, list[diffs.FileDiff]]]:
    """Each existing test that would change, as a diff."""
    rows = [row for row in safe.listed(approval.payload.get("changes"), 50) if isinstance(row, dict)]
    sides = [
        [{str(row.get("path")): list(enumerate(str(row.get(side, "")).splitlines(), 1))} for side in ("old", "new")]
        for row in rows
    ]
    return [(str(row.get("test")), changed(*both)) for row, both in zip(rows, sides, strict=True)]


def _blob(event: Event | None, name: str) -> str:
    found = Blob.objects.filter(pk=str(event.blobs.get(name, ""))).first() if event else None
    return found.content if found else ""


@page("GET POST", Approval)
def decide(request: AuthenticatedHttpRequest, approval: Approval) -> HttpResponse:
    """One approval: what, why, what happens on yes and no; then the next one."""
    plan = _plan_of(approval)
    if request.method == "GET" and (address := queue.address_of(approval)) != request.path:
        return redirect(address)
    if request.method == "POST":
        answer, reason = _answer(request)
        try:
            approvals.decide(approval, by=request.user, yes=answer == "yes", reason=reason)
        except StaleVersion as refusal:
            if plan is None:
                raise
            return conflict(request, plan, refusal)
        messages.success(request, f"{'Approved' if answer == 'yes' else 'Rejected'}: {approval.title}")
        return queue.after_decision(request, approval=approval)
    context = {
        "run": approval.run,
        "plan": plan,
        "asked": _asked_code(approval),
        "tests": _tests(approval),
        "deployment": _deployment(approval),
        "verb": approvals.verb_of(approval),
        "weakness": _weakness_of(approval),
        "package": _package(approval),
        "reasons": _reasons(plan),
        "next_up": queue.next_for(request.user, approval=approval),
        "graph": dag.graph_of(plan) if plan else None,
    }
    return show(request, "pages/approval.html", context)
