"""Verbs on tasks: claiming, moving, retrying, skipping, escalating."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, QuerySet

from agents.engine.waiting import WaitReason
from agents.events.effects import SystemNotice
from agents.secrets.redaction import redact
from projects.errors import BadInput, IllegalMove, LostRace
from projects.models import Approval, Run, Task
from projects.services.accounts.rights import require
from projects.services.audit.canonical import clean_line, clean_text
from projects.services.audit.events import emit
from projects.services.work import leases
from projects.services.work.approval_requests import ask, close_questions
from projects.services.work.locks import lock_run
from projects.services.work.moves import move_run, move_task
from projects.workers.queue import enqueue

DONE = (Task.Status.MERGED, Task.Status.SKIPPED)
NOTE_CHARS = 8_000  # of what people add to a task
STUCK = (Task.Status.ESCALATED, Task.Status.CANCELLED)


def expired_leases() -> QuerySet[Task]:
    """Running tasks nobody holds: their worker died or lost its database."""
    return Task.objects.filter(leases.run_out(), status=Task.Status.RUNNING)


def release_dead_owners(is_alive: Callable[[str], bool]) -> int:
    """Take away the leases of owners for whom `is_alive(owner)` is False, on tasks, runs and merges. Returns how many.

    `is_alive` is given the worker's name alone: what follows a "#" names the job.
    """
    freed = 0
    for model in (Task, Run):
        held = model._default_manager.exclude(lease_owner="")
        for owner in set(held.values_list("lease_owner", flat=True)):
            if not is_alive(owner.partition("#")[0]):
                freed += leases.revoke(model, model._default_manager.filter(lease_owner=owner))
    merging = Run.objects.exclude(merge_owner="")
    for owner in set(merging.values_list("merge_owner", flat=True)):
        if not is_alive(owner.partition("#")[0]):
            freed += Run.objects.filter(merge_owner=owner).update(merge_owner="", merge_until=None)
    return freed


def ready_tasks(run_id: int) -> list[Task]:
    """Bring the run's waiting tasks up to date with what they need, and return all that are ready now.

    A task whose needs are merged or skipped becomes READY; one behind an escalated or cancelled task (at any distance)
    becomes BLOCKED, naming it, and comes back when that is resolved. A task that waits for an answer that came before
    it began to wait goes on too. Nothing moves unless the run is running.
    """
    with transaction.atomic():
        run = lock_run(run_id)
        tasks = list(Task.objects.filter(run_id=run_id).prefetch_related("needs").order_by("ordinal"))
        if run.status in (Run.Status.RUNNING, Run.Status.NEEDS_YOU):
            culprits = _culprits(tasks)
            asked = set(
                Approval.objects.filter(run=run, status=Approval.Status.PENDING).values_list("task_id", flat=True)
            )
            for task in tasks:
                unasked = task.pk not in asked and task.wait_reason != WaitReason.REPOSITORY
                if task.status == Task.Status.NEEDS_YOU and unasked:
                    move_task(task, Task.Status.READY, reason="answered")
                _settle_waiting(task, culprits)
    return [task for task in tasks if task.status == Task.Status.READY]


def _culprits(tasks: list[Task]) -> dict[int, Task]:
    """For every task that waits behind a stuck one: which. Each edge is walked once."""
    behind: dict[int, list[Task]] = {}
    for task in tasks:
        for need in task.needs.all():
            behind.setdefault(need.pk, []).append(task)
    found: dict[int, Task] = {}
    queue = [(task, task) for task in tasks if task.status in STUCK]
    for stuck, culprit in queue:
        for follower in behind.get(stuck.pk, ()):
            if follower.pk not in found and follower.status not in DONE:
                found[follower.pk] = culprit
                queue.append((follower, culprit))
    return found


def _settle_waiting(task: Task, culprits: dict[int, Task]) -> None:
    if task.status not in (Task.Status.QUEUED, Task.Status.BLOCKED):
        return
    if all(need.status in DONE for need in task.needs.all()):
        move_task(task, Task.Status.READY)
    elif task.pk in culprits:
        if task.status == Task.Status.QUEUED:
            culprit = culprits[task.pk]
            detail = f"{culprit.key}, which is {culprit.status}"
            move_task(task, Task.Status.BLOCKED, wait=WaitReason.DEPENDENCY, reason=detail)
    elif task.status == Task.Status.BLOCKED:
        move_task(task, Task.Status.QUEUED, reason="a task it depends on is being worked on again")


def retry_task(task: Task, *, by: User, note: str = "") -> None:
    """Send an escalated, waiting or skipped task to the agents once more, in a fresh graph thread, with a person's
    note.

    Raises NotAllowed, IllegalMove (it is in another state, or its run is over) and LostRace.
    """
    require(by, task.run.project, "task.retry")
    again(task, actor=by.get_username(), note=note)


def again(task: Task, *, actor: str, note: str = "") -> None:
    """retry_task() without asking for rights: for a decision that already implied them."""
    allowed = (Task.Status.ESCALATED, Task.Status.NEEDS_YOU, Task.Status.SKIPPED)
    if task.status not in allowed:
        raise IllegalMove(f"{task.key} is {task.status}: only an escalated, waiting or skipped task can be retried.")
    clean_note = clean_text(str(redact(note)), NOTE_CHARS)
    with transaction.atomic():
        run = _open_run(task)
        close_questions("the task is tried again", task=task)
        move_task(
            task, Task.Status.READY, reason="tried again" + (f": {clean_note}" if clean_note else ""), actor=actor
        )
        rows = Task.objects.filter(pk=task.pk)
        leases.revoke(Task, rows)
        rows.update(generation=F("generation") + 1, note=clean_note, escalation="")
        _revive(run, actor)
        enqueue("projects.jobs.schedule_run", run.pk)
    task.refresh_from_db()


def skip_task(task: Task, *, by: User, reason: str) -> None:
    """Leave a task out; what needs it goes on without it. A reason is required.

    Raises NotAllowed, BadInput, IllegalMove (a running task must be stopped first) and LostRace.
    """
    require(by, task.run.project, "task.retry")
    if not reason.strip():
        raise BadInput("Give a reason for skipping the task: it is kept in the audit trail.")
    with transaction.atomic():
        run = _open_run(task)
        close_questions("the task was skipped", task=task)
        move_task(task, Task.Status.SKIPPED, reason=str(redact(reason)), actor=by.get_username())
        leases.revoke(Task, Task.objects.filter(pk=task.pk))
        _revive(run, by.get_username())
        enqueue("projects.jobs.schedule_run", run.pk)
    task.refresh_from_db()


def escalate_task(task: Task, *, token: int | None = None, text: str, actor: str = "") -> None:
    """Hand a task that was not solved to people, with everything learned; never waved through.

    Asks an approval of kind escalation: yes tries again, no leaves it escalated. Raises LeaseLost when `token` is not
    the task's, IllegalMove and LostRace.
    """
    safe = clean_text(str(redact(text)), 20_000)
    with transaction.atomic():
        run = lock_run(task.run_id)
        headline = clean_line(safe.strip().splitlines()[0] if safe.strip() else "not solved", 200)
        move_task(task, Task.Status.ESCALATED, reason=headline, actor=actor, token=token)
        Task.objects.filter(pk=task.pk).update(escalation=safe)
        ask(
            run.project,
            kind=Approval.Kind.ESCALATION,
            subject=f"{task.key}#{task.generation}",
            title=f"{task.key} {task.title} was not solved",
            run=run,
            task=task,
            why=safe,
            on_yes="The agents try it again from the start, with your reason as a note.",
            on_no="The task stays escalated; what needs it stays blocked until it is retried or skipped.",
        )
        enqueue("projects.jobs.schedule_run", run.pk)
    task.escalation = safe


def _open_run(task: Task) -> Run:
    run = lock_run(task.run_id)
    if run.status in (Run.Status.FINISHED, Run.Status.CANCELLED):
        raise IllegalMove(f"Run {run.pk} is {run.status}; start a new run of the plan instead.")
    return run


def _revive(run: Run, actor: str) -> None:
    """A run that only waited for this goes on."""
    if run.status in (Run.Status.NEEDS_YOU, Run.Status.FAILED):
        try:
            move_run(run, Run.Status.RUNNING, actor=actor)
        except LostRace:
            text = "the run changed state meanwhile"
            emit(run.pk, SystemNotice(summary=text, text=text), actor=actor)
