"""The best failed try of an approach: a repair that makes it worse is taken back before the next one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.engine.state import TaskState


def rank(report: Mapping[str, Any]) -> tuple[int, int]:
    """How far a failed run came: code that compiles before code that does not, then by tests that passed."""
    return int(bool(report.get("compiles"))), int(report.get("passed", 0))


def kept_try(state: TaskState, report: Mapping[str, Any]) -> dict[str, Any]:
    """What is needed to stand at this try again. The conversation only grows, so its length is enough."""
    return {
        **_judged_by(state),
        "attempt": state["counters"]["attempt"],
        "files": state["candidate"]["files"],
        "packages": state["candidate"]["packages"],
        "turns": len(state["conversation"]["coder"]),
        "report": dict(report),
    }


def best_here(state: TaskState, report: Mapping[str, Any]) -> dict[str, Any]:
    """The best failed try of this approach, given the newest one."""
    return _better(state, report) or kept_try(state, report)


def better_before(state: TaskState) -> dict[str, Any] | None:
    """The earlier try that the newest one is worse than; None when the newest is as good as any."""
    return _better(state, state["candidate"]["report"])


def _better(state: TaskState, report: Mapping[str, Any]) -> dict[str, Any] | None:
    """The best try before this report, if it came further."""
    before = state["history"]["best_here"]
    comparable = before and before.items() >= _judged_by(state).items()
    return before if comparable and rank(before["report"]) > rank(report) else None


def _judged_by(state: TaskState) -> dict[str, Any]:
    """Counts of passed tests say something only for the same tests on the same base, in one conversation."""
    return {"approach": state["counters"]["approach"], "base": state["base"], "tests": state["candidate"]["tests"]}
