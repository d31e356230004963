"""The queue of decisions: by risk, then by age; where each is answered, and which comes next."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import Case, IntegerField, QuerySet, Value, When
from django.http import HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse

from dashboard.http.requests import AuthenticatedHttpRequest
from projects.models import Approval, Task
from projects.services.decisions import approvals

# What a yes could let through comes first; then what holds work up.
RISK = (
    Approval.Kind.GATE,
    Approval.Kind.PACKAGE,
    Approval.Kind.PUSH,
    Approval.Kind.DEPLOY,
    Approval.Kind.CHAT,
    Approval.Kind.BASE_MOVED,
    Approval.Kind.SETTINGS,
    Approval.Kind.REMOVAL,
    Approval.Kind.TEST_CHANGE,
    Approval.Kind.ESCALATION,
    Approval.Kind.PLAN,
)
# One form may answer several of these; each is still recorded by itself.
BULK = (Approval.Kind.PACKAGE, Approval.Kind.REMOVAL, Approval.Kind.TEST_CHANGE, Approval.Kind.ESCALATION)


def waiting_for(user: User) -> QuerySet[Approval]:
    """Everything this person may answer, riskiest first, then oldest first."""
    order = Case(*(When(kind=kind, then=Value(rank)) for rank, kind in enumerate(RISK)), output_field=IntegerField())
    return approvals.pending_for(user).annotate(risk=order).order_by("risk", "requested_at", "pk")


def next_for(user: User, *, approval: Approval | None = None, task: Task | None = None) -> Approval | None:
    """The decision that comes after this one, or after this task's."""
    rows = waiting_for(user)
    if approval is not None:
        rows = rows.exclude(pk=approval.pk)
    if task is not None:
        rows = rows.exclude(task=task)
    return rows.first()


def address_of(approval: Approval) -> str:
    """Where a question is answered with its evidence before one's eyes."""
    if approval.task_id is not None and approval.status == Approval.Status.PENDING:
        if approvals.is_gate_question(approval):
            return reverse("gate", args=[approval.task_id])
        if approval.kind == Approval.Kind.ESCALATION:
            return reverse("task", args=[approval.task_id])
    if approval.kind == Approval.Kind.CHAT and approval.status == Approval.Status.PENDING:
        return f"{reverse('run', args=[approval.run_id])}#question"
    return reverse("approval", args=[approval.pk])


def after_decision(
    request: AuthenticatedHttpRequest, *, approval: Approval | None = None, task: Task | None = None
) -> HttpResponseRedirect:
    """Open the next decision that waits, which is named; without one, the list."""
    following = next_for(request.user, approval=approval, task=task)
    if following is None:
        return redirect("approvals")
    messages.info(request, f"Next: {following.title}")
    return redirect(address_of(following))
