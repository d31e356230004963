"""The two ways a task ends for the engine: something learned, or a readable escalation."""

from __future__ import annotations

import hashlib
from typing import Any

from langgraph.runtime import Runtime

from agents.memory.base import Lesson
from agents.nodes.common import key_of
from agents.ports import TaskContext
from agents.repair.escalation import escalation_text
from agents.state import TaskState


def learn(state: TaskState, runtime: Runtime[TaskContext]) -> dict[str, Any]:
    """Keep the diagnosis that was confirmed, so that the same failure is cheaper next time (SWE-FR-10)."""
    ctx = runtime.context
    diagnosis, failures = state["diagnosis"], state["failures"]
    signature = state["signatures"][-1] if state["signatures"] else ""
    if diagnosis.get("cause") and signature and state["strategy"] in ("repair", "fresh"):
        name = hashlib.sha256(f"{signature}|{diagnosis['cause']}".encode()).hexdigest()[:32]
        lesson = Lesson(
            id=name, signature=signature, cause=diagnosis["cause"][:600], fix=(diagnosis.get("plan") or diagnosis.get("hypothesis", ""))[:600],
            reward=1.0, project=ctx.project, task=state["task"]["key"], run=ctx.run,
        )  # fmt: skip
        ctx.lessons.add(lesson)
        ctx.spine.emit(
            "memory.write", role="runtime", attempt=state["attempt"], key=key_of(state, "lesson"), error_signature=signature,
            summary=f"Learned from {len(failures)} failed {'try' if len(failures) == 1 else 'tries'}: {lesson.cause}"[:400],
            payload={"lessons": [lesson.to_json()]},
        )  # fmt: skip
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
