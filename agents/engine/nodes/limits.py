"""The warning before the circuit breaker: a person may look in while there is still something to save (ACA-1)."""

from __future__ import annotations

from agents.engine.contracts import TaskContext
from agents.engine.state import TaskState
from agents.events.effects import SystemNotice


def near_the_limit(state: TaskState, ctx: TaskContext) -> None:
    """Say on the record, once, that few iterations are left. Called when one more was used than the state knows of."""
    used, limits, task = state["counters"]["iteration"] + 1, ctx.limits, state["task"]
    if limits.warn_iterations <= used < limits.max_iterations:
        most = limits.max_iterations
        notice = SystemNotice(
            summary=f"{used} of {most} iterations are used: {most - used} left before it is escalated",
            text="Few iterations are left.",
            details={"used": used, "limit": most},
        )
        key = f"{task['key']}/g{task.get('generation', 1)}/iterations"
        ctx.event_log.emit(notice, attempt=state["counters"]["attempt"], key=key)
