"""A plan as data: tasks and what each needs. Immutable; its hash is what a person approves."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Literal

TASK_KINDS = ("code", "infra", "docs", "config")
Severity = Literal["error", "warning"]

_TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
_TASK: dict[str, Any] = {
    "key": {"type": "string"},
    "title": {"type": "string"},
    "description": {"type": "string"},
    "kind": {"type": "string", "enum": list(TASK_KINDS)},
    "minutes": {"type": "integer"},
    "requirements": _TEXTS,
    "needs": _TEXTS,
    "expects": {"type": "string"},
    "files": _TEXTS,
    "packages": _TEXTS,
}


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object with all of these properties and no others."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


PLAN_SCHEMA = _closed({"tasks": {"type": "array", "items": _closed(_TASK)}, "notes": {"type": "string"}})
# A planner that has not decided yet may leave the tasks out and ask (agents.planning.lookups).
ASKING_SCHEMA = PLAN_SCHEMA | {"properties": {"read_file": _TEXTS, "search_docs": _TEXTS, **PLAN_SCHEMA["properties"]}}


@dataclass(frozen=True, slots=True)
class PlanTask:
    """One node of the graph. `minutes` is agent time; `needs` are keys of tasks that come first; `expects` says how one
    sees that it is done; `files` are paths inside the project; `packages` are dependencies it may add. `agent` is
    the coder, or the name of another agent that a person gave it to. A task with a `blueprint` (agents.fragments, as
    JSON) is built fragment by fragment."""

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
    blueprint: str = ""

    def to_json(self) -> dict[str, Any]:
        """The task in the form of PLAN_SCHEMA; with a blueprint only where it has one."""
        values = ((name, getattr(self, name)) for name in self.__slots__ if name != "blueprint")
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values}
        return plain | ({"blueprint": json.loads(self.blueprint)} if self.blueprint else {})


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
        tasks = list(self.task_keys)
        return {"code": self.code, "message": self.message, "tasks": tasks, "severity": self.severity}


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
