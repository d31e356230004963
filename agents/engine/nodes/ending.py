"""The two ways a task ends for the engine: something learned, or a readable escalation."""

from __future__ import annotations

from agents.engine.contracts import Runtime, TaskContext
from agents.engine.escalation import escalation_text
from agents.engine.nodes.lessons import learned
from agents.engine.state import TaskState, key_of
from agents.events.effects import ErrorRaised


def learn(state: TaskState, runtime: Runtime[TaskContext]) -> TaskState:
    """Keep the diagnosis that was confirmed, and put the worktree away."""
    ctx = runtime.context
    learned(state, ctx)
    ctx.repository.remove(ctx.worktree_name)
    return {"verdict": "merged"}


def escalate(state: TaskState, runtime: Runtime[TaskContext]) -> TaskState:
    """Say why needs a person, with the best attempt attached; nothing is waved through."""
    ctx = runtime.context
    why = state["escalation"] or exhausted(state, ctx)
    best = state["history"]["best"]
    text = escalation_text(state, why)
    files = {**best.get("tests", {}), **best.get("files", {})}
    escalated = ErrorRaised(
        summary=f"Escalated: {why}",
        outcome="escalated",
        blobs={f"best:{path}": content for path, content in files.items()},
        message=text[:4000],
        tool="engine",
        next_steps=["retry", "adjust", "skip", "escalate"],
    )
    ctx.event_log.emit(escalated, attempt=state["counters"]["attempt"], key=key_of(state, "escalated"))
    return {"escalation": text, "verdict": "escalated"}


def exhausted(state: TaskState, ctx: TaskContext) -> str:
    """Which limit was reached."""
    if state["counters"]["iteration"] >= ctx.limits.max_iterations:
        return f"The limit of {ctx.limits.max_iterations} iterations is used up."
    return f"The tests still fail after {state['counters']['repairs']} of {ctx.limits.max_retries} repairs."
