"""The jobs of runs: planning a document, giving out the tasks of a build, and working on one of them."""

from __future__ import annotations

import hashlib
import logging
from contextlib import suppress
from datetime import timedelta
from typing import Any

from celery import shared_task
from django.conf import settings
from django.db import InterfaceError, OperationalError, close_old_connections, transaction
from django.utils import timezone

from agents.engine.contracts import OverBudget, Stopped
from agents.engine.waiting import OUTAGES, SCHEDULED, Waiting, WaitReason
from agents.events.effects import ErrorRaised, TestsRan
from agents.llm.base import LLMError, ModelMissing, ModelTimeout, ModelUnavailable
from agents.llm.scripted_server.scenario import ScenarioError
from agents.workspace.git import DiskFull, GitError, RepositoryDamaged
from projects.engine import building, planning, sandboxes
from projects.errors import LostRace, ProjectsError
from projects.models import Plan, RequirementDocument, Run, Task, Transition
from projects.models.project import NO_APPROVAL
from projects.models.waiting import phrase
from projects.services.audit import events
from projects.services.backlog import hours
from projects.services.delivery.attestations import attest_merges
from projects.services.operations import releases
from projects.services.planning import documents, plans, runs
from projects.services.work import leases, tasks
from projects.services.work.graphs import longest_first
from projects.services.work.locks import lock_run
from projects.services.work.moves import move_run, move_task
from projects.storage.disk_space import NoRoom
from projects.storage.paths import repository_of
from projects.workers.heartbeat import heartbeat
from projects.workers.owners import this_worker
from projects.workers.queue import enqueue
from sandbox.base import SandboxError, SandboxUnavailable
from sandbox.package_index.errors import IndexUnavailable

log = logging.getLogger("aiswe.jobs")
LATER = timedelta(seconds=15)  # how long a task rests after its model or sandbox did not answer
MOST_CRASHES = 3  # the same unexpected error this often escalates the task instead of repeating for ever
MOST_ERRORS = 10  # unexpected errors of any kind in one generation of a task
AWAY = (ModelUnavailable, ModelTimeout, ModelMissing)  # waiting, or a pull, cures these: nobody has failed
DATABASE_AWAY = (OperationalError, InterfaceError)  # nothing can be written down: the sweep takes it up again


@shared_task(name="projects.jobs.plan_run")
def plan_run(run_id: int) -> None:
    """Plan a document, as far as it goes without a person."""
    close_old_connections()
    run = Run.objects.select_related("project", "document").filter(pk=run_id, kind=Run.Kind.PLAN).first()
    if run is None or run.status in (*Run.OVER, Run.Status.PAUSED):
        return
    if (why := hours.rests(run.pk, timezone.now())) is not None:
        return runs.set_wait(run, *why)
    actor = this_worker()
    try:
        token = leases.claim(Run, run.pk, owner=actor, seconds=settings.LEASE_SECONDS)
    except LostRace:
        return
    try:
        if run.status != Run.Status.RUNNING:
            move_run(run, Run.Status.RUNNING, actor=actor)
        runs.set_wait(run, None)
        with heartbeat(lambda: leases.renew(Run, run_id, token=token, seconds=settings.LEASE_SECONDS)):
            _plan(run, actor, token)
    except ProjectsError as moved:
        log.info("run %s now belongs to another worker: %s", run_id, moved)
    finally:
        leases.release(Run, run_id, token=token)


def _plan(run: Run, actor: str, token: int) -> None:
    try:
        planning.plan(run, actor=actor, token=token)
    except Stopped:
        return
    except Waiting as waiting:
        run.refresh_from_db()
        if not waiting.reason.needs_person:
            runs.set_wait(run, waiting.reason, waiting.detail)
            return
        move_run(run, Run.Status.NEEDS_YOU, wait=waiting.reason, reason=waiting.detail, actor=actor)
        # The answer may have come between the question and this line.
        if plans.is_confirmed(run):
            enqueue("projects.jobs.plan_run", run.pk)
        return
    except AWAY as error:
        runs.set_wait(run, WaitReason.MODEL, str(error))
        return
    except DATABASE_AWAY as error:
        log.warning("planning of run %s waits for the database: %s", run.pk, error)
        return
    except (LLMError, ScenarioError, OverBudget, ProjectsError) as error:
        _fail_planning(run, str(error), actor)
        return
    except Exception as error:
        log.exception("planning of run %s failed", run.pk)
        _fail_planning(
            run, f"An unexpected {type(error).__name__} stopped the planning; see the log for details.", actor
        )
        return
    run.refresh_from_db()
    if run.status not in Run.OVER:
        reason = f"{run.samples} variants made" if run.samples else "plan proposed"
        move_run(run, Run.Status.FINISHED, reason=reason, actor=actor)
    if run.samples:
        return
    newest = plans.newest_plan(run.document) if run.document is not None else None
    if newest is not None and newest.status == Plan.Status.APPROVED and run.autonomy in NO_APPROVAL:
        with suppress(ProjectsError):  # another plan of the project is being built: a person decides what comes next
            runs.start_build(newest, by=None)


def _fail_planning(run: Run, text: str, actor: str) -> None:
    run.refresh_from_db()
    failed = ErrorRaised(summary=text, role="planner", message=text, tool="planning", next_steps=["retry", "adjust"])
    events.emit(run.pk, failed, actor=actor)
    if run.document is not None and run.document.status == RequirementDocument.Status.UPLOADED:
        # What was read from it already stays usable: a person can confirm it and let the planning go on.
        documents.fail_document(run.document, text)
    with suppress(ProjectsError):
        move_run(run, Run.Status.FAILED, reason=text, actor=actor)


@shared_task(name="projects.jobs.schedule_run")
def schedule_run(run_id: int) -> None:
    """Start the ready tasks of a run, as many at once as the project allows, or finish it."""
    close_old_connections()
    run = Run.objects.select_related("project").filter(pk=run_id, kind=Run.Kind.BUILD).first()
    if run is None or run.status in (*Run.OVER, Run.Status.PAUSED):
        return
    if run.status == Run.Status.QUEUED:
        with suppress(ProjectsError):
            move_run(run, Run.Status.RUNNING, actor=this_worker())
    attest_merges(run)  # before the run can be over: a sweep comes back for what a killed worker left out
    ready = tasks.ready_tasks(run.pk)
    if runs.finish_if_done(run.pk):
        _packed(run)
        releases.follow(run)
        waits = {"kind": Run.Kind.PLAN, "status": Run.Status.RUNNING, "wait_reason": WaitReason.DEPENDENCY}
        for planning_run in Run.objects.filter(project=run.project, **waits):
            enqueue("projects.jobs.plan_run", planning_run.pk)
        return
    working = Task.objects.filter(run=run, status=Task.Status.RUNNING).count()
    if (why := hours.rests(run.pk, timezone.now())) is not None:
        return runs.set_wait(run, *why) if ready and not working and run.status == Run.Status.RUNNING else None
    free = run.project.parallel_tasks - working
    moment = timezone.now() - LATER
    resting = [task for task in ready if task.wait_reason in OUTAGES and _moved_after(task, moment)]
    for task in [task for task in longest_first(run.pk, ready) if task not in resting][: max(0, free)]:
        enqueue("projects.jobs.run_task", task.pk)
    all_rest = bool(ready) and not working and len(resting) == len(ready)
    with suppress(ProjectsError):  # somebody moved the run in this moment: what follows is theirs to say
        _show_state(run, resting[0] if all_rest else None, bool(ready or working))


def _show_state(run: Run, resting: Task | None, moving: bool) -> None:
    """Say on a run that its tasks move, that all of them rest (`resting` is the first), or that they need a person."""
    run.refresh_from_db()
    if moving and run.status == Run.Status.NEEDS_YOU:
        move_run(run, Run.Status.RUNNING, actor=this_worker())
    if run.status != Run.Status.RUNNING:
        return
    if resting is not None:
        runs.set_wait(run, WaitReason.RESTING_TASKS, f"{resting.key} is {resting.why}")
    elif moving:
        runs.set_wait(run, None)
    elif detail := runs.tasks_for_a_person(run.pk):
        move_run(run, Run.Status.NEEDS_YOU, wait=WaitReason.TASKS, reason=detail, actor=this_worker())


def _packed(run: Run) -> None:
    """Put the repository's objects together; it serves as well without."""
    try:
        repository_of(run.project, run).pack()
    except GitError as trouble:
        log.warning("the repository of run %s was not packed: %s", run.pk, trouble)


def _moved_after(task: Task, moment: Any) -> bool:
    last = task.events.order_by("-seq").values_list("at", flat=True).first()
    return bool(last and last > moment)


@shared_task(name="projects.jobs.run_task")
def run_task(task_id: int) -> None:
    """Work on one task until it is merged, waits for a person, or cannot be solved."""
    close_old_connections()
    task = Task.objects.select_related("run__project").filter(pk=task_id).first()
    if task is None or task.run.status not in (Run.Status.RUNNING, Run.Status.NEEDS_YOU):
        return
    actor = this_worker()
    try:
        token = leases.claim(Task, task_id, owner=actor, seconds=settings.LEASE_SECONDS)
    except LostRace:
        return
    try:
        task.refresh_from_db()
        if task.status == Task.Status.READY:
            move_task(task, Task.Status.RUNNING, actor=actor, token=token)
        with heartbeat(lambda: leases.renew(Task, task_id, token=token, seconds=settings.LEASE_SECONDS)):
            _build(task, actor, token)
    except ProjectsError as moved:
        log.info("task %s now belongs to another worker: %s", task_id, moved)
    finally:
        leases.release(Task, task_id, token=token)
        enqueue("projects.jobs.schedule_run", task.run_id)


def _build(task: Task, actor: str, token: int) -> None:
    try:
        state = building.build(task, actor=actor, token=token)
    except Stopped:
        _back(task, None, "", actor, token)
    except Waiting as waiting:
        passes = {WaitReason.DEPENDENCY: Task.Status.QUEUED, **dict.fromkeys(SCHEDULED, Task.Status.READY)}
        to = passes.get(waiting.reason, Task.Status.NEEDS_YOU)
        move_task(task, to, wait=waiting.reason, reason=waiting.detail, actor=actor, token=token)
    except AWAY as error:
        _back(task, WaitReason.MODEL, str(error), actor, token)
    except (NoRoom, DiskFull) as error:
        _back(task, WaitReason.DISK_SPACE, str(error), actor, token)
    except IndexUnavailable as error:
        _back(task, WaitReason.PACKAGE_INDEX, str(error), actor, token)
    except SandboxUnavailable as error:
        _without_sandbox(task, str(error), actor, token)
    except DATABASE_AWAY as error:
        log.warning("task %s waits for the database: %s", task.pk, error)
        _back(task, WaitReason.DATABASE, "", actor, token)
    except RepositoryDamaged as error:
        # Another try would fail alike, and another task would make it worse: somebody has to look at it first.
        move_task(task, Task.Status.NEEDS_YOU, wait=WaitReason.REPOSITORY, reason=str(error), actor=actor, token=token)
    except (LLMError, OverBudget, ScenarioError) as error:
        tasks.escalate_task(task, token=token, text=str(error), actor=actor)
    except (ProjectsError, GitError, SandboxError) as error:
        _crashed(task, str(error), actor, token)
    except OSError as error:
        log.exception("task %s failed", task.pk)
        _crashed(task, f"This machine could not run it: {error.strerror or type(error).__name__}.", actor, token)
    except Exception as error:
        log.exception("task %s failed", task.pk)
        _crashed(task, f"An unexpected {type(error).__name__} stopped the task; see the log for details.", actor, token)
    else:
        if state["verdict"] == "merged":
            Task.objects.filter(pk=task.pk).update(commit=state["candidate"]["commit"])
            move_task(task, Task.Status.MERGED, actor=actor, token=token)
            enqueue("projects.jobs.index_project", task.run.project_id, state["candidate"]["commit"])
        else:
            tasks.escalate_task(task, token=token, text=state["escalation"] or "not solved", actor=actor)


def _back(task: Task, wait: WaitReason | None, detail: str, actor: str, token: int) -> None:
    """Put the task back; it goes on at the same node."""
    move_task(task, Task.Status.READY, wait=wait, reason=detail, actor=actor, token=token)


def _without_sandbox(task: Task, text: str, actor: str, token: int) -> None:
    """Wait for the sandbox or its image; when it could not be had at the last try either, a person has to look."""
    if progress := sandboxes.awaited_image(task.run.project):
        _back(task, WaitReason.SANDBOX_IMAGE, progress, actor, token)
        return
    before = Transition.objects.filter(kind="task", object_id=task.pk, new=Task.Status.READY).order_by("pk").last()
    again = before is not None and before.reason.startswith(phrase(WaitReason.SANDBOX, ""))
    if before is None or not again or task.events.filter(type=TestsRan.type, at__gt=before.at).exists():
        _back(task, WaitReason.SANDBOX, text, actor, token)
        return
    evidence = f"The sandbox could not be had twice in a row: {text}\nBefore: {before.reason}\n"
    tasks.escalate_task(task, token=token, text=evidence + "`aiswe doctor` shows what it needs.", actor=actor)


def _crashed(task: Task, text: str, actor: str, token: int) -> None:
    """Try the step again a few times, then hand it to a person."""
    signature = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    with transaction.atomic():
        lock_run(task.run_id)
        leases.guard(Task, task.pk, token)  # a worker that lost the task has nothing more to say about it
        failed = ErrorRaised(
            summary=text,
            error_signature=signature,
            message=text,
            tool="engine",
            generation=task.generation,
            next_steps=["retry", "escalate"],
        )
        events.emit(task.run_id, failed, actor=actor, task_id=task.pk)
    errors = task.events.filter(type=ErrorRaised.type, payload__tool="engine", payload__generation=task.generation)
    if errors.filter(error_signature=signature).count() >= MOST_CRASHES or errors.count() >= MOST_ERRORS:
        tasks.escalate_task(task, token=token, text=text, actor=actor)
    else:
        _back(task, WaitReason.RETRY, "", actor, token)
