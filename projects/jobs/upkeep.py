"""Jobs by the clock and on request, which belong to no run of their own: the sweep, messages, backups, sandboxes, …"""

from __future__ import annotations

import logging
from contextlib import suppress

from celery import shared_task
from django.db import close_old_connections
from django.utils import timezone

from agents.engine.waiting import WaitReason
from agents.workspace.git import GitError
from projects.engine import baseline, build_fixes, questions, sandboxes
from projects.engine.operations import installation, loop
from projects.errors import ProjectsError
from projects.models import Baseline, Project, RequirementDocument, Run, Task
from projects.services.audit import checkpoints
from projects.services.backlog import scheduler
from projects.services.insight import mailing
from projects.services.installation import backups
from projects.services.memory import lessons
from projects.services.notices import delivery
from projects.services.operations import traffic
from projects.services.planning import plans
from projects.services.planning.build_logs import JOB as REPEAT
from projects.services.work import chats, tasks
from projects.services.work.moves import move_task
from projects.storage.paths import repository_of
from projects.workers.owners import is_alive, this_worker
from projects.workers.queue import enqueue
from sandbox.base import SandboxError

log = logging.getLogger("aiswe.jobs")


@shared_task(name="projects.jobs.measure_baseline")
def measure_baseline(row: int) -> None:
    """Run the tests of an imported repository as it stands."""
    close_old_connections()
    found = Baseline.objects.select_related("project").filter(pk=row, status=Baseline.Status.MEASURING).first()
    if found is not None:
        try:
            baseline.measure_row(found)
        except (ProjectsError, GitError, OSError) as error:
            Baseline.objects.filter(pk=row).update(status=Baseline.Status.UNUSABLE, problem=str(error)[:500])


@shared_task(name="projects.jobs.index_project")
def index_project(project: int, commit: str = "", again: bool = False) -> None:
    """Make the vectors of a project's code that is new."""
    close_old_connections()
    found = Project.objects.filter(pk=project).first()
    if found is not None:
        try:
            if why := questions.index_project(found, commit, again=again):
                log.warning("%s is not indexed completely: %s", found.slug, why)
        except GitError as trouble:
            log.warning("%s was not indexed: %s", found.slug, trouble)


@shared_task(name="projects.jobs.sweep")
def sweep() -> None:
    """Find work that nobody does: leases of dead workers, runs that were never woken, what deleted projects left."""
    close_old_connections()
    lessons.forget_deleted()
    delivery.sweep(timezone.now())
    mailing.sweep(timezone.now())
    if freed := tasks.release_dead_owners(is_alive):
        installation.worker_died(freed)
    for task in tasks.expired_leases():
        enqueue("projects.jobs.run_task", task.pk)
    for task in Task.objects.filter(status=Task.Status.NEEDS_YOU, wait_reason=WaitReason.REPOSITORY):
        with suppress(GitError, ProjectsError):
            repository_of(task.run.project, task.run).check()
            move_task(task, Task.Status.READY, reason="the repository can be read again", actor=this_worker())
    waiting = (Run.Status.QUEUED, Run.Status.RUNNING, Run.Status.NEEDS_YOU)
    scheduler.advance_all(timezone.now())
    for run in Run.objects.filter(status__in=waiting).select_related("document"):
        if run.kind == Run.Kind.BUILD:
            enqueue("projects.jobs.schedule_run", run.pk)
        elif run.kind == Run.Kind.PLAN and (run.status != Run.Status.NEEDS_YOU or plans.is_confirmed(run)):
            enqueue("projects.jobs.plan_run", run.pk)
    for chat in chats.waiting_turns():
        enqueue(chats.JOB, chat.pk)


@shared_task(name="projects.jobs.deliver_notice")
def deliver_notice(pk: int) -> None:
    """One try to deliver one message to a person."""
    close_old_connections()
    delivery.deliver(pk, timezone.now())


@shared_task(name="projects.jobs.deliver_report")
def deliver_report(pk: int) -> None:
    """One try to e-mail one report."""
    close_old_connections()
    mailing.deliver(pk, timezone.now())


@shared_task(name="projects.jobs.take_backup")
def take_backup(by: str) -> None:
    """Take a backup into the data folder, in the name of who asked for it."""
    close_old_connections()
    backups.take_backup(by)


@shared_task(name="projects.jobs.note_heads")
def note_heads() -> None:
    """Note the end of every trail outside the database."""
    close_old_connections()
    try:
        checkpoints.note_heads()
    except (OSError, ProjectsError) as trouble:
        # The next beat tries again; what is noted late was unprotected that long, so somebody should know.
        log.error("the head hashes of the audit trails could not be stored: %s", trouble)


@shared_task(name="projects.jobs.tidy_sandboxes")
def tidy_sandboxes() -> None:
    """Remove sandboxes that dead workers left behind, and see that there is an image to make new ones of."""
    sandboxes.tidy()
    for row in [] if sandboxes.tend_image() else baseline.waiting_for_image():
        enqueue("projects.jobs.measure_baseline", row)


@shared_task(name="projects.jobs.build_sandbox_image")
def build_sandbox_image(stop: bool = False) -> None:
    """Make the sandbox image again, or stop making it: a person asked."""
    from sandbox.image_builder import stop_build  # on use: it takes the Docker client along

    stop_build() if stop else sandboxes.tend_image(again=True)


@shared_task(name=REPEAT)
def repeat_build(document: int) -> None:
    """Repeat what a log says failed; what does fail here is planned, and a person decides about the rest."""
    close_old_connections()
    found = RequirementDocument.objects.select_related("project", "created_by").filter(pk=document).first()
    if found is not None:
        try:
            build_fixes.repeat(found)
        except (ProjectsError, GitError, SandboxError, OSError) as error:
            build_fixes.leave_to_a_person(found, str(error))


@shared_task(name="projects.operations_jobs.operate")
def operate() -> None:
    """Look after what is deployed."""
    close_old_connections()
    loop.tend_all()


@shared_task(name="projects.operations_jobs.watch_installation")
def watch_installation() -> None:
    """Look after the installation itself, and forget traffic that is old."""
    close_old_connections()
    installation.watch()
    traffic.tidy(timezone.now())
