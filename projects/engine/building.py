"""Running the task graph of one task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

from django.conf import settings

from agents.context.knowledge import knowledge_of
from agents.engine.baseline import configured
from agents.engine.contracts import TaskContext
from agents.engine.graph import RECURSION_LIMIT, build_graph
from agents.engine.state import TaskState, start_state
from agents.events.log import EventLog
from agents.fragments.planned import task_fields
from agents.gates.base import GateReport
from agents.gates.run import run_gates
from agents.languages.registry import main_language
from projects.engine.budgets import limits_of
from projects.engine.event_log import DatabaseEventLog
from projects.engine.model_clients import announce, canary_of, guard, label, provider_for, runner
from projects.engine.sandboxes import fitted, name_for
from projects.engine.saver import DjangoSaver, run_or_resume
from projects.engine.task_store import DatabaseTaskStore
from projects.engine.test_setups import packages_of, test_setup_of
from projects.models import Baseline, Run, Task
from projects.models.project import ASKS_AT_GATES
from projects.services.memory.lessons import embedder, store
from projects.services.planning import documents, progress
from projects.services.planning.outside import engaged_for
from projects.services.planning.patterns import rules_of
from projects.services.planning.request_work import starts_at
from projects.storage.disk_space import need_room
from projects.storage.packages import ProjectSupply, gate_policy
from projects.storage.paths import ensure_repository, home, repository_of
from sandbox.registry import open_backend

lessons = store  # the memory of this process


def gates(root: Path, paths: Sequence[str], dispositions: Mapping[str, Any]) -> GateReport:
    """The review gates with the product's policy."""
    return run_gates(root, paths=paths, dispositions=dispositions, policy=gate_policy())


def task_data(task: Task) -> dict[str, Any]:
    """The task as plain data for the graph's state."""
    rows = list(task.requirements.select_related("document").order_by("ordinal"))
    dropped = {row.key for row in rows if progress.drops(task, row)}
    requirements = [
        {name: getattr(row, name) for name in ("key", "author_key", "text", "kind", "acceptance")} for row in rows
    ]
    known = progress.progress_of(task.run.project, task.run.document) if task.run.document else ()
    before = {one.requirement.key: one.before for one in known if one.before and one.requirement in rows}
    for one in requirements:
        if one["key"] in before:
            one["before"] = before[one["key"]]
        if one["key"] in dropped:
            one |= {"text": progress.dropped_words(one["text"]), "acceptance": [], "dropped": True}
    return {
        "key": task.key,
        "title": task.title,
        "description": task.description,
        "expects": task.expects,
        "kind": task.kind,
        "files": list(task.files),
        "packages": list(task.packages),
        "note": task.note,
        "generation": task.generation,
        "main_language": _main_language(task.run),
        "may_ask": task.asked_by_id is None and not Task.objects.filter(asked_by=task).exists(),
        "requirements": documents.with_mentioned(requirements, task.run.project),
        "passages": documents.passages_of((row for row in rows if row.key not in dropped), task.files),
        "start": _start(task),
        **_fragments(task),
    }


def _start(task: Task) -> dict[str, Any]:
    """What the document began with, for the last task of its run: until then the build may go on failing."""
    document = task.run.document
    if document is None or not document.start:
        return {}
    done = (Task.Status.MERGED, Task.Status.ESCALATED, Task.Status.SKIPPED, Task.Status.CANCELLED)
    others = task.run.tasks.exclude(pk=task.pk).exclude(status__in=done)
    return {**document.start, "cause": None} if others.exists() else dict(document.start)


def _main_language(run: Run) -> str:
    """What the project is written in, as its baseline, its code or its plan says; "" when none of them does."""
    baseline = Baseline.usable(run.project)
    if baseline is not None:
        return str(baseline.layout.get("language", ""))
    there = repository_of(run.project).files(run.base_commit) if run.base_commit else []
    planned = [path for files in run.tasks.values_list("files", flat=True) for path in files]
    return main_language([*there, *planned])


def _fragments(task: Task) -> dict[str, Any]:
    """The blueprint that the approved plan gave this task, with its tests; nothing for any other task."""
    plan = task.run.plan
    specs = plan.content.get("tasks") or () if plan is not None else ()
    found = next(
        (spec.get("blueprint") for spec in specs if isinstance(spec, dict) and spec.get("key") == task.key), None
    )
    return task_fields(found) if found else {}


@cache
def compiled_graph() -> Any:
    """The task graph on our checkpoint tables, compiled once a process: tasks share it, each with a thread id of its
    own.
    """
    return build_graph().compile(checkpointer=DjangoSaver())


def task_context(run: Run, event_log: EventLog, **more: Any) -> TaskContext:
    """What a run of this project works with: its rules, limits, models and sandboxes; `more` are the other fields."""
    from sandbox.container_build import try_container  # on use: it takes the Docker client along

    project, repository = run.project, repository_of(run.project, run)
    return TaskContext(
        project=project.slug,
        run=str(run.pk),
        house_rules=rules_of(project),
        recipe_lines=project.recipe.get("prompts", {}),
        event_log=event_log,
        limits=limits_of(project),
        repository=repository,
        provider=lambda persona: provider_for(project, persona),
        runner=runner(),
        backend=fitted(open_backend(name_for(project)), project),
        supply=ProjectSupply(project),
        try_container=try_container,
        gates=gates,
        canary=canary_of(run),
        guard=guard(),
        test_setup=configured(test_setup_of(project), repository),
        test_packages=tuple(packages_of(project)),
        **more,
    )


def _begin(run: Run) -> None:
    """See that the repository can be used, and begin the run's branch."""
    repository = ensure_repository(run.project, run)
    if not run.base_commit:
        run.base_commit = repository.begin(starts_at(run.document))
        Run.objects.filter(pk=run.pk).update(base_commit=run.base_commit)


def build(task: Task, *, actor: str, token: int) -> TaskState:
    """Run or resume a task's graph to its end and return the final state.

    Raises Waiting, Stopped and OverBudget (agents.engine.contracts), LLMError, SandboxError, GitError and NoRoom; in
    all of these cases the task goes on later at the node it was in.
    """
    need_room()
    run = task.run
    project = run.project
    label(run)
    event_log = DatabaseEventLog(run, actor=actor, token=token, task=task)
    announce(run, event_log)
    _begin(run)
    context = task_context(
        run,
        event_log,
        task_store=(rows := DatabaseTaskStore(task, actor=actor, event_log=event_log)),
        sub_task=rows.sub_task,
        worktree_name=f"run-{run.pk}-{task.key}",
        lessons=lessons(),
        knowledge=knowledge_of(home(), store().folder, project.slug, embedder()),
        asks_about_reach=run.autonomy in ASKS_AT_GATES,
        lessons_across_projects=settings.SHARE_LESSONS,
        switched_off=frozenset() if settings.MEMORY else frozenset({"memory"}),
        outside=None if _fragments(task) else engaged_for(task),  # fragments are put together by our own team
    )
    tried = task.attempts.order_by("-number").values_list("number", flat=True).first() or 0
    try:
        state = run_or_resume(
            compiled_graph(),
            f"task-{task.pk}-g{task.generation}",
            lambda: start_state(task_data(task), attempts_before=tried),
            context=context,
            steps=RECURSION_LIMIT,
        )
        return cast(TaskState, state)
    finally:
        context.close()
        if context.outside is not None:
            context.outside.close()
