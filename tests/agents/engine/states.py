"""States of a task for tests, by the names of their parts."""

from typing import Any, get_type_hints

from agents.engine.state import GROUPS, TaskState, start_state, updated

GROUP_OF = {part: group for group in GROUPS for part in get_type_hints(get_type_hints(TaskState)[group])}


def state_with(task: dict[str, Any] | None = None, **parts: Any) -> TaskState:
    """The state at a task's start with other values in some parts, in whichever group they are."""
    state = start_state(task or {"key": "T-01"})
    return with_parts(state, **parts)


def with_parts(state: TaskState, **parts: Any) -> TaskState:
    """The state with other values in some parts; raises KeyError for a part that there is not."""
    change: Any = {name: value for name, value in parts.items() if name in ("base", "strategy", "verdict", "step")}
    for name in parts.keys() - change.keys():
        change.setdefault(GROUP_OF[name], {})[name] = parts[name]
    return updated(state, change)
