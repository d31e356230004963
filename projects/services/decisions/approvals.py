"""Approvals: questions that a person decides. Without an answer nothing proceeds."""

from __future__ import annotations

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from agents.engine.waiting import UNCONFIRMED
from projects.errors import BadInput, NotAllowed, StaleVersion
from projects.models import Approval, Finding, Membership, Plan, Project, Run, Task
from projects.services.accounts.rights import Person, can, require, roles_that_may
from projects.services.operations import releases
from projects.services.planning import plans
from projects.services.work import chats, findings, tasks
from projects.services.work.approval_requests import close_approval, is_second, stored_subject
from projects.services.work.approval_requests import verb_of as verb_of
from projects.services.work.locks import lock_run
from projects.services.work.moves import move_run, move_task
from projects.workers.queue import enqueue

# A gate question that carries a disposition asks for the second person of an override; others only run the gate again.
SECOND_PERSON = Q(kind=Approval.Kind.GATE, payload__has_key="disposition")


def is_gate_question(approval: Approval) -> bool:
    """Whether the security gate asks what becomes of a task's findings; other gate questions are about other things."""
    named = approval.task is not None and approval.subject.startswith(f"{approval.task.key}#")
    return named and approval.kind == Approval.Kind.GATE and not is_second(approval)


def decide(approval: Approval, *, by: User, yes: bool, reason: str = "") -> Approval:
    """Answer a question once; of two answers at the same moment one wins.

    What a yes sets off: a plan is approved (for exactly the hash that was asked about), an escalated task is tried
    again, a waiting task goes on where it stopped, a severe finding's disposition holds. A no needs a reason.
    Raises NotAllowed, BadInput, LostRace (answered before) and StaleVersion (what it was about changed).
    """
    require(by, approval.project, verb_of(approval))
    if not yes and not reason.strip() and approval.kind != Approval.Kind.CHAT:
        raise BadInput("Give a reason: the agents and the audit trail need it.")
    if approval.kind == Approval.Kind.PLAN and approval.task_id is None:  # with a task: a sub-task of it
        _decide_plan(approval, by=by, yes=yes, reason=reason)
    else:
        _check_second(approval, by)
        if yes and is_gate_question(approval) and approval.task and (left := findings.undecided(approval.task)):
            some = f"{left[0].tool} {left[0].rule}" + (f" and {len(left) - 1} more" if len(left) > 1 else "")
            raise BadInput(f"Approve opens when what blocks is decided: {some} still blocks {approval.task.key}.")
        with transaction.atomic():
            if approval.run_id is not None:
                lock_run(approval.run_id)
            close_approval(
                approval, Approval.Status.APPROVED if yes else Approval.Status.REJECTED, by=by, reason=reason
            )
            if yes and is_second(approval):
                _apply_second(approval, by)
            _wake(approval, by=by, yes=yes)
    approval.refresh_from_db()
    return approval


def answer_chat(approval: Approval, *, by: User, leave: str, reason: str = "") -> None:
    """Answer what a chat asks: no, once or session. Raises as decide does."""
    if leave not in ("no", "once", "session") or (leave == "session" and approval.payload.get("each_time")):
        raise BadInput("Choose an answer.")
    with transaction.atomic():
        payload = {**approval.payload, "leave": leave}
        Approval.objects.filter(pk=approval.pk, status=Approval.Status.PENDING).update(payload=payload)
        decide(approval, by=by, yes=leave != "no", reason=reason)


def _decide_plan(approval: Approval, *, by: User, yes: bool, reason: str) -> None:
    plan = Plan.objects.filter(project=approval.project, content_hash=approval.subject).order_by("-version").first()
    if plan is None:
        raise StaleVersion("The plan this was about is gone. Look at the newest version.")
    if yes:
        plans.approve_plan(plan, content_hash=approval.subject, by=by, comment=reason)
    else:
        plans.ask_for_changes(plan, by=by, comment=reason)


def _check_second(approval: Approval, by: User) -> None:
    """The second person is another one than the first, and the one that was named."""
    first, second = approval.payload.get("first"), approval.payload.get("second")
    if not is_second(approval):
        return
    if first == by.pk:
        raise NotAllowed("You decided this first; a second person must agree.")
    if second not in (None, by.pk):
        name = get_user_model().objects.filter(pk=second).values_list("username", flat=True).first()
        raise NotAllowed(f"{name or 'Someone else'} was named as the second person.")


def _apply_second(approval: Approval, by: User) -> None:
    asked = approval.payload
    finding = Finding.objects.filter(pk=asked.get("finding"), fingerprint=approval.subject).first()
    first = get_user_model().objects.filter(pk=asked.get("first")).first()
    if finding is None or first is None:
        raise StaleVersion("The finding this was about, or who decided it, is gone.")
    expires_at = parse_datetime(asked["expires_at"]) if asked.get("expires_at") else None
    if expires_at is not None and expires_at <= timezone.now():
        raise StaleVersion("The decision expired while it was waiting. Decide again with a later date.")
    if not can(first, approval.project, "gate.override"):
        raise StaleVersion(f"{first.get_username()} can no longer override gates. Decide again.")
    findings.apply_disposition(
        finding, by=first, disposition=asked["disposition"], reason=asked["reason"], expires_at=expires_at, second=by
    )


def _wake(approval: Approval, *, by: User, yes: bool) -> None:
    """Let what waited for the answer go on."""
    if approval.kind == Approval.Kind.DEPLOY:
        return releases.answered(approval, yes=yes)
    if approval.run_id is None:
        kinds = (Approval.Kind.PACKAGE, Approval.Kind.SETTINGS)
        if approval.kind in kinds and (row := approval.project.baselines.first()) is not None:
            enqueue("projects.jobs.measure_baseline", row.pk)  # it waits for the answer
        return
    run = Run.objects.get(pk=approval.run_id)
    if run.status in Run.OVER:
        return
    task = Task.objects.select_related("run__project").filter(approvals=approval).first()
    who = by.get_username()
    if task is not None and task.status == Task.Status.ESCALATED and approval.kind == Approval.Kind.ESCALATION:
        if yes:
            tasks.again(task, actor=who, note=approval.reason)
        return
    if task is not None and task.status == Task.Status.NEEDS_YOU:
        if (
            Approval.objects.filter(task=task, status=Approval.Status.PENDING)
            .exclude(pk__in=Approval.objects.filter(SECOND_PERSON).values("pk"))
            .exists()
        ):
            return
        move_task(task, Task.Status.READY, reason="answered", actor=who)
    if run.status == Run.Status.NEEDS_YOU:
        move_run(run, Run.Status.RUNNING, reason="", actor=who)
    jobs = {Run.Kind.BUILD: "projects.jobs.schedule_run", Run.Kind.CHAT: chats.JOB}
    enqueue(jobs.get(Run.Kind(run.kind), "projects.jobs.plan_run"), run.pk)


def answer_to(project: Project, *, kind: str, subject: str, run: Run | None = None) -> Approval.Status | None:
    """The newest answer about exactly this subject (in this run when given): None when nobody was ever asked."""
    rows = Approval.objects.filter(project=project, kind=kind, subject=stored_subject(subject))
    if run is not None:
        rows = rows.filter(run=run)
    status = rows.order_by("-pk").values_list("status", flat=True).first()
    return None if status is None else Approval.Status(status)


def pending_for(user: Person) -> QuerySet[Approval]:
    """Questions this user may answer, oldest first; the badge counts exactly what the list shows."""
    rows = Approval.objects.filter(status=Approval.Status.PENDING).select_related("project", "run", "task")
    if not (user.is_authenticated and user.is_active):
        return rows.none()
    # Who asked for a second person is not that person.
    rows = rows.exclude(pk__in=Approval.objects.filter(SECOND_PERSON, payload__first=user.pk).values("pk"))
    if user.is_superuser:
        return rows
    plan, chat = Q(kind=Approval.Kind.PLAN), Q(kind=Approval.Kind.CHAT)
    second = Q(pk__in=Approval.objects.filter(SECOND_PERSON).values("pk"))
    return rows.filter(
        (plan & _where(user, "plan.approve"))
        | (second & _where(user, "gate.override"))
        | (chat & _where(user, "run.control"))
        | (~plan & ~chat & ~second & _where(user, "approval.decide"))
    )


def unconfirmed_for(user: User) -> list[Run]:
    """Runs that wait for this user to confirm the requirements of their document, which is no question to answer."""
    rows = Run.objects.filter(status=Run.Status.NEEDS_YOU, wait_reason__in=UNCONFIRMED).order_by("pk")
    return [run for run in rows.select_related("project", "document") if can(user, run.project, "requirement.edit")]


def _where(user: Person, verb: str) -> Q:
    """Questions in projects in which the user's roles include `verb`."""
    return Q(
        project__in=Membership.objects.filter(user_id=user.pk or 0, role__in=roles_that_may(verb)).values("project")
    )
