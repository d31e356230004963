"""The task graph without checkpoints: a trial that is cut off begins anew."""

from __future__ import annotations

from dataclasses import dataclass

from agents.engine.contracts import TaskContext
from agents.engine.graph import END, FIRST, NEXT, NODES, RECURSION_LIMIT, counted
from agents.engine.state import TaskState, updated


@dataclass(frozen=True)
class _Unsaved:
    context: TaskContext


def run_unsaved(state: TaskState, context: TaskContext) -> None:
    """Run a task from its start to its end; `state` is updated after each node.

    Raises what nodes raise, and RuntimeError after RECURSION_LIMIT of them.
    """
    runtime, name = _Unsaved(context), FIRST
    for _ in range(RECURSION_LIMIT):
        state.update(updated(state, counted(NODES[name])(state, runtime)))
        successor = NEXT[name]
        name = successor if isinstance(successor, str) else successor(state, runtime)
        if name == END:
            return
    raise RuntimeError(f"The task did not end within {RECURSION_LIMIT} steps.")
