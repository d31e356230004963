"""The only functions through which tasks, runs and plans change state.

Every move is a compare-and-set, leaves a Transition row and, where there is a stream, an event, all in one transaction.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from agents.engine.waiting import UNCONFIRMED, WaitReason
from agents.events.lifecycle import (
    RunFinished,
    RunMoved,
    RunPaused,
    RunResumed,
    RunStarted,
    TaskBlocked,
    TaskDone,
    TaskFailed,
    TaskMoved,
    TaskQueued,
    TaskReady,
    TaskStarted,
)
from agents.secrets.redaction import redact
from projects.errors import IllegalMove, LeaseLost, LostRace
from projects.models import Event, NoticeKind, Plan, Run, Task, Transition
from projects.models.waiting import sentence
from projects.services.audit.canonical import clean_line
from projects.services.audit.events import emit
from projects.services.audit.sealing import forget_replies
from projects.services.notices import outbox
from projects.services.work.leases import lost
from projects.services.work.locks import lock_run

TASK_EVENTS: dict[str, tuple[type[TaskMoved], str]] = {
    Task.Status.QUEUED: (TaskQueued, ""),
    Task.Status.READY: (TaskReady, ""),
    Task.Status.RUNNING: (TaskStarted, ""),
    Task.Status.NEEDS_YOU: (TaskBlocked, "needs_you"),
    Task.Status.BLOCKED: (TaskBlocked, "blocked"),
    Task.Status.MERGED: (TaskDone, "merged"),
    Task.Status.SKIPPED: (TaskDone, "skipped"),
    Task.Status.ESCALATED: (TaskFailed, "escalated"),
    Task.Status.CANCELLED: (TaskFailed, "cancelled"),
}
RUN_EVENTS: dict[str, tuple[type[RunMoved], str]] = {
    Run.Status.RUNNING: (RunStarted, ""),
    Run.Status.PAUSED: (RunPaused, ""),
    Run.Status.NEEDS_YOU: (RunPaused, "needs_you"),
    Run.Status.FINISHED: (RunFinished, "ok"),
    Run.Status.FAILED: (RunFinished, "fail"),
    Run.Status.CANCELLED: (RunFinished, "cancelled"),
}
TASK_OVER = (Task.Status.MERGED, Task.Status.SKIPPED, Task.Status.ESCALATED, Task.Status.CANCELLED)


def check_move(moves: dict[str, tuple[str, ...]], old: str, to: str, what: str) -> None:
    """Refuse a step the state machine does not have; the text names the steps it has."""
    if to not in moves.get(old, ()):
        ways = ", ".join(str(way) for way in moves.get(old, ())) or "nothing: it is over"
        raise IllegalMove(f"{what} cannot go from {old} to {to}. Possible: {ways}.")


def record(kind: str, pk: int, old: str, new: str, *, reason: str, actor: str) -> Transition:
    """Add the history row of a move."""
    reason, actor = clean_line(str(redact(reason)), 300), clean_line(actor, 120)
    return Transition.objects.create(kind=kind, object_id=pk, old=old, new=new, reason=reason, actor=actor)


def _changes(row: Task | Run, to: str, wait: WaitReason | None, reason: str, now: datetime) -> dict[str, Any]:
    """The columns that a move sets; `now` is the time of its event too, so a past moment shows what was live."""
    over = to in (Run.OVER if isinstance(row, Run) else TASK_OVER)
    detail = clean_line(str(redact(reason)), 300)
    changes: dict[str, Any] = {"status": str(to), "wait_reason": wait or "", "why_detail": detail}
    if to == "running" and row.started_at is None:
        changes["started_at"] = now
    if over or row.finished_at is not None:
        changes["finished_at"] = now if over else None
    return changes


def move_task(
    task: Task, to: str, *, wait: WaitReason | None = None, reason: str = "", actor: str = "", token: int | None = None
) -> Event:
    """Move a task along its state machine; record why in the history and in the stream.

    With `wait`, what the task waits for from now on, `reason` is its detail. With a `token` the move is refused
    (LeaseLost) unless it is the task's current lease token. Raises IllegalMove for a step the machine does not have and
    LostRace when the task's state is no longer the one in `task`.
    """
    old = task.status
    check_move(Task.MOVES, old, to, f"Task {task.key}")
    why = sentence(wait or "", reason)
    with transaction.atomic():
        lock_run(task.run_id)
        now = timezone.now()
        changes = _changes(task, to, wait, reason, now)
        rows = Task.objects.filter(pk=task.pk, status=old)
        if token is not None:
            rows = rows.filter(lease_token=token).exclude(lease_owner="")
        if not rows.update(**changes):
            raise _refusal(task, old, token)
        record("task", task.pk, old, str(to), reason=why, actor=actor)
        kind, outcome = TASK_EVENTS[to]
        text = f"{task.key} {task.title}: {Task.Status(to).label.lower()}" + (f" · {why}" if why else "")
        waits = {"wait": changes["wait_reason"], "detail": changes["why_detail"]} if wait else {}
        moved = kind(summary=text, outcome=outcome, key=task.key, from_=str(old), to=str(to), reason=why, **waits)
        event = emit(task.run_id, moved, actor=actor, task_id=task.pk, at=now)
    vars(task).update(changes)
    return event


def _refusal(task: Task, old: str, token: int | None) -> LeaseLost | LostRace:
    now = Task.objects.filter(pk=task.pk).values_list("status", "lease_token", "lease_owner").first()
    if now is not None and token is not None and (now[1] != token or not now[2]):
        return lost(Task, task.pk)
    return LostRace(f"Task {task.key} is no longer {old}; it is {now[0] if now else 'gone'}. Look again.")


def move_run(run: Run, to: str, *, wait: WaitReason | None = None, reason: str = "", actor: str = "") -> Event:
    """Move a run along its state machine; record why in the history and in the stream.

    With `wait`, what the run waits for from now on, `reason` is its detail. Raises IllegalMove for a step the
    machine does not have and LostRace when somebody else moved the run first.
    """
    old = run.status
    check_move(Run.MOVES, old, to, f"Run {run.pk}")
    why = sentence(wait or "", reason)
    first = run.started_at is None
    with transaction.atomic():
        lock_run(run.pk)
        now = timezone.now()
        changes = _changes(run, to, wait, reason, now)
        changes["why_since"] = now if why else None
        if not Run.objects.filter(pk=run.pk, status=old).update(**changes):
            raise LostRace(f"Run {run.pk} is no longer {old}. Look again.")
        if to in Run.OVER:
            forget_replies(run.pk)
        record("run", run.pk, old, str(to), reason=why, actor=actor)
        kind, outcome = RUN_EVENTS[to]
        if to == Run.Status.RUNNING and not first:
            kind = RunResumed
        text = f"Run {run.pk}: {Run.Status(to).label.lower()}" + (f" · {why}" if why else "")
        waits = {"wait": changes["wait_reason"], "detail": changes["why_detail"]} if wait else {}
        moved = kind(summary=text, outcome=outcome, from_=str(old), to=str(to), reason=why, **waits)
        event = emit(run.pk, moved, actor=actor, at=now)
        _tell(run, to, wait, event)
    vars(run).update(changes)
    return event


def _tell(run: Run, to: str, wait: WaitReason | None, event: Event) -> None:
    """Tell people what they may wait for; that a question waits is told where it is asked."""
    about, link = f"run:{run.pk}:{event.seq}", f"/runs/{run.pk}"
    if to == Run.Status.FAILED:
        outbox.tell(NoticeKind.FAILED, run.project, key=about, link=link, text="run failed")
    elif to == Run.Status.FINISHED and run.kind not in (Run.Kind.PLAN, Run.Kind.CHAT):
        outbox.tell(NoticeKind.FINISHED, run.project, key=about, link=link, text="run finished")
    elif to == Run.Status.NEEDS_YOU and wait in UNCONFIRMED:
        link, text = f"/p/{run.project_id}/reqs", "requirements to confirm"
        outbox.tell(NoticeKind.DECISION, run.project, key=about, link=link, text=text, verb="requirement.edit")


def move_plan(plan: Plan, to: str, *, reason: str = "", actor: str = "", **changes: Any) -> None:
    """Move a plan along its state machine and record why; `changes` are columns set with it.

    The plan's content hash is compared too, so a decision never lands on another content. Raises IllegalMove and
    LostRace as the other moves do. Call it inside the transaction that also writes the plan's event.
    """
    old = plan.status
    check_move(Plan.MOVES, old, to, f"Plan v{plan.version}")
    with transaction.atomic():
        rows = Plan.objects.filter(pk=plan.pk, status=old, content_hash=plan.content_hash)
        if not rows.update(status=str(to), **changes):
            raise LostRace(f"Plan v{plan.version} is no longer {old}. Look again.")
        record("plan", plan.pk, old, str(to), reason=reason, actor=actor)
    plan.status = str(to)
    for name, value in changes.items():
        setattr(plan, name, value)
