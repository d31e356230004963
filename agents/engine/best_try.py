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
        "attempt": state["attempt"],
        "approach": state["approach"],
        "base": state["base"],
        "tests": state["tests"],
        "files": state["files"],
        "packages": state["packages"],
        "turns": len(state["coder"]),
        "report": dict(report),
    }


def best_here(state: TaskState, report: Mapping[str, Any]) -> dict[str, Any]:
    """The best failed try of this approach, given the newest one."""
    before = state.get("best_here") or {}
    if _comparable(before, state) and rank(before["report"]) > rank(report):
        return before
    return kept_try(state, report)


def better_before(state: TaskState) -> dict[str, Any] | None:
    """The earlier try that the newest one is worse than; None when the newest is as good as any."""
    before = state.get("best_here") or {}
    if _comparable(before, state) and rank(before["report"]) > rank(state["report"]):
        return before
    return None


def _comparable(before: Mapping[str, Any], state: TaskState) -> bool:
    """Counts of passed tests say something only for the same tests on the same base, in one conversation."""
    return bool(before) and all(before[part] == state[part] for part in ("approach", "base", "tests"))  # type: ignore[literal-required]  # keys of the state
