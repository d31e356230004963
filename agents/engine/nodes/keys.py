"""Keys of effects."""

from __future__ import annotations

from agents.engine.state import TaskState


def key_of(state: TaskState, name: str) -> str:
    """The idempotency key of an effect of this node run: the same when the node runs again after a kill."""
    task = state["task"]
    return f"{task['key']}/g{task.get('generation', 1)}/{state['step']}/{name}"
