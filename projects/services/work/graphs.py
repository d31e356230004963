"""A run's tasks as a graph: places, the critical path, and the task that holds up the most others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from graphlib import CycleError

from agents.engine.waiting import OUTAGES
from agents.planning.graph import longest_chains
from agents.planning.layout import Grid, Sizes, grid, layout
from projects.models import Task

__all__ = ["RunGraph", "Sizes", "grid_of", "is_outage", "layout", "longest_first"]
KEPT = 64
Needs = tuple[tuple[str, int, tuple[str, ...]], ...]  # key, estimated minutes, keys it needs


@dataclass(frozen=True)
class RunGraph:
    """Tasks with their needs fetched. Places depend on needs and estimates alone: no card moves in a run."""

    tasks: Sequence[Task]

    @cached_property
    def needs(self) -> Needs:
        """What the layout is made from."""
        return tuple((task.key, task.minutes, tuple(need.key for need in task.needs.all())) for task in self.tasks)

    @property
    def grid(self) -> Grid:
        """Column and row of every card."""
        return grid_of(self.needs)

    @property
    def critical(self) -> tuple[str, ...]:
        """The chain of tasks with the most estimated minutes: it decides when the run ends."""
        return _critical(self.needs)

    @cached_property
    def layers(self) -> list[list[Task]]:
        """The tasks by column, each from top to bottom."""
        cells = self.grid.cells
        found: list[list[Task]] = [[] for _ in range(1 + max((column for column, _ in cells.values()), default=-1))]
        for task in sorted(self.tasks, key=lambda task: cells[task.key]):
            found[cells[task.key][0]].append(task)
        return found

    @cached_property
    def followers(self) -> dict[str, list[str]]:
        """Key → keys of the open tasks that wait for it directly."""
        found: dict[str, list[str]] = {key: [] for key, _, _ in self.needs}
        is_open = {task.key for task in self.tasks if task.status not in Task.SETTLED}
        for key, _, wanted in self.needs:
            for need in wanted if key in is_open else ():
                if need in found:
                    found[need].append(key)
        return found

    def behind(self, key: str) -> set[str]:
        """The open tasks that wait for this one, directly or through others."""
        found: set[str] = set()
        rest = [key]
        while rest:
            fresh = set(self.followers.get(rest.pop(), ())) - found
            found |= fresh
            rest.extend(fresh)
        return found

    @property
    def minutes_left(self) -> int:
        """Estimated minutes of the longest chain of open tasks."""
        return max(_chains({task.key: task.minutes for task in self._open}, self.followers).values(), default=0)

    @property
    def minutes(self) -> int:
        """Estimated minutes of the critical path."""
        of = {key: minutes for key, minutes, _ in self.needs}
        return sum(of[key] for key in self.critical)

    @property
    def bottleneck(self) -> tuple[str, int] | None:
        """The open task that waits for no other and has the most behind it, with how many; None for less than two."""
        is_open = {task.key for task in self._open}
        front = [key for key, _, wanted in self.needs if key in is_open and not is_open.intersection(wanted)]
        most = max(((len(self.behind(key)), -place, key) for place, key in enumerate(front)), default=(0, 0, ""))
        return (most[2], most[0]) if most[0] > 1 else None

    @cached_property
    def _open(self) -> list[Task]:
        return [task for task in self.tasks if task.status not in Task.SETTLED]


@lru_cache(KEPT)
def grid_of(needs: Needs) -> Grid:
    """Column and row of every task, the critical path on top."""
    edges = [(need, key) for key, _, wanted in needs for need in wanted]
    return grid([key for key, _, _ in needs], edges, _critical(needs))


@lru_cache(KEPT)
def _critical(needs: Needs) -> tuple[str, ...]:
    followers: dict[str, list[str]] = {key: [] for key, _, _ in needs}
    for key, _, wanted in needs:
        for need in wanted:
            if need in followers:
                followers[need].append(key)
    way = _chains({key: minutes for key, minutes, _ in needs}, followers)
    chain: list[str] = []
    rest: Sequence[str] = list(way and followers)
    while rest:
        chain.append(max(rest, key=lambda key: way[key]))
        rest = followers[chain[-1]]
    return tuple(chain)


def _chains(minutes: Mapping[str, int], followers: Mapping[str, list[str]]) -> dict[str, int]:
    among = {key: [after for after in followers[key] if after in minutes] for key in minutes}
    try:
        return longest_chains(minutes, among)
    except CycleError:
        return {}


def is_outage(task: Task) -> bool:
    """Whether a task waits for something that passes without a person."""
    return task.wait_reason in OUTAGES


def longest_first(run_id: int, ready: Iterable[Task]) -> list[Task]:
    """Ready tasks with the critical path first: by the estimated minutes of the longest chain that starts with each.

    Takes O(n + e).
    """
    rows = Task.objects.filter(run_id=run_id).prefetch_related("unblocks")
    minutes = {task.pk: task.minutes for task in rows}
    followers = {task.pk: [follower.pk for follower in task.unblocks.all()] for task in rows}
    way = longest_chains(minutes, followers)
    return sorted(ready, key=lambda task: (-way.get(task.pk, 0), task.ordinal))
