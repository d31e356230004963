"""Tasks that write one file run one after the other: the needs that a plan leaves out are added by code."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import PurePosixPath

from agents.planning.graph import needs_of, plan_order
from agents.planning.model import PlanDraft, PlanProblem


def order_writers(plan: PlanDraft) -> tuple[PlanDraft, list[PlanProblem]]:
    """A valid plan with the needs added by which of two tasks that write one file one waits, and a warning for each.

    The later task in the plan waits, unless the earlier one needs it already. Every added need follows one order of all
    tasks, so none closes a circle. Raises CycleError for a plan that has one.
    """
    tasks, needs = {task.key: task for task in plan.tasks}, needs_of(plan)
    order = list(plan_order(needs))
    place = {key: number for number, key in enumerate(order)}
    before: dict[str, int] = {}  # all that a task needs, directly or through others, as a set of bits
    last: dict[str, str] = {}  # file → the task that writes it last so far
    added = []
    for key in order:
        known = 0
        for need in needs[key]:
            known |= 1 << place[need] | before[need]
        files = [plain_path(path) for path in tasks[key].files]
        earlier = {last[path]: path for path in reversed(files) if path in last}
        for other in sorted(earlier, key=lambda one: -place[one]):  # the nearest first: it may need the others
            if other != key and not known >> place[other] & 1:
                known |= 1 << place[other] | before[other]
                tasks[key] = replace(tasks[key], needs=(*tasks[key].needs, other))
                message = f"{key} now needs {other}: both write {earlier[other]}, so one has to follow the other."
                added.append(PlanProblem("added_need", message, (key, other), "warning"))
        before[key] = known
        last |= dict.fromkeys(files, key)
    return replace(plan, tasks=tuple(tasks.values())), added


@lru_cache(10_000)
def plain_path(path: str) -> str:
    """A path of a task in one spelling."""
    return str(PurePosixPath(path.replace("\\", "/")))
