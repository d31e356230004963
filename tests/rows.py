"""Rows of a run's stream with any content: types and payloads that no part of the product emits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeVar

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model

from agents.events.base import EventKind
from projects.models import Event
from projects.services.audit import events

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True)
class AnyEvent(EventKind):
    """An event of any type and payload."""

    type: str  # type: ignore[misc]  # of the object here, of the class elsewhere
    _: KW_ONLY
    content: Mapping[str, Any] = field(default_factory=dict)

    def payload(self) -> dict[str, Any]:
        return dict(self.content)


def emit(
    run_id: int,
    type: str,
    *,
    actor: str = "",
    task_id: int | None = None,
    attempt: int = 0,
    key: str | None = None,
    payload: Mapping[str, Any] | None = None,
    role: str = "",
    **columns: Any,
) -> Event:
    """Write a row through the service, from its columns."""
    event = AnyEvent(type, content=payload or {}, role=role, **columns)
    return events.emit(run_id, event, actor=actor, task_id=task_id, attempt=attempt, key=key)


def run_statements(connection: BaseDatabaseWrapper, statements: list[str]) -> None:
    """Execute each statement on its own."""
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def fresh(row: Row) -> Row:
    """The row, as the database has it now."""
    row.refresh_from_db()
    return row


@contextmanager
def undone() -> Iterator[None]:
    """Take back whatever happens to the database inside: for a row of a table that wants it as it was."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
