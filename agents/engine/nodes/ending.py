"""The two ways a task ends for the engine: something learned, or a readable escalation."""

from __future__ import annotations

from typing import Any

from agents.engine.contracts import Runtime, TaskContext
from agents.engine.escalation import escalation_text
from agents.engine.nodes.common import key_of
from agents.engine.nodes.lessons import learned
from agents.engine.state import TaskState
from agents.events.effects import ErrorRaised


def learn(state: TaskState, runtime: Runtime[TaskContext]) -> dict[str, Any]:
    """Keep the diagnosis that was confirmed, and put the worktree away."""
    ctx = runtime.context
    learned(state, ctx)
    ctx.repository.remove(ctx.worktree_name)
    return {"step": state["step"] + 1, "verdict": "merged"}


def escalate(state: TaskState, runtime: Runtime[TaskContext]) -> dict[str, Any]:
    """Say why needs a person, with the best attempt attached; nothing is waved through."""
    ctx = runtime.context
    why = state["escalation"] or exhausted(state, ctx)
    best = state["best"]
    text = escalation_text(state, why)
    blobs = (
        {f"best:{path}": content for path, content in {**best.get("tests", {}), **best.get("files", {})}.items()}
        if best
        else {}
    )
    escalated = ErrorRaised(
        summary=f"Escalated: {why}",
        outcome="escalated",
        blobs=blobs,
        message=text[:4000],
        tool="engine",
        next_steps=["retry", "adjust", "skip", "escalate"],
    )
    ctx.event_log.emit(escalated, attempt=state["attempt"], key=key_of(state, "escalated"))
    return {"step": state["step"] + 1, "escalation": text, "verdict": "escalated"}


def exhausted(state: TaskState, ctx: TaskContext) -> str:
    """Which limit was reached."""
    if state["iteration"] >= ctx.limits.max_iterations:
        return f"The limit of {ctx.limits.max_iterations} iterations is used up."
    return f"The tests still fail after {state['repairs']} of {ctx.limits.max_retries} repairs."
