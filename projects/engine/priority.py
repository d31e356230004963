"""Order of ready tasks. Critical path first: the task with the longest remaining chain decides when the run ends."""

from __future__ import annotations

from collections.abc import Iterable

from agents.planning.graph import longest_chains
from projects.models import Task


def longest_first(run_id: int, ready: Iterable[Task]) -> list[Task]:
    """The ready tasks, ordered by the estimated minutes of the longest chain that starts with them, O(n + e)."""
    rows = Task.objects.filter(run_id=run_id).prefetch_related("unblocks")
    minutes = {task.pk: task.minutes for task in rows}
    followers = {task.pk: [follower.pk for follower in task.unblocks.all()] for task in rows}
    way = longest_chains(minutes, followers)
    return sorted(ready, key=lambda task: (-way.get(task.pk, 0), task.ordinal))
