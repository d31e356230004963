"""The best try of an approach: what makes it worse is taken back before the next try.

A version that passed and was then to be changed (a gate, a reviewer) is better than any that fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.engine.state import TaskState


def rank(report: Mapping[str, Any]) -> tuple[int, int, int]:
    """How far a run came: one that passed first, then code that compiles, then by tests that passed."""
    ok = bool(report.get("ok"))
    return int(ok), int(bool(report.get("compiles"))), 0 if ok else int(report.get("passed", 0))


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
    """The best try of this approach, given the newest one."""
    return _better(state, report) or kept_try(state, report)


def objected(state: TaskState, **feedback: Any) -> TaskState:
    """What somebody objects to in a version that passed, kept with it: the coder answers to it, again if that fails."""
    report = state["candidate"]["report"] | feedback
    kept = state["history"]["best_here"]
    return {"candidate": {"report": report}, "history": {"best_here": kept | {"report": report} if kept else {}}}


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
