"""Circular dependencies in a plan. Time is proportional to tasks and needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from heapq import heapify, heappop, heappush
from typing import TypeVar

from agents.planning.model import PlanDraft

Needs = Mapping[str, Sequence[str]]
K = TypeVar("K")
MOST_CYCLES = 20  # each is searched in time proportional to the plan; more than these are not read in one answer


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


def shown_path(path: Sequence[str]) -> str:
    """A → B → A; the middle of a very long circle is counted instead of named."""
    if len(path) <= 24:
        return " → ".join(path)
    return " → ".join([*path[:12], f"… {len(path) - 24} more …", *path[-12:]])


def plan_order(needs: Needs) -> Iterator[str]:
    """Every task after what it needs, otherwise in the plan's order. Raises CycleError."""
    number = {key: index for index, key in enumerate(needs)}
    keys, sorter = list(needs), TopologicalSorter(needs)
    sorter.prepare()
    ready = [number[key] for key in sorter.get_ready()]
    heapify(ready)
    while ready:
        key = keys[heappop(ready)]
        yield key
        sorter.done(key)
        for after in sorter.get_ready():
            heappush(ready, number[after])


def longest_chains(minutes: Mapping[K, int], followers: Mapping[K, Sequence[K]]) -> dict[K, int]:
    """For each task the estimated minutes of the longest chain that starts with it, O(n + e): what is built first."""
    way: dict[K, int] = {}
    for task in TopologicalSorter(followers).static_order():  # the last of a chain first
        way[task] = minutes[task] + max((way[follower] for follower in followers[task]), default=0)
    return way


def followers_of(needs: Needs) -> dict[str, list[str]]:
    """Key → keys of the tasks that need it directly."""
    followers: dict[str, list[str]] = {key: [] for key in needs}
    for key, wanted in needs.items():
        for need in wanted:
            followers[need].append(key)
    return followers


def ancestors_of(needs: Needs) -> dict[str, set[str]]:
    """Key → keys of all that it needs, directly or through others."""
    found: dict[str, set[str]] = {}
    for key in plan_order(needs):
        found[key] = {*needs[key]}.union(*(found[need] for need in needs[key]))
    return found
