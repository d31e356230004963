"""The warning before the circuit breaker: a person may look in while there is still something to save (ACA-1)."""

from __future__ import annotations

from agents.ports import TaskContext
from agents.state import TaskState


def near_the_limit(state: TaskState, ctx: TaskContext) -> None:
    """Say on the record, once, that few iterations are left. Called when one more was used than the state knows of."""
    used, limits, task = state["iteration"] + 1, ctx.limits, state["task"]
    if limits.warn_iterations <= used < limits.max_iterations:
        ctx.spine.emit(
            "system", attempt=state["attempt"], key=f"{task['key']}/g{task.get('generation', 1)}/iterations",
            summary=f"{used} of {limits.max_iterations} iterations are used: {limits.max_iterations - used} left before it is escalated",
            payload={"text": "Few iterations are left.", "used": used, "limit": limits.max_iterations},
        )  # fmt: skip
