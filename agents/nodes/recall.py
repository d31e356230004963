"""Starting a task: a worktree of its own, and what earlier repairs taught."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from agents.nodes.remembering import recalled
from agents.nodes.supply import plain_name
from agents.ports import TaskContext
from agents.state import TaskState
from sandbox.packages import base_packages


def recall(state: TaskState, runtime: Runtime[TaskContext]) -> dict[str, Any]:
    """Make the worktree and look for lessons that fit the task."""
    ctx = runtime.context
    base = ctx.repository.head()
    ctx.repository.worktree(ctx.worktree_name, base)
    task = state["task"]
    lessons = recalled(state, ctx, text=task["title"])
    if all(plain_name(name) in base_packages() for name in task.get("packages", [])):
        # Ready by the time the first tests are: the model writes for seconds, the sandbox starts meanwhile.
        ctx.sandbox(()).warm_up()
    return {"step": state["step"] + 1, "base": base, "lessons": lessons}
