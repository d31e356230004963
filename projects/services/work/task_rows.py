"""From an approved plan to the rows of a run."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import Any

from projects.errors import BadInput
from projects.models import Plan, Requirement, Run, Task
from projects.services.audit.canonical import clean_line, clean_text


def make_tasks(run: Run, plan: Plan) -> int:
    """Create the run's tasks with their needs and requirement links, needs first; returns how many."""
    specs = _in_order(plan.content.get("tasks") or [])
    tasks = Task.objects.bulk_create([_task(run, number, spec) for number, spec in enumerate(specs, start=1)])
    by_key = {task.key: task for task in tasks}
    wanted = dict(Requirement.objects.filter(document=plan.document).values_list("key", "pk"))
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


def _task(run: Run, ordinal: int, spec: dict[str, Any]) -> Task:
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
    order = TopologicalSorter(dict.fromkeys(by_key, ()))  # every task first, so that ties keep the plan's order
    for key, spec in by_key.items():
        for need in spec.get("needs") or ():
            if need not in by_key:
                raise BadInput(f"{key} needs {need}, which is not in the plan.")
            order.add(key, need)
    try:
        return [by_key[key] for key in order.static_order()]
    except CycleError as cycle:
        raise BadInput("The plan's tasks depend on each other in a cycle.") from cycle
