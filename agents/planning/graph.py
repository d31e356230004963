"""Circular dependencies in a plan. Time is proportional to tasks and needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from graphlib import CycleError, TopologicalSorter
from itertools import combinations, islice
from operator import or_

from agents.planning.model import PlanDraft

Needs = Mapping[str, Sequence[str]]
MOST_CYCLES = 20  # each is searched in time proportional to the plan; more than these are not read in one answer

MOST_PAIRS = 50  # of tasks that write one file


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


def unordered_pairs(needs: Needs, groups: Sequence[Sequence[str]]) -> list[list[tuple[str, str]]]:
    """Of each group the pairs of which neither needs the other, directly or through others; at most MOST_PAIRS.

    None where tasks wait for each other in a circle: that comes first.
    """
    try:
        order = list(TopologicalSorter(needs).static_order())
    except CycleError:
        return [[] for _ in groups]
    bits = {key: 1 << number for number, key in enumerate(order)}
    before: dict[str, int] = {}  # all that a task needs, as a set of bits
    for key in order:
        before[key] = reduce(or_, (bits[need] | before[need] for need in needs.get(key, ())), 0)
    return [
        list(
            islice(
                (
                    (one, other)
                    for one, other in combinations(dict.fromkeys(group), 2)
                    if not before[one] & bits[other] and not before[other] & bits[one]
                ),
                MOST_PAIRS,
            )
        )
        for group in groups
    ]
