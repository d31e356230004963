"""A plan simulated: what the scheduler of a build would do if every estimate were right."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush

from agents.planning.graph import followers_of, longest_chains, needs_of, plan_order
from agents.planning.model import PlanDraft
from agents.planning.writers import plain_path


@dataclass(frozen=True, slots=True)
class Schedule:
    """When each task is done, in minutes from the start, and the most tasks that are worked on at one moment."""

    ends: Mapping[str, int]
    peak: int

    def until(self, keys: Collection[str]) -> int:
        """Minutes until all of these tasks are done."""
        return max((self.ends[key] for key in keys), default=0)


def simulate(plan: PlanDraft, workers: int) -> Schedule:
    """The schedule of a plan without circles: critical path first, and never two tasks that write one file."""
    tasks, needs = {task.key: task for task in plan.tasks}, needs_of(plan)
    followers, order = followers_of(needs), list(plan_order(needs))
    files = {key: {plain_path(path) for path in task.files} for key, task in tasks.items()}
    chains = longest_chains({key: task.minutes for key, task in tasks.items()}, followers)
    waiting = sorted(order, key=lambda key: -chains[key])
    missing = {key: len(wanted) for key, wanted in needs.items()}
    running: list[tuple[int, str]] = []
    writing: set[str] = set()
    ends: dict[str, int] = {}
    now = peak = 0
    while waiting or running:
        for key in [key for key in waiting if not missing[key]]:
            if len(running) < workers and not files[key] & writing:
                waiting.remove(key)
                writing |= files[key]
                heappush(running, (now + tasks[key].minutes, key))
        peak, now = max(peak, len(running)), running[0][0]
        while running and running[0][0] == now:
            _, key = heappop(running)
            ends[key] = now
            writing -= files[key]
            for follower in followers[key]:
                missing[follower] -= 1
    return Schedule(ends, peak)
