"""Running the task graph of one task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings

from agents.context import knowledge
from agents.gates.base import GateReport, Policy
from agents.gates.run import run_gates
from agents.graph import RECURSION_LIMIT, build_graph
from agents.ports import TaskContext
from agents.state import TaskState, start_state
from projects.engine.book import DatabaseBook
from projects.engine.budgets import limits_of
from projects.engine.models import announce, canary_of, guard, label, provider_for, runner
from projects.engine.patterns import rules_of
from projects.engine.places import repository_of
from projects.engine.room import need_room
from projects.engine.sandboxes import fitted, name_for
from projects.engine.saver import DjangoSaver
from projects.engine.spine import DatabaseSpine
from projects.engine.supply import ProjectSupply
from projects.models import Task
from projects.models.project import ASKS_AT_GATES
from projects.services.lessons import store
from sandbox.registry import open_backend

lessons = store  # the memory of this process


def gates(root: Path, paths: Sequence[str], dispositions: Mapping[str, Any]) -> GateReport:
    """The review gates with the product's policy."""
    return run_gates(root, paths=paths, dispositions=dispositions, policy=Policy())


def task_data(task: Task) -> dict[str, Any]:
    """The task as plain data for the graph's state."""
    requirements = task.requirements.order_by("ordinal").values("key", "text", "kind", "acceptance")
    return {
        "key": task.key, "title": task.title, "description": task.description, "expects": task.expects, "kind": task.kind,
        "files": list(task.files), "packages": list(task.packages), "note": task.note, "generation": task.generation,
        "requirements": list(requirements),
    }  # fmt: skip


def build(task: Task, *, actor: str, token: int) -> TaskState:
    """Run or resume a task's graph to its end and return the final state.

    Raises Waiting, Stopped and OverBudget (agents.ports), LLMError, SandboxError, GitError and NoRoom; in all of these cases the
    task goes on later at the node it was in.
    """
    need_room()
    knowledge.use(settings.AISWE_HOME, settings.OLLAMA_URL, settings.EMBED_MODEL)
    run = task.run
    project = run.project
    label(run)
    spine = DatabaseSpine(run, actor=actor, token=token, task=task)
    announce(run, spine)
    repository = repository_of(project)
    repository.ensure(project.name)
    context = TaskContext(
        project=project.slug, run=str(run.pk), house_rules=rules_of(project), spine=spine,
        book=DatabaseBook(task, actor=actor, spine=spine), limits=limits_of(project), repository=repository,
        worktree_name=f"run-{run.pk}-{task.key}", provider=lambda persona: provider_for(project, persona), runner=runner(),
        backend=fitted(open_backend(name_for(project)), project),
        supply=ProjectSupply(project), lessons=lessons(), gates=gates,
        canary=canary_of(run), guard=guard(), asks_about_reach=project.autonomy in ASKS_AT_GATES, lessons_across_projects=settings.SHARE_LESSONS,
        switched_off=frozenset() if settings.MEMORY else frozenset({"memory"}),
    )  # fmt: skip
    graph = build_graph().compile(checkpointer=DjangoSaver())
    thread = f"task-{task.pk}-g{task.generation}"
    config: Any = {"configurable": {"thread_id": thread}, "recursion_limit": RECURSION_LIMIT}
    snapshot = graph.get_state(config)
    if snapshot.values and not snapshot.next:
        return snapshot.values  # type: ignore[return-value]
    tried = task.attempts.order_by("-number").values_list("number", flat=True).first() or 0
    start = None if snapshot.next else start_state(task_data(task), attempts_before=tried)
    try:
        return graph.invoke(start, config, context=context, durability="sync")  # type: ignore[return-value]
    finally:
        context.close()
