"""Does the candidate use names that the installed libraries do not have? Cheaper to ask than to find out in a test run."""

from __future__ import annotations

from agents.context.apis import shared
from agents.imports import local_modules
from agents.ports import TaskContext
from agents.replies import Applied
from agents.state import TaskState
from sandbox.base import SandboxError


def absent(state: TaskState, ctx: TaskContext, applied: Applied) -> list[str]:
    """Reasons to ask again, each naming file, line, what is missing and what is close; none when it cannot be told."""
    if "apis" in ctx.switched_off or not applied.files:
        return []
    there = [*ctx.repository.files(state["base"]), *state["tests"], *state["files"], *applied.files]
    try:
        return shared.problems(
            applied.files,
            local=local_modules(there),
            sandbox=ctx.at_hand,
            scope=f"{ctx.backend.name} {' '.join(ctx.at_hand_packages)}",
        )
    except SandboxError:
        return []  # the test run will meet it and say so
