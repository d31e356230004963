"""Putting a question to people, and closing questions that lost their point."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from agents.events.lifecycle import ApprovalDecided, ApprovalRequested
from agents.secrets.redaction import redact
from projects.errors import LostRace
from projects.models import Approval, NoticeKind, Project, Run, Task
from projects.services.audit.canonical import clean_json, clean_line, clean_text
from projects.services.audit.events import emit
from projects.services.audit.sitelog import note
from projects.services.notices import outbox
from projects.services.work.locks import lock_project, lock_run

LONGEST_SUBJECT = 200


def stored_subject(subject: str) -> str:
    """A subject as its row holds it: a long one is its hash, since a part of it would stand for others too."""
    plain = clean_text(subject)
    return plain if len(plain) <= LONGEST_SUBJECT else hashlib.sha256(plain.encode()).hexdigest()


def ask(
    project: Project,
    *,
    kind: str,
    subject: str,
    title: str,
    run: Run | None = None,
    task: Task | None = None,
    why: str = "",
    on_yes: str = "",
    on_no: str = "",
    payload: Mapping[str, Any] | None = None,
) -> Approval:
    """Ask for a decision about exactly `subject`; while it is pending, asking again returns the same question."""
    subject = stored_subject(subject)
    with transaction.atomic():
        if run is not None:
            lock_run(run.pk)
        else:
            lock_project(project.pk)
        waiting = Approval.objects.filter(
            project=project, run=run, task=task, kind=kind, subject=subject, status=Approval.Status.PENDING
        ).first()
        if waiting is not None:
            return waiting
        approval = Approval.objects.create(
            project=project,
            run=run,
            task=task,
            kind=kind,
            subject=subject,
            title=clean_line(str(redact(title)), 200),
            why=clean_text(str(redact(why))),
            on_yes=clean_line(on_yes, 300),
            on_no=clean_line(on_no, 300),
            payload=clean_json(redact(clean_json(dict(payload or {})))),
        )
        if run is not None:
            requested = ApprovalRequested(
                summary=f"needs you: {approval.title}",
                approval=approval.pk,
                kind=kind,
                title=approval.title,
                subject=subject,
            )
            emit(run.pk, requested, task_id=task.pk if task else None)
        told, text = NoticeKind.DECISION, "needs a decision"
        if kind == Approval.Kind.ESCALATION:
            told, text = NoticeKind.FAILED, "task escalated"
        where = {"key": f"approval:{approval.pk}", "link": f"/approvals/{approval.pk}"}
        outbox.tell(told, project, **where, text=text, verb=verb_of(approval))
    return approval


def verb_of(approval: Approval) -> str:
    """The right that deciding this question takes."""
    if approval.kind == Approval.Kind.PLAN:
        return "plan.approve"
    if approval.kind == Approval.Kind.CHAT:
        return "run.control"
    return "gate.override" if is_second(approval) else "approval.decide"


def is_second(approval: Approval) -> bool:
    """Whether the question asks for the second person of an override."""
    return approval.kind == Approval.Kind.GATE and "disposition" in approval.payload


def close_approval(approval: Approval, status: str, *, by: Any = None, reason: str = "") -> None:
    """Answer or close a pending question; one UPDATE decides between two answers at once.

    Raises LostRace when it was answered or closed before. Call it after the rights were checked.
    """
    now = timezone.now()
    clean_reason = clean_text(str(redact(reason)))
    with transaction.atomic():
        if approval.run_id is not None:
            lock_run(approval.run_id)
        rows = Approval.objects.filter(pk=approval.pk, status=Approval.Status.PENDING)
        if not rows.update(status=status, reason=clean_reason, decided_at=now, decided_by=by):
            now_is = Approval.objects.filter(pk=approval.pk).select_related("decided_by").first()
            who = f" by {now_is.decided_by.get_username()}" if now_is and now_is.decided_by else ""
            word = now_is.get_status_display().lower() if now_is else "removed"
            raise LostRace(f"Decided elsewhere: “{approval.title}” was {word}{who}. Your answer does not count.")
        if approval.run_id is not None:
            word = Approval.Status(status).label.lower()
            decided = ApprovalDecided(
                summary=f"{word}: {approval.title}" + (f" · {clean_reason}" if clean_reason else ""),
                role="user" if by is not None else "runtime",
                outcome={"approved": "ok", "rejected": "fail"}.get(status, status),
                approval=approval.pk,
                kind=approval.kind,
                title=approval.title,
                answer=status,
                reason=clean_reason,
            )
            actor = by.get_username() if by is not None else ""
            emit(approval.run_id, decided, actor=actor, task_id=approval.task_id)
        else:
            said = {"approval": approval.pk, "answer": str(status), "reason": clean_reason}
            note(by, "approval.decided", approval.title, said)
    approval.status, approval.reason, approval.decided_at, approval.decided_by = status, clean_reason, now, by


def close_questions(reason: str, **which: Any) -> int:
    """Close every pending question that matches (field lookups of Approval), saying why. Returns how many."""
    closed = 0
    for approval in Approval.objects.filter(status=Approval.Status.PENDING, **which).order_by("pk"):
        try:
            close_approval(approval, Approval.Status.CLOSED, reason=reason)
        except LostRace:
            continue  # answered in this moment: nothing left to close
        closed += 1
    return closed
