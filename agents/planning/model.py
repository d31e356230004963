"""A plan as data: tasks and what each needs. Immutable; its hash is what a person approves."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Literal

TASK_KINDS = ("code", "test", "infra", "docs", "config")
AGENTS = ("coder", "tester", "reviewer", "sre")
Severity = Literal["error", "warning"]

PLAN_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "tasks": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "key": {"type": "string"},
                    "title": {"type": "string"},
                    "description": {"type": "string"},
                    "kind": {"type": "string", "enum": list(TASK_KINDS)},
                    "agent": {"type": "string", "enum": list(AGENTS)},
                    "minutes": {"type": "integer"},
                    "requirements": {"type": "array", "items": {"type": "string"}},
                    "needs": {"type": "array", "items": {"type": "string"}},
                    "expects": {"type": "string"},
                    "files": {"type": "array", "items": {"type": "string"}},
                    "packages": {"type": "array", "items": {"type": "string"}},
                },
                "required": [
                    "key",
                    "title",
                    "description",
                    "kind",
                    "agent",
                    "minutes",
                    "requirements",
                    "needs",
                    "expects",
                    "files",
                    "packages",
                ],
                "additionalProperties": False,
            },
        },
        "notes": {"type": "string"},
    },
    "required": ["tasks", "notes"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class PlanTask:
    """One node of the graph. `minutes` is agent time; `needs` are keys of tasks that come first; `expects` says how one
    sees that it is done; `files` are paths inside the project; `packages` are dependencies it may add."""

    key: str
    title: str
    description: str = ""
    kind: str = "code"
    agent: str = "coder"
    minutes: int = 30
    requirements: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    expects: str = ""
    files: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The task in the form of PLAN_SCHEMA."""
        return {
            "key": self.key,
            "title": self.title,
            "description": self.description,
            "kind": self.kind,
            "agent": self.agent,
            "minutes": self.minutes,
            "requirements": list(self.requirements),
            "needs": list(self.needs),
            "expects": self.expects,
            "files": list(self.files),
            "packages": list(self.packages),
        }


@dataclass(frozen=True, slots=True)
class PlanDraft:
    """Tasks in the order in which they were proposed, and a free note."""

    tasks: tuple[PlanTask, ...] = ()
    notes: str = ""

    def to_json(self) -> dict[str, Any]:
        """The plan in the form of PLAN_SCHEMA."""
        return {"tasks": [task.to_json() for task in self.tasks], "notes": self.notes}


@dataclass(frozen=True, slots=True)
class PlanProblem:
    """Something wrong with a plan: a stable `code`, a message that names the way out, and the tasks it is about."""

    code: str
    message: str
    task_keys: tuple[str, ...] = ()
    severity: Severity = "error"

    def to_json(self) -> dict[str, Any]:
        """The problem as plain data."""
        return {
            "code": self.code,
            "message": self.message,
            "task_keys": list(self.task_keys),
            "severity": self.severity,
        }


def content_hash(plan: PlanDraft) -> str:
    """SHA-256 over what the plan says; the order of tasks and of their lists says nothing and does not count."""
    tasks = []
    for task in sorted(plan.tasks, key=lambda t: (t.key, t.title, t.description)):
        data = task.to_json()
        for name in ("requirements", "needs", "files", "packages"):
            data[name] = sorted(set(data[name]))
        tasks.append(data)
    canonical = json.dumps({"tasks": tasks, "notes": plan.notes}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
