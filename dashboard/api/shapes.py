"""Rows as JSON. Names stay; new ones may come."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from projects.models import Approval, Event, Plan, Project, Run, Task


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def project(row: Project) -> dict[str, Any]:
    """A project."""
    return {
        "id": row.pk,
        "name": row.name,
        "slug": row.slug,
        "autonomy": row.autonomy,
        "model": row.model_name,
        "recording": row.is_recording,
        "created_at": _time(row.created_at),
    }


def plan(row: Plan) -> dict[str, Any]:
    """A version of a plan; `hash` is what an approval binds to."""
    return {
        "id": row.pk,
        "project": row.project_id,
        "version": row.version,
        "status": row.status,
        "hash": row.content_hash,
        "content": row.content,
        "problems": row.problems,
    }


def run(row: Run) -> dict[str, Any]:
    """A run."""
    return {
        "id": row.pk,
        "project": row.project_id,
        "kind": row.kind,
        "status": row.status,
        "why": row.why,
        "plan": row.plan_id,
        "recording": row.recording,
        "last_seq": row.last_seq,
        "created_at": _time(row.created_at),
    }


def task(row: Task) -> dict[str, Any]:
    """A task of a run."""
    return {
        "id": row.pk,
        "run": row.run_id,
        "key": row.key,
        "title": row.title,
        "status": row.status,
        "why": row.why,
    }


def event(row: Event) -> dict[str, Any]:
    """An event, as the audit trail keeps it; texts are data, whoever wrote them."""
    return {
        "seq": row.seq,
        "at": _time(row.at),
        "type": row.type,
        "role": row.role,
        "actor": row.actor,
        "task": row.task_id,
        "attempt": row.attempt,
        "summary": row.summary,
        "payload": row.payload,
        "blobs": row.blobs,
        "outcome": row.outcome,
        "hash": row.hash,
    }


def approval(row: Approval) -> dict[str, Any]:
    """A question and, once there is one, its answer."""
    return {
        "id": row.pk,
        "project": row.project_id,
        "run": row.run_id,
        "task": row.task_id,
        "kind": row.kind,
        "subject": row.subject,
        "title": row.title,
        "why": row.why,
        "on_yes": row.on_yes,
        "on_no": row.on_no,
        "status": row.status,
        "reason": row.reason,
        "requested_at": _time(row.requested_at),
        "decided_at": _time(row.decided_at),
        "decided_by": row.decided_by.get_username() if row.decided_by else None,
    }
