"""Starting a task: a worktree of its own, and what earlier repairs taught."""

from __future__ import annotations

from agents.engine.contracts import Runtime, TaskContext
from agents.engine.nodes.lessons import recalled
from agents.engine.state import TaskState
from sandbox.package_index.names import base_packages, plain_name


def recall(state: TaskState, runtime: Runtime[TaskContext]) -> TaskState:
    """Make the worktree and look for lessons that fit the task."""
    ctx = runtime.context
    base = ctx.repository.head()
    ctx.repository.worktree(ctx.worktree_name, base)
    task = state["task"]
    lessons = recalled(state, ctx, text=task["title"])
    if all(plain_name(name) in base_packages() for name in task.get("packages", [])):
        # Ready by the time the first tests are: the model writes for seconds, the sandbox starts meanwhile.
        ctx.sandbox(()).warm_up()
    return {"base": base, "memory": {"lessons": lessons}}
