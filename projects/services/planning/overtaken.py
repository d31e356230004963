"""What a replacing document means for runs that are going on.

Planning of the earlier one ends; of a build, tasks that nobody asks for any more are left out.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db import transaction

from projects.models import Project, Requirement, RequirementDocument, Run, Task
from projects.services.planning.keys import said_of
from projects.services.work import leases
from projects.services.work.approval_requests import close_questions
from projects.services.work.locks import lock_run
from projects.services.work.moves import move_run, move_task
from projects.workers.queue import enqueue


def lock_planning(project: Project) -> list[Run]:
    """The planning runs of a project that are not over, held until the transaction ends."""
    rows = Run.objects.filter(project=project, kind=Run.Kind.PLAN).exclude(status__in=Run.OVER)
    held = [lock_run(pk) for pk in rows.order_by("pk").values_list("pk", flat=True)]
    return [run for run in held if run.status not in Run.OVER]


def end_overtaken(planning: Iterable[Run], document: RequirementDocument, *, by: User) -> None:
    """End those of the locked runs that plan what a document replaces: no answer would bring them on."""
    end_planning(planning, document.replaces, f"{document} took the place of {document.replaces}", by=by)


def end_planning(planning: Iterable[Run], document: RequirementDocument | None, reason: str, *, by: User) -> None:
    """End those of the locked runs that plan this document."""
    for run in planning:
        if run.document == document:
            leases.revoke(Run, Run.objects.filter(pk=run.pk))
            close_questions(reason, run=run)
            move_run(run, Run.Status.CANCELLED, reason=reason, actor=by.get_username())


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
        going = [task for task in tasks if task.status not in Task.SETTLED]
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
