"""Verbs on runs: start, pause, resume, cancel, say, and a run's numbers. The work is done by projects/jobs/runs.py."""

from __future__ import annotations

from collections.abc import Callable
from graphlib import CycleError
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Q
from django.utils import timezone

from agents.engine.waiting import WaitReason
from agents.events.base import counted
from agents.events.lifecycle import HumanMessage, RunQueued, RunWaiting
from agents.events.reasoning import Adjudicated
from agents.planning.graph import plan_order
from agents.secrets.redaction import redact
from projects.errors import BadInput, IllegalMove, NotAllowed, StaleVersion
from projects.models import Attempt, Baseline, Event, Finding, Plan, Requirement, RequirementDocument, Run, Task
from projects.models.project import NO_APPROVAL
from projects.models.waiting import phrase
from projects.services.accounts.rights import require
from projects.services.audit.canonical import clean_line, clean_text
from projects.services.audit.events import emit
from projects.services.planning.plan_rules import already_built, nothing_left, outdated
from projects.services.work import chats, leases
from projects.services.work.approval_requests import close_questions
from projects.services.work.locks import lock_project_in_use, lock_run
from projects.services.work.moves import move_run, move_task
from projects.services.work.usage import usage_of
from projects.workers.queue import enqueue

JOB_OF_KIND: dict[str, str] = {Run.Kind.PLAN: "projects.jobs.plan_run", Run.Kind.BUILD: "projects.jobs.schedule_run"}
MOVING = (Task.Status.QUEUED, Task.Status.READY, Task.Status.RUNNING)


def start_planning(document: RequirementDocument, *, by: User, samples: int = 0) -> Run:
    """Have the document read and a plan proposed; while such a run is open, it is returned instead of a second one.

    With `samples`, so many plans of confirmed requirements are made to be compared, and none is proposed. Raises
    NotAllowed, BadInput (not confirmed) and IllegalMove (the other kind of planning is going on, or all is built).
    """
    require(by, document.project, "run.start")
    with transaction.atomic():
        project = lock_project_in_use(document.project_id)
        going = Run.objects.filter(document=document, kind=Run.Kind.PLAN).exclude(status__in=Run.OVER).first()
        if going is not None and bool(going.samples) != bool(samples):
            raise IllegalMove(f"Run {going.pk} is planning this document; finish or cancel it first.")
        if going is not None:
            return going
        if why := nothing_left(document):
            raise IllegalMove(why)
        if samples and document.status != RequirementDocument.Status.CONFIRMED:
            raise BadInput("Confirm the requirements first: plans are made from confirmed ones.")
        run = Run.objects.create(
            project=project,
            kind=Run.Kind.PLAN,
            document=document,
            started_by=by,
            samples=samples,
            recording=project.is_recording,
        )
        queued = RunQueued(
            summary=f"planning {document.filename} v{document.version}" + (f", {samples} variants" * bool(samples)),
            role="user",
            kind=run.kind,
            document=document.pk,
            recording=run.recording,
        )
        emit(run.pk, queued, actor=by.get_username())
        enqueue(JOB_OF_KIND[run.kind], run.pk)
    return run


def start_build(plan: Plan, *, by: User | None) -> Run:
    """Build an approved plan; while a build of it is open, that is returned instead of a second one.

    `by` is None when the engine goes on by itself, which only a project without plan approval allows. Raises
    NotAllowed, StaleVersion (not approved, or the requirements changed after the approval) and IllegalMove (the project
    builds another plan now, or a build merged all of this one).
    """
    actor = by.get_username() if by is not None else "autonomy"
    if by is not None:
        require(by, plan.project, "run.start")
    elif plan.document.autonomy_in_force not in NO_APPROVAL:
        raise NotAllowed(f"In {plan.project.name} a person starts a build.")
    with transaction.atomic():
        project = lock_project_in_use(plan.project_id)
        plan.refresh_from_db()
        if plan.status != Plan.Status.APPROVED:
            raise StaleVersion(f"Plan v{plan.version} is {plan.status}: only an approved plan is built.")
        open_build = Run.objects.filter(project=project, kind=Run.Kind.BUILD).exclude(status__in=Run.OVER).first()
        if open_build is not None and open_build.plan_id == plan.pk:
            return open_build
        if open_build is not None:
            raise IllegalMove(f"Run {open_build.pk} is building in this project; finish or cancel it first.")
        if why := outdated(plan):
            raise StaleVersion(f"Plan v{plan.version} is no longer valid: {why}")
        if why := already_built(plan):
            raise IllegalMove(f"Plan v{plan.version} is built: {why}")
        run = Run.objects.create(
            project=project,
            kind=Run.Kind.BUILD,
            document=plan.document,
            plan=plan,
            plan_hash=plan.content_hash,
            started_by=by,
            recording=project.is_recording,
        )
        made = _make_tasks(run, plan)
        queued = RunQueued(
            summary=f"building plan v{plan.version}: {counted(made, 'task')}",
            role="user" if by is not None else "runtime",
            kind=run.kind,
            plan=plan.pk,
            version=plan.version,
            hash=plan.content_hash,
            tasks=made,
            recording=run.recording,
        )
        emit(run.pk, queued, actor=actor)
        enqueue(JOB_OF_KIND[run.kind], run.pk)
    return run


def _make_tasks(run: Run, plan: Plan) -> int:
    """Create the run's tasks with their needs and requirement links, needs first; returns how many."""
    specs = _in_order(plan.content.get("tasks") or [])
    tasks = Task.objects.bulk_create([_task_of(run, number, spec) for number, spec in enumerate(specs, start=1)])
    by_key = {task.key: task for task in tasks}
    documents = [plan.document, *plan.document.replaced()]  # a task that names what is no longer wanted removes it
    rows = Requirement.objects.filter(document__in=documents).order_by("document__version")
    wanted = dict(rows.values_list("key", "pk"))
    Task.needs.through.objects.bulk_create(
        [
            Task.needs.through(from_task_id=by_key[spec["key"]].pk, to_task_id=by_key[need].pk)
            for spec in specs
            for need in dict.fromkeys(spec.get("needs") or ())
        ]
    )
    Task.requirements.through.objects.bulk_create(
        [
            Task.requirements.through(task_id=by_key[spec["key"]].pk, requirement_id=wanted[key])
            for spec in specs
            for key in dict.fromkeys(spec.get("requirements") or ())
            if key in wanted
        ]
    )
    return len(tasks)


def _task_of(run: Run, ordinal: int, spec: dict[str, Any]) -> Task:
    return Task(
        run=run,
        ordinal=ordinal,
        key=clean_line(str(spec["key"]), 40),
        title=clean_line(str(spec.get("title") or spec["key"]), 200),
        description=clean_text(str(spec.get("description") or "")),
        expects=clean_text(str(spec.get("expects") or "")),
        kind=clean_line(str(spec.get("kind") or "code"), 20),
        agent=clean_line(str(spec.get("agent") or "coder"), 20),
        minutes=int(spec.get("minutes") or 30),
        files=list(spec.get("files") or ()),
        packages=list(spec.get("packages") or ()),
    )


def _in_order(specs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every task after what it needs, otherwise in the plan's order. Raises BadInput for a cycle or an unknown need."""
    by_key = {str(spec["key"]): spec for spec in specs}
    needs = {key: tuple(spec.get("needs") or ()) for key, spec in by_key.items()}
    for key, wanted in needs.items():
        for need in wanted:
            if need not in by_key:
                raise BadInput(f"{key} needs {need}, which is not in the plan.")
    try:
        return [by_key[key] for key in plan_order(needs)]
    except CycleError as cycle:
        raise BadInput("The plan's tasks depend on each other in a cycle.") from cycle


def pause_run(run: Run, *, by: User) -> Run:
    """Stop after the steps in flight. Raises NotAllowed and IllegalMove."""
    require(by, run.project, "run.control")
    with transaction.atomic():
        current = lock_run(run.pk)
        if current.kind == Run.Kind.CHAT:
            chats.check_pause(current)
            close_questions("the turn was stopped", run=current, kind="chat")  # going on asks it again
        move_run(current, Run.Status.PAUSED, reason=f"paused by {by.get_username()}", actor=by.get_username())
    run.refresh_from_db()
    return run


def resume_run(run: Run, *, by: User) -> Run:
    """Go on with a paused, waiting or failed run. Raises NotAllowed and IllegalMove."""
    require(by, run.project, "run.control")
    if run.kind == Run.Kind.CHAT:
        chats.go_on(run, by=by)
        return run
    with transaction.atomic():
        current = lock_run(run.pk)
        if current.status == Run.Status.QUEUED:
            raise IllegalMove(f"Run {run.pk} has not started yet; there is nothing to resume.")
        if current.kind not in JOB_OF_KIND:
            raise IllegalMove(
                f"Run {run.pk} was started from the command line and cannot be resumed: run the command again."
            )
        lock_project_in_use(current.project_id)
        if current.kind == Run.Kind.PLAN and current.document and (why := nothing_left(current.document)):
            raise IllegalMove(why)
        move_run(current, Run.Status.RUNNING, actor=by.get_username())
        enqueue(JOB_OF_KIND[current.kind], run.pk)
    run.refresh_from_db()
    return run


def cancel_run(run: Run, *, by: User) -> Run:
    """End the run for good: open tasks are cancelled, their workers' leases revoked, open questions closed.

    Raises NotAllowed and IllegalMove (it is over already).
    """
    require(by, run.project, "run.control")
    who = by.get_username()
    with transaction.atomic():
        current = lock_run(run.pk)
        for task in current.tasks.exclude(status__in=Task.SETTLED):
            move_task(task, Task.Status.CANCELLED, reason=f"run cancelled by {who}", actor=who)
        leases.revoke(Task, Task.objects.filter(run=run))
        leases.revoke(Run, Run.objects.filter(pk=run.pk))
        close_questions("the run was cancelled", run=run)
        move_run(current, Run.Status.CANCELLED, reason=f"cancelled by {who}", actor=who)
    run.refresh_from_db()
    return run


CONTROLS: dict[str, Callable[..., Run]] = {"pause": pause_run, "resume": resume_run, "stop": cancel_run}


def say(run: Run, *, by: User, text: str, task: Task | None = None) -> Event:
    """Add a person's message to the stream; the agents read it before their next step.

    Raises NotAllowed, BadInput (nothing said, or another run's task).
    """
    require(by, run.project, "run.control")
    if run.kind == Run.Kind.REPLAY:
        raise IllegalMove("This is a replay: nobody reads what is said to it.")
    if run.kind == Run.Kind.CHAT:
        raise IllegalMove("This is a chat: what is said in it begins a turn.")
    words = clean_text(str(redact(text)).strip(), 8_000)
    if not words:
        raise BadInput("Write a message.")
    if task is not None and task.run_id != run.pk:
        raise BadInput(f"{task.key} belongs to another run.")
    message = HumanMessage(summary=f"{by.get_username()}: {words}", text=words)
    return emit(run.pk, message, actor=by.get_username(), task_id=task.pk if task else None)


def set_wait(run: Run, reason: WaitReason | None, detail: str = "") -> None:
    """Record what the run waits for, or with None that it goes on; the clock starts when either value changes."""
    new = {"wait_reason": reason or "", "why_detail": clean_line(str(redact(detail)), 300)}
    since = timezone.now() if reason else None
    with transaction.atomic():
        lock_run(run.pk)
        if Run.objects.filter(pk=run.pk).exclude(**new).update(**new, why_since=since):
            text = phrase(new["wait_reason"], new["why_detail"]) or "goes on"
            emit(run.pk, RunWaiting(summary=text, wait=new["wait_reason"], detail=new["why_detail"]))
    run.refresh_from_db(fields=[*new, "why_since"])


def finish_if_done(run_id: int) -> bool:
    """Finish a build whose tasks are all merged, skipped or cancelled; True when it is over.

    When nothing moves any more but something is escalated or waits for an answer, the run NEEDS YOU.
    """
    with transaction.atomic():
        run = lock_run(run_id)
        if run.status in Run.OVER:
            return True
        if run.kind != Run.Kind.BUILD or run.status not in (Run.Status.RUNNING, Run.Status.NEEDS_YOU):
            return False
        counts = dict(Task.objects.filter(run_id=run_id).order_by().values_list("status").annotate(Count("pk")))
        if all(status in Task.SETTLED for status in counts):
            merged = counts.get(Task.Status.MERGED, 0)
            left_out = sum(counts.values()) - merged
            _forget_failures(run)
            move_run(run, Run.Status.FINISHED, reason=f"{merged} merged" + (f", {left_out} left out" * bool(left_out)))
            return True
        if run.status == Run.Status.RUNNING and not any(status in MOVING for status in counts):
            move_run(run, Run.Status.NEEDS_YOU, wait=WaitReason.TASKS, reason=tasks_for_a_person(run_id))
    return False


def _forget_failures(run: Run) -> None:
    """What failed at import and was mended counts from now on, if the next run begins where this one ends."""
    baseline = Baseline.usable(run.project) if run.project.updates_base else None
    failing = baseline.tests.get("failing") if baseline is not None else None
    if baseline is None or not failing:
        return
    merged = Attempt.objects.filter(task__run=run, task__status=Task.Status.MERGED, outcome="passed")
    fixed = {name for tests in merged.values_list("tests", flat=True) for name in tests.get("fixed", [])}
    baseline.tests["failing"] = {name: why for name, why in failing.items() if name not in fixed}
    baseline.save(update_fields=["tests"])


def tasks_for_a_person(run_id: int) -> str:
    """The first task that only a person can bring on, how many more there are and what it waits for; "" for none."""
    stuck = list(Task.objects.filter(run_id=run_id, status__in=(Task.Status.NEEDS_YOU, Task.Status.ESCALATED)))
    if not stuck:
        return ""
    first = stuck[0]
    text = phrase(first.wait_reason, first.why_detail) or first.get_status_display().lower()
    more = f" (and {len(stuck) - 1} more)" if len(stuck) > 1 else ""
    return clean_line(f"{first.key}{more}: {text}", 300)


def totals(run: Run) -> dict[str, Any]:
    """The numbers of a run.

    tasks (count by status, every status named), the totals of its model calls, repairs {attempted, succeeded},
    findings {raised, fixed}, tests_adjudicated.
    """
    tasks = dict.fromkeys(Task.Status.values, 0)
    tasks.update(run.tasks.order_by().values_list("status").annotate(Count("pk")))
    # Findings, conflicts and corrected tests are tries too, but what they mend is not a failing test of their own.
    repairs = Attempt.objects.filter(task__run=run, strategy__in=("repair", "fresh"))
    found = Finding.objects.filter(task__run=run).aggregate(
        raised=Count("pk"), fixed=Count("pk", filter=Q(state=Finding.State.FIXED))
    )
    return {
        "tasks": tasks,
        **usage_of(run_id=run.pk),
        "repairs": {"attempted": repairs.count(), "succeeded": repairs.filter(outcome=Attempt.Outcome.PASSED).count()},
        "findings": found,
        "tests_adjudicated": run.events.filter(type=Adjudicated.type).count(),
    }
