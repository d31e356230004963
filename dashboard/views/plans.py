"""The plan: graph and table, its checks, its versions, and its approval."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from dashboard.drawing import dag
from dashboard.http.pages import page, show, version_of
from dashboard.http.requests import AuthenticatedHttpRequest
from dashboard.text.safe import listed
from projects.errors import BadInput, StaleVersion
from projects.models import Plan, Project, Requirement, RequirementDocument, Transition
from projects.services.planning import plan_drafts, plans, runs, variants
from projects.services.planning.plan_edits import FIELDS

SAMPLES = 3  # plans that the planner is asked for to compare


@dataclass
class PlanChange:
    """One task's change: added, removed or changed, with (field, before, after)."""

    key: str
    title: str
    kind: str
    fields: list[tuple[str, str, str]] = field(default_factory=list)


def _words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value if value is not None else "")


def compare(before: Plan, after: Plan) -> list[PlanChange]:
    """Changes of each task, in the order of the newer plan, removed tasks last."""
    old = {str(entry.get("key")): entry for entry in dag.entries_of(before)}
    new = {str(entry.get("key")): entry for entry in dag.entries_of(after)}
    changes = []
    for key, entry in new.items():
        if key not in old:
            changes.append(PlanChange(key, _words(entry.get("title")), "added"))
            continue
        differs = [
            (name, _words(old[key].get(name)), _words(entry.get(name)))
            for name in FIELDS
            if (old[key].get(name) or None) != (entry.get(name) or None)
        ]
        if differs:
            changes.append(PlanChange(key, _words(entry.get("title")), "changed", differs))
    changes += [PlanChange(key, _words(e.get("title")), "removed") for key, e in old.items() if key not in new]
    return changes


def url_of(plan: Plan) -> str:
    """The page of a version."""
    return f"{reverse('plan', args=[plan.project_id])}?v={plan.version}"


@page("GET", Project)
def review(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """The newest plan (or ?v=), what checks say about it, and what changed since the version before."""
    versions = project.plans.select_related("document", "decided_by", "created_by")
    plan = version_of(request, versions)
    context: dict[str, Any] = {"plan": plan, "document": project.documents.first(), "heading": _heading(plan)}
    if plan is not None:
        entries = dag.entries_of(plan)
        before = versions.filter(version__lt=plan.version).first()
        changes = compare(before, plan) if before else []
        covered = {str(key) for entry in entries for key in listed(entry.get("requirements"), 1_000)}
        # What the product shall not do needs no task.
        wanted = set(plan.document.requirements.wanted().exclude(kind="non_goal").values_list("key", flat=True))
        count = len(wanted)
        if plan.document.replaces is not None:  # what was built and unchanged when it was made needed no task
            known = Requirement.objects.filter(document__in=[plan.document, *plan.document.replaced()])
            wanted = covered.intersection(known.values_list("key", flat=True))
            count = len(wanted) + sum(item.get("code") == "uncovered_requirement" for item in plan.problems)
        run = plan.runs.filter(kind="build").order_by("-pk").first()
        context |= {
            "versions": versions,
            "newest": versions.first(),
            "before": before,
            "changes": changes,
            "graph": dag.graph_of(plan, tasks={task.key: task for task in run.tasks.all()})
            if run
            else dag.graph_of(plan, {change.key: change.kind for change in changes} if before else None),
            "entries": entries,
            "covered": len(wanted & covered),
            "wanted": count,
            "minutes": sum(e.get("minutes") or 0 for e in entries if isinstance(e.get("minutes"), int | float)),
            "run": run,
            "draft": plan_drafts.draft_of(plan.document, request.user),
            "refusals": plan_drafts.refusals(plan.document),
            "moves": _moves(versions),
        }
        if request.GET.get("variants"):
            context |= _compared(plan)
    return show(request, "pages/plan.html", context, part="plan_variants" if request.GET.get("variants") else "")


_SAYS = {
    Plan.Status.PROPOSED: "waits for your approval",
    Plan.Status.INVALID: "cannot be built: a check failed",
    Plan.Status.APPROVED: "is approved",
    Plan.Status.REJECTED: "was sent back for changes",
    Plan.Status.SUPERSEDED: "was replaced by a newer version",
}


def _heading(plan: Plan | None) -> str:
    """The answer to what the page is asked for."""
    return f"Plan v{plan.version} {_SAYS.get(Plan.Status(plan.status), 'is being made')}" if plan else "No plan yet"


def _moves(versions: Iterable[Plan]) -> dict[int, str]:
    """Why each version is in its state, where that was said."""
    rows = Transition.objects.filter(kind="plan", object_id__in=[plan.pk for plan in versions]).exclude(reason="")
    return dict(rows.order_by("pk").values_list("object_id", "reason"))


def _compared(plan: Plan) -> dict[str, Any]:
    try:
        return {"compared": variants.compare(plan.document)}
    except BadInput as refusal:
        return {"refusal": str(refusal)}


def conflict(request: AuthenticatedHttpRequest, plan: Plan, refusal: StaleVersion) -> HttpResponse:
    """Both versions, for a person whose page was out of date."""
    newest = plan.project.plans.first()
    context = {
        "project": plan.project,
        "plan": plan,
        "newest": newest,
        "refusal": str(refusal),
        "changes": compare(plan, newest) if newest else [],
    }
    return render(request, "pages/plan_conflict.html", context, status=409)


@page("POST", Plan)
def approve(request: AuthenticatedHttpRequest, plan: Plan) -> HttpResponse:
    """Approve exactly the content that was shown."""
    try:
        plans.approve_plan(plan, content_hash=request.POST.get("hash", ""), by=request.user)
    except StaleVersion as refusal:
        return conflict(request, plan, refusal)
    messages.success(request, f"Plan v{plan.version} is approved and pinned to {plan.content_hash[:12]}.")
    return redirect(url_of(plan))


@page("POST", RequirementDocument)
def sample(request: AuthenticatedHttpRequest, document: RequirementDocument) -> HttpResponse:
    """Have the planner make plans to compare, and show the run."""
    return redirect("run", runs.start_planning(document, by=request.user, samples=SAMPLES).pk)


@page("POST", Plan)
def take_variant(request: AuthenticatedHttpRequest, plan: Plan) -> HttpResponse:
    """Make a variant of the newest plan a version that waits for approval."""
    try:
        newer = variants.take_variant(plan, digest=request.POST.get("hash", ""), by=request.user)
    except StaleVersion as refusal:
        return conflict(request, plan, refusal)
    messages.success(request, f"{newer.comment} It is plan v{newer.version} now. Nothing is built before its approval.")
    return redirect(url_of(newer))


@page("POST", Plan)
def changes(request: AuthenticatedHttpRequest, plan: Plan) -> HttpResponse:
    """Reject the plan, with what should change."""
    try:
        plans.ask_for_changes(plan, by=request.user, comment=request.POST.get("comment", "").strip()[:4_000])
    except StaleVersion as refusal:
        return conflict(request, plan, refusal)
    messages.success(request, "Changes requested. The planner creates a new version.")
    return redirect(url_of(plan))


@page("POST", Plan)
def restore(request: AuthenticatedHttpRequest, plan: Plan) -> HttpResponse:
    """Make what an earlier version says the newest version."""
    newer = plan_drafts.restore(plan, by=request.user)
    messages.success(request, f"Plan v{newer.version} says what v{plan.version} said. It waits for approval.")
    return redirect(url_of(newer))


@page("POST", Plan)
def build(request: AuthenticatedHttpRequest, plan: Plan) -> HttpResponse:
    """Start building an approved plan, and show the run."""
    return redirect("run", runs.start_build(plan, by=request.user).pk)
