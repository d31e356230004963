"""The two ways a task ends for the engine: something learned, or a readable escalation."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from agents.nodes.common import key_of
from agents.nodes.remembering import learned
from agents.ports import TaskContext
from agents.repair.escalation import escalation_text
from agents.state import TaskState


def learn(state: TaskState, runtime: Runtime[TaskContext]) -> dict[str, Any]:
    """Keep the diagnosis that was confirmed, and put the worktree away."""
    ctx = runtime.context
    learned(state, ctx)
    ctx.repository.remove(ctx.worktree_name)
    return {"step": state["step"] + 1, "verdict": "merged"}


def escalate(state: TaskState, runtime: Runtime[TaskContext]) -> dict[str, Any]:
    """Say why a person is needed, with the best attempt attached; nothing is waved through."""
    ctx = runtime.context
    why = state["escalation"] or exhausted(state, ctx)
    best = state["best"]
    text = escalation_text(state, why)
    blobs = (
        {f"best:{path}": content for path, content in {**best.get("tests", {}), **best.get("files", {})}.items()}
        if best
        else {}
    )
    ctx.spine.emit(
        "error", role="runtime", attempt=state["attempt"], key=key_of(state, "escalated"), outcome="escalated",
        summary=f"Escalated: {why}"[:400], blobs=blobs,
        payload={"message": text[:4000], "tool": "engine", "next_steps": ["retry", "adjust", "skip", "escalate"]},
    )  # fmt: skip
    return {"step": state["step"] + 1, "escalation": text, "verdict": "escalated"}


def exhausted(state: TaskState, ctx: TaskContext) -> str:
    """Which limit was reached."""
    if state["iteration"] >= ctx.limits.max_iterations:
        return f"The limit of {ctx.limits.max_iterations} iterations is used up."
    return f"The tests still fail after {state['repairs']} of {ctx.limits.max_retries} repairs."
