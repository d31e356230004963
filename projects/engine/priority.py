"""Order of ready tasks. Critical path first: the task with the longest remaining chain decides when the run ends."""

from __future__ import annotations

from collections.abc import Iterable

from projects.models import Task


def longest_first(run_id: int, ready: Iterable[Task]) -> list[Task]:
    """The ready tasks, ordered by the estimated minutes of the longest chain that starts with them, O(n + e)."""
    rows = list(Task.objects.filter(run_id=run_id).prefetch_related("unblocks"))
    followers = {task.pk: [follower.pk for follower in task.unblocks.all()] for task in rows}
    minutes = {task.pk: task.minutes for task in rows}
    way: dict[int, int] = {}
    for start in followers:
        stack = [start]
        while stack:
            here = stack[-1]
            missing = [follower for follower in followers[here] if follower not in way]
            if missing:
                stack.extend(missing)
                continue
            way[here] = minutes[here] + max((way[follower] for follower in followers[here]), default=0)
            stack.pop()
    return sorted(ready, key=lambda task: (-way.get(task.pk, 0), task.ordinal))
