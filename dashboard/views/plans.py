"""The plan: graph and table, its checks, its versions, and the hard yes."""

from __future__ import annotations

import copy
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from dashboard import dag, plan_diff
from dashboard.forms import TaskForm
from dashboard.pages import page, show, version_of
from dashboard.requests import AuthenticatedHttpRequest
from dashboard.text import listed
from projects.errors import StaleVersion
from projects.models import Plan, Project
from projects.services.planning import plans
from projects.services.work import runs


def _url(plan: Plan) -> str:
    return f"{reverse('plan', args=[plan.project_id])}?v={plan.version}"


@page("GET", Project)
def review(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """The newest plan (or ?v=), what checks say about it, and what changed since the version before."""
    versions = project.plans.select_related("document", "decided_by", "created_by")
    plan = version_of(request, versions)
    context: dict[str, Any] = {"project": project, "plan": plan, "document": project.documents.first()}
    if plan is not None:
        entries = dag.entries_of(plan)
        before = versions.filter(version__lt=plan.version).first()
        changes = plan_diff.compare(dag.entries_of(before), entries) if before else []
        covered = {str(key) for entry in entries for key in listed(entry.get("requirements"), 1_000)}
        # What the product shall not do needs no task.
        wanted = plan.document.requirements.exclude(status="rejected").exclude(kind="non_goal")
        run = plan.runs.filter(kind="build").order_by("-pk").first()
        context |= {
            "versions": versions.values("version", "status"),
            "newest": versions.first(),
            "before": before,
            "changes": changes,
            "graph": dag.graph_of_run(run)
            if run
            else dag.graph_of(plan, {change.key: change.kind for change in changes} if before else None),
            "entries": entries,
            "covered": sum(r.key in covered for r in wanted),
            "wanted": len(wanted),
            "minutes": sum(e.get("minutes") or 0 for e in entries if isinstance(e.get("minutes"), int | float)),
            "run": run,
        }
    return show(request, "pages/plan.html", context)


def conflict(request: AuthenticatedHttpRequest, plan: Plan, refusal: StaleVersion) -> HttpResponse:
    """Both versions, so that the person can choose with open eyes."""
    newest = plan.project.plans.first()
    context = {
        "project": plan.project,
        "plan": plan,
        "newest": newest,
        "refusal": str(refusal),
        "changes": plan_diff.compare(dag.entries_of(plan), dag.entries_of(newest)) if newest else [],
    }
    return render(request, "pages/plan_conflict.html", context, status=409)


@page("POST", Plan)
def approve(request: AuthenticatedHttpRequest, plan: Plan) -> HttpResponse:
    """The hard yes, to exactly the content that was shown."""
    try:
        plans.approve_plan(plan, content_hash=request.POST.get("hash", ""), by=request.user)
    except StaleVersion as refusal:
        return conflict(request, plan, refusal)
    messages.success(request, f"Plan v{plan.version} is approved and pinned to {plan.content_hash[:12]}.")
    return redirect(_url(plan))


@page("POST", Plan)
def changes(request: AuthenticatedHttpRequest, plan: Plan) -> HttpResponse:
    """No, with what should be different."""
    try:
        plans.ask_for_changes(plan, by=request.user, comment=request.POST.get("comment", "").strip()[:4_000])
    except StaleVersion as refusal:
        return conflict(request, plan, refusal)
    messages.success(request, "Changes requested. The planner creates a new version.")
    return redirect(_url(plan))


@page("GET POST", Plan)
def edit_task(request: AuthenticatedHttpRequest, plan: Plan, key: str) -> HttpResponse:
    """Change one task; that makes a new version of the plan."""
    entry = next((e for e in dag.entries_of(plan) if str(e.get("key")) == key), None)
    if entry is None:
        raise Http404("The plan has no such task.")
    start = {name: entry.get(name) for name in ("title", "description", "expects", "agent", "minutes")}
    start |= {name: ", ".join(map(str, listed(entry.get(name), 1_000))) for name in ("requirements", "needs")}
    form = TaskForm(request.POST or None, initial=start)
    if request.method == "POST" and form.is_valid():
        content = copy.deepcopy(plan.content)
        fields = {k: v for k, v in form.cleaned_data.items() if k != "comment"}
        for other in content["tasks"]:
            if str(other.get("key")) == key:
                other.update(fields)
        try:
            newer = plans.edit_plan(
                plan,
                content=content,
                by=request.user,
                comment=form.cleaned_data["comment"],
                base_hash=request.POST.get("hash", ""),
            )
        except StaleVersion as refusal:
            return conflict(request, plan, refusal)
        messages.success(request, f"{key} is changed in plan v{newer.version}.")
        return redirect(_url(newer))
    context = {"project": plan.project, "plan": plan, "entry": entry, "key": key, "form": form}
    return show(request, "pages/plan_task.html", context, status=422 if form.errors else 200)


@page("POST", Plan)
def build(request: AuthenticatedHttpRequest, plan: Plan) -> HttpResponse:
    """Start building an approved plan, and go and watch it."""
    return redirect("run", runs.start_build(plan, by=request.user).pk)
