"""Questions that wait for a person. Silence means no."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Q, QuerySet

from projects.errors import BadInput, StaleVersion
from projects.models import Approval, Membership, Plan, Project, Run, Task
from projects.services import plans, tasks
from projects.services.asking import ask, close_questions, settle
from projects.services.locks import lock_run
from projects.services.moves import move_run, move_task
from projects.services.queue import enqueue
from projects.services.rights import Person, require, roles_that_may

if TYPE_CHECKING:
    from django.contrib.auth.models import User

__all__ = ["answer_to", "ask", "close_questions", "decide", "pending_for", "verb_of"]

VERB_OF_KIND: dict[str, str] = {Approval.Kind.PLAN: "plan.approve"}


def verb_of(kind: str) -> str:
    """The right that deciding this kind of question takes."""
    return VERB_OF_KIND.get(kind, "approval.decide")


def decide(approval: Approval, *, by: User, yes: bool, reason: str = "") -> Approval:
    """Answer a question once; of two answers at the same moment one wins.

    What a yes sets off: a plan is approved (for exactly the hash that was asked about), an escalated task is tried
    again, a waiting task goes on where it stopped. A no needs a reason. Raises NotAllowed, BadInput, LostRace
    (answered before) and StaleVersion (the plan changed).
    """
    require(by, approval.project, verb_of(approval.kind))
    if not yes and not reason.strip():
        raise BadInput("Say why not: the agents and the audit trail need the reason.")
    if approval.kind == Approval.Kind.PLAN:
        _decide_plan(approval, by=by, yes=yes, reason=reason)
    else:
        with transaction.atomic():
            if approval.run_id is not None:
                lock_run(approval.run_id)
            settle(approval, Approval.Status.APPROVED if yes else Approval.Status.REJECTED, by=by, reason=reason)
            _wake(approval, by=by, yes=yes)
    approval.refresh_from_db()
    return approval


def _decide_plan(approval: Approval, *, by: User, yes: bool, reason: str) -> None:
    plan = Plan.objects.filter(project=approval.project, content_hash=approval.subject).order_by("-version").first()
    if plan is None:
        raise StaleVersion("The plan this was about is gone. Look at the newest version.")
    if yes:
        plans.approve_plan(plan, content_hash=approval.subject, by=by, comment=reason)
    else:
        plans.ask_for_changes(plan, by=by, comment=reason)


def _wake(approval: Approval, *, by: User, yes: bool) -> None:
    """Let what waited for the answer go on."""
    run, task = approval.run, approval.task
    if run is None or run.status in Run.OVER:
        return
    who = by.get_username()
    if task is not None and task.status == Task.Status.ESCALATED and approval.kind == Approval.Kind.ESCALATION:
        if yes:
            tasks.again(task, actor=who, note=approval.reason)
        return
    if task is not None and task.status == Task.Status.NEEDS_YOU:
        if Approval.objects.filter(task=task, status=Approval.Status.PENDING).exists():
            return
        move_task(task, Task.Status.READY, reason="answered", actor=who)
    run.refresh_from_db()
    if run.status == Run.Status.NEEDS_YOU:
        move_run(run, Run.Status.RUNNING, reason="", actor=who)
    enqueue("projects.jobs.schedule_run" if run.kind == Run.Kind.BUILD else "projects.jobs.plan_run", run.pk)


def answer_to(project: Project, *, kind: str, subject: str, run: Run | None = None) -> Approval.Status | None:
    """The newest answer about exactly this subject (in this run when given): None when nobody was ever asked."""
    rows = Approval.objects.filter(project=project, kind=kind, subject=subject)
    if run is not None:
        rows = rows.filter(run=run)
    status = rows.order_by("-pk").values_list("status", flat=True).first()
    return None if status is None else Approval.Status(status)


def pending_for(user: Person) -> QuerySet[Approval]:
    """Questions this user may answer, oldest first; the badge counts exactly what the list shows."""
    rows = Approval.objects.filter(status=Approval.Status.PENDING).select_related("project", "run", "task")
    if not (user.is_authenticated and user.is_active):
        return rows.none()
    if user.is_superuser:
        return rows
    mine = Membership.objects.filter(user=user)
    may_plan = mine.filter(role__in=roles_that_may("plan.approve")).values("project")
    may_decide = mine.filter(role__in=roles_that_may("approval.decide")).values("project")
    plan = Q(kind=Approval.Kind.PLAN)
    return rows.filter((plan & Q(project__in=may_plan)) | (~plan & Q(project__in=may_decide)))
