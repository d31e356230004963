"""The graph of a plan: cycles, layers, critical path. Every function takes time in proportion to tasks and needs."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agents.planning.model import Plan

Needs = Mapping[str, Sequence[str]]


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


def needs_of(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Key → keys it needs, of tasks that exist, itself left out. A repeated key keeps its first task."""
    keys = {task.key for task in plan.tasks}
    needs: dict[str, tuple[str, ...]] = {}
    for task in plan.tasks:
        needs.setdefault(task.key, tuple(n for n in dict.fromkeys(task.needs) if n in keys and n != task.key))
    return needs


def find_cycles(needs: Needs) -> list[tuple[str, ...]]:
    """One shortest circle per knot of tasks that wait for each other, each as A, B, …, A (A needs B)."""
    order = {key: index for index, key in enumerate(needs)}
    cycles = []
    for knot in _knots(needs):
        start = min(knot, key=order.__getitem__)
        cycles.append(_circle(start, knot, needs))
    return sorted(cycles, key=lambda path: order[path[0]])


def topological_layers(plan: Plan) -> list[list[str]]:
    """Keys in layers: a task stands one layer after the last one it needs. Raises PlanCycle."""
    needs = needs_of(plan)
    depth: dict[str, int] = {}
    for key in _ordered(needs):
        depth[key] = max((depth[n] + 1 for n in needs[key]), default=0)
    layers: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for key in needs:
        layers[depth[key]].append(key)
    return layers


def critical_path(plan: Plan) -> CriticalPath:
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
    """Keys so that what is needed comes first, in the order of the plan where that leaves a choice."""
    waiting = {key: len(wanted) for key, wanted in needs.items()}
    followers: dict[str, list[str]] = {key: [] for key in needs}
    for key, wanted in needs.items():
        for need in wanted:
            followers[need].append(key)
    ready = deque(key for key, count in waiting.items() if not count)
    ordered = []
    while ready:
        key = ready.popleft()
        ordered.append(key)
        for follower in followers[key]:
            waiting[follower] -= 1
            if not waiting[follower]:
                ready.append(follower)
    if len(ordered) < len(needs):
        raise PlanCycle(find_cycles(needs)[0])
    return ordered


def _knots(needs: Needs) -> list[set[str]]:
    """Strongly connected components of more than one task (Tarjan, without recursion: plans may be deep)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    on_stack: set[str] = set()
    stack: list[str] = []
    knots = []
    for root in needs:
        if root in index:
            continue
        work = [(root, iter(needs[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            key, rest = work[-1]
            for need in rest:
                if need not in index:
                    index[need] = low[need] = len(index)
                    stack.append(need)
                    on_stack.add(need)
                    work.append((need, iter(needs[need])))
                    break
                if need in on_stack:
                    low[key] = min(low[key], index[need])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[key])
                if low[key] == index[key]:
                    knot = set()
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        knot.add(member)
                        if member == key:
                            break
                    if len(knot) > 1:
                        knots.append(knot)
    return knots


def _circle(start: str, knot: set[str], needs: Needs) -> tuple[str, ...]:
    """The shortest way from `start` back to itself inside its knot."""
    came_from: dict[str, str] = {}
    queue = deque([start])
    while queue:
        key = queue.popleft()
        for need in needs[key]:
            if need == start:
                path = [key]
                while path[-1] != start:
                    path.append(came_from[path[-1]])
                return (*reversed(path), start)
            if need in knot and need not in came_from:
                came_from[need] = key
                queue.append(need)
    raise AssertionError(f"{start} is in no circle")
