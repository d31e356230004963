"""Rows as JSON. Names stay; new ones may come."""

from __future__ import annotations

from datetime import datetime
from operator import attrgetter
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Model

from projects.models import Approval, Event, Plan, Project, Run, Task

# The names of each kind of row, in order; `name=attribute` where the model calls it something else.
SHAPES: dict[type[Model], str] = {
    Project: "id=pk name slug autonomy model=model_name recording=is_recording created_at",
    # `hash` is what an approval binds to.
    Plan: "id=pk project=project_id version status hash=content_hash content problems",
    Run: "id=pk project=project_id kind status why plan=plan_id recording last_seq created_at",
    Task: "id=pk run=run_id key title status why",
    # As the audit trail keeps it; texts are data, whoever wrote them.
    Event: "seq at type role actor task=task_id attempt summary payload blobs outcome hash",
    Approval: (
        "id=pk project=project_id run=run_id task=task_id kind subject title why on_yes on_no status reason "
        "requested_at decided_at decided_by"
    ),
}


def shape(row: Model) -> dict[str, Any]:
    """A row as JSON: times in ISO 8601, people by their names."""
    pairs = (word.partition("=") for word in SHAPES[type(row)].split())
    return {name: _plain(attrgetter(attribute or name)(row)) for name, _, attribute in pairs}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return value.get_username() if isinstance(value, User) else value
