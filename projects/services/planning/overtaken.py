"""What a replacing document means for a build that is going on: tasks that nobody asks for any more are left out."""

from __future__ import annotations

from django.db import transaction

from projects.models import Requirement, RequirementDocument, Run, Task
from projects.services.planning.keys import said_of
from projects.services.work import leases
from projects.services.work.approval_requests import close_questions
from projects.services.work.locks import lock_run
from projects.services.work.moves import move_task
from projects.services.work.queue import enqueue

ENDED = (Task.Status.MERGED, Task.Status.SKIPPED, Task.Status.CANCELLED)


def open_build(document: RequirementDocument) -> Run | None:
    """The run that still builds an earlier version of a document, if there is one."""
    chain = [one.pk for one in document.replaced()]
    builds = Run.objects.filter(document__in=chain, kind=Run.Kind.BUILD) if chain else Run.objects.none()
    return builds.exclude(status__in=Run.OVER).first()


def leave_out_overtaken(document: RequirementDocument) -> list[Task]:
    """Skip tasks of such a run for which a confirmed document has no words, or others, and that no other task needs.

    What is being worked on is finished: it is stale then, or its code is removed by the next plan.
    """
    run = open_build(document)
    if run is None:
        return []
    said = {row.key: said_of(row).words for row in document.requirements.wanted()}
    with transaction.atomic():
        lock_run(run.pk)
        tasks = list(run.tasks.prefetch_related("requirements", "unblocks"))
        going = [task for task in tasks if task.status not in ENDED]
        left = [task for task in going if task.status != Task.Status.RUNNING and _is_overtaken(task, said)]
        stays = {task.pk for task in going} - {task.pk for task in left}
        while needed := [task for task in left if any(after.pk in stays for after in task.unblocks.all())]:
            stays = {task.pk for task in needed}  # what a task that stays builds on stays too
            left = [task for task in left if task.pk not in stays]
        for task in left:
            close_questions("the task was left out", task=task)
            move_task(task, Task.Status.SKIPPED, reason=f"{document} no longer asks for it so")
            leases.revoke(Task, Task.objects.filter(pk=task.pk))
        if left:
            enqueue("projects.jobs.schedule_run", run.pk)
    return left


def _is_overtaken(task: Task, said: dict[str, tuple[str, ...]]) -> bool:
    rows: list[Requirement] = list(task.requirements.all())
    return bool(rows) and all(said.get(row.key) != said_of(row).words for row in rows)
