"""What waits for a person."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_GET, require_http_methods

from dashboard import access, dag
from dashboard.pages import show
from dashboard.refusals import refusals
from dashboard.views.plans import conflict
from projects.errors import BadInput, StaleVersion
from projects.models import Approval, Plan
from projects.services import approvals


@require_GET
def inbox(request: HttpRequest) -> HttpResponse:
    """The queue; its length is the badge's number, from the same query."""
    waiting = approvals.pending_for(request.user).select_related("project", "run", "task")
    decided = access.approvals(request.user).exclude(status=Approval.Status.PENDING).order_by("-decided_at")[:10]
    return show(request, "pages/approvals.html", {"pending": waiting, "decided": decided}, part="inbox")


def _plan_of(approval: Approval) -> Plan | None:
    if approval.kind != Approval.Kind.PLAN:
        return None
    return approval.project.plans.filter(content_hash=approval.subject).first()


@require_http_methods(["GET", "POST"])
@refusals
def decide(request: HttpRequest, pk: int) -> HttpResponse:
    """One approval: what, why, what happens on yes and no; then the next one."""
    approval = get_object_or_404(access.approvals(request.user), pk=pk)
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
        upcoming = approvals.pending_for(request.user).exclude(pk=pk).first()
        messages.success(request, f"{'Approved' if answer == 'yes' else 'Rejected'}: {approval.title}")
        return redirect("approval", upcoming.pk) if upcoming else redirect("approvals")
    context = {"approval": approval, "project": approval.project, "run": approval.run, "plan": plan}
    if plan is not None:
        context["graph"] = dag.graph_of(plan)
    return show(request, "pages/approval.html", context)
