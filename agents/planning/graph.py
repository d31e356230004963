"""The graph of a plan: cycles, layers, critical path. Time is proportional to tasks and needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from agents.planning.model import PlanDraft

Needs = Mapping[str, Sequence[str]]
MOST_CYCLES = 20  # each is searched in time proportional to the plan; more than these are not read in one answer


class PlanCycle(ValueError):
    """Tasks wait for each other in a circle; `path` begins and ends with the same key."""

    def __init__(self, path: tuple[str, ...]) -> None:
        self.path = path
        super().__init__(f"Circular dependency: {shown_path(path)}.")


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """The longest chain of tasks by agent minutes: no number of workers makes the plan faster."""

    keys: tuple[str, ...]
    minutes: int


def needs_of(plan: PlanDraft) -> dict[str, tuple[str, ...]]:
    """Key → keys it needs, of tasks that exist, itself left out. A repeated key keeps its first task."""
    keys = {task.key for task in plan.tasks}
    needs: dict[str, tuple[str, ...]] = {}
    for task in plan.tasks:
        needs.setdefault(task.key, tuple(n for n in dict.fromkeys(task.needs) if n in keys and n != task.key))
    return needs


def find_cycles(needs: Needs) -> list[tuple[str, ...]]:
    """Circles of tasks that wait for each other, none sharing a task with another; each as A, B, …, A (A needs B).

    At most MOST_CYCLES of them, ordered by their first task in the plan.
    """
    order = {key: index for index, key in enumerate(needs)}
    rest = dict(needs)
    cycles: list[tuple[str, ...]] = []
    while len(cycles) < MOST_CYCLES:
        try:
            TopologicalSorter(rest).prepare()
        except CycleError as error:
            path: list[str] = error.args[1][:0:-1]  # reversed, so that each needs the next; the repeated key left out
            first = path.index(min(path, key=order.__getitem__))
            cycles.append((*path[first:], *path[: first + 1]))
            for key in path:
                del rest[key]
        else:
            break
    return sorted(cycles, key=lambda path: order[path[0]])


def topological_layers(plan: PlanDraft) -> list[list[str]]:
    """Keys in layers: a task stands one layer after the last one it needs. Raises PlanCycle."""
    needs = needs_of(plan)
    depth: dict[str, int] = {}
    for key in _ordered(needs):
        depth[key] = max((depth[n] + 1 for n in needs[key]), default=0)
    layers: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for key in needs:
        layers[depth[key]].append(key)
    return layers


def critical_path(plan: PlanDraft) -> CriticalPath:
    """The chain that takes longest; among equals the one proposed first. Raises PlanCycle."""
    needs = needs_of(plan)
    minutes: dict[str, int] = {}
    for task in plan.tasks:
        minutes.setdefault(task.key, max(task.minutes, 0))
    total: dict[str, int] = {}
    before: dict[str, str] = {}
    for key in _ordered(needs):
        best = max(needs[key], key=lambda n: total[n], default=None)
        total[key] = minutes[key] + (total[best] if best is not None else 0)
        if best is not None:
            before[key] = best
    if not total:
        return CriticalPath((), 0)
    last = max(needs, key=lambda k: total[k])
    chain = [last]
    while chain[-1] in before:
        chain.append(before[chain[-1]])
    return CriticalPath(tuple(reversed(chain)), total[last])


def shown_path(path: Sequence[str]) -> str:
    """A → B → A; the middle of a very long circle is counted instead of named."""
    if len(path) <= 24:
        return " → ".join(path)
    return " → ".join([*path[:12], f"… {len(path) - 24} more …", *path[-12:]])


def _ordered(needs: Needs) -> list[str]:
    """Keys so that what is needed comes first. Raises PlanCycle."""
    try:
        return list(TopologicalSorter(needs).static_order())
    except CycleError:
        raise PlanCycle(find_cycles(needs)[0]) from None
