"""What the planning room says about a plan's content: is it valid, what is its hash, where does each node lie."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from projects.models import Plan, Task


def examine(content: Mapping[str, Any], requirements: Mapping[str, str]) -> tuple[str, list[dict[str, Any]]]:
    """The content's hash and what is wrong with it: [{code, message, tasks, severity}]. No hash when it is no plan."""
    from agents.planning.plan import content_hash, parse_plan, validate_plan

    parsed, found = parse_plan(content)
    if parsed is None:
        return "", [plain(problem) for problem in found] or [
            {"code": "unreadable", "message": "The content is not a plan.", "tasks": [], "severity": "error"}
        ]
    problems = [*found, *validate_plan(parsed, requirements)]
    return content_hash(parsed), [plain(problem) for problem in problems]


def plain(problem: Any) -> dict[str, Any]:
    """A validation problem as plain data."""
    return {
        "code": problem.code,
        "message": problem.message,
        "tasks": list(problem.task_keys),
        "severity": str(problem.severity),
    }


def layout_of(plan: Plan, states: Mapping[str, Task] | None = None) -> dict[str, Any]:
    """Nodes and edges of the plan's graph with their places."""
    from agents.planning.layout import layout

    tasks = plan.content["tasks"]
    return dict(
        layout([task["key"] for task in tasks], [(need, task["key"]) for task in tasks for need in task["needs"]])
    )
