"""Writing and reading the event_log: one append-only, gapless, hash-chained stream of events per run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from agents.events.base import EventKind
from agents.secrets.redaction import redact
from projects.errors import BadInput
from projects.models import Blob, Event
from projects.services.audit.canonical import GENESIS, clean_json, clean_line, clean_text
from projects.services.audit.hashing import event_hash
from projects.services.audit.notifications import announce

MAX_SUMMARY = 400
MAX_BLOB = 4_000_000  # characters; of longer content the beginning and the end are kept
MAX_NUMBER = 2_147_483_647

READ_HEAD = "SELECT last_seq, head_hash FROM projects_run WHERE id = %s"
READ_AND_HOLD = READ_HEAD + " FOR NO KEY UPDATE"

BlobInput = Mapping[str, str | Sequence[str]]


def emit(
    run_id: int,
    given: EventKind,
    *,
    actor: str = "",
    task_id: int | None = None,
    attempt: int = 0,
    key: str | None = None,
    at: datetime | None = None,
) -> Event:
    """Add one event to a run's stream and notify its viewers after the commit.

    Secrets are taken out of summary, payload and blobs before anything is hashed or stored. With a `key`, a second
    call returns the first row unchanged. Of the event's blobs ({"prompt": [text, …], "output": text}) the row keeps
    sha256s. `at` is the time of what it reports, read while the run is held; now when it is left out. Raises BadInput
    when there is no such run.
    """
    # Redaction and cleaning before the lock: other writers of the run need not wait for them.
    clean_payload = clean_json(redact(clean_json(given.payload())))
    clean_summary = clean_line(str(redact(given.summary)), MAX_SUMMARY)
    contents, references = _prepare_blobs(given.blobs)
    stored_key = _fit_key(key)
    with transaction.atomic():
        last_seq, head_hash = _lock_head(run_id)
        if stored_key is not None:
            earlier = Event.objects.filter(run_id=run_id, key=stored_key).first()
            if earlier is not None:
                return earlier
        if contents:
            Blob.objects.bulk_create(
                [Blob(sha256=name, content=text) for name, text in contents.items()], ignore_conflicts=True
            )
        event = Event(
            run_id=run_id,
            seq=last_seq + 1,
            at=at or timezone.now(),
            type=clean_line(given.type, 40),
            role=clean_line(given.role, 20),
            actor=clean_line(actor, 120),
            task_id=task_id,
            attempt=_fit_number(attempt),
            summary=clean_summary,
            payload=clean_payload,
            blobs=references,
            outcome=clean_line(given.outcome, 20),
            error_signature=clean_line(given.error_signature, 64),
            tokens=_fit_number(given.tokens),
            duration_ms=_fit_number(given.duration_ms),
            key=stored_key,
            prev_hash=head_hash or GENESIS,
        )
        event.hash = event_hash(event)
        event.save(force_insert=True)
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE projects_run SET last_seq = %s, head_hash = %s WHERE id = %s", [event.seq, event.hash, run_id]
            )
        transaction.on_commit(partial(announce, run_id, event.seq))
    return event


def _lock_head(run_id: int) -> tuple[int, str]:
    """The run's last place and hash, its row held as lock_run() holds it.

    Plain SQL: building the statement and the model took half of an event's time.
    """
    with connection.cursor() as cursor:
        cursor.execute(READ_AND_HOLD if connection.features.has_select_for_update else READ_HEAD, [run_id])
        row = cursor.fetchone()
    if row is None:
        raise BadInput(f"There is no run {run_id}.")
    return int(row[0]), str(row[1])


def _prepare_blobs(blobs: BlobInput) -> tuple[dict[str, str], dict[str, Any]]:
    """Texts by their sha256, and the same shape with sha256s in place of texts."""
    contents: dict[str, str] = {}

    def keep(text: str) -> str:
        safe = clean_text(str(redact(text)))
        if len(safe) > MAX_BLOB:
            half = MAX_BLOB // 2
            safe = f"{safe[:half]}\n… [{len(safe) - 2 * half} characters cut] …\n{safe[-half:]}"
        name = hashlib.sha256(safe.encode()).hexdigest()
        contents[name] = safe
        return name

    references: dict[str, Any] = {
        clean_text(name, 40): keep(value) if isinstance(value, str) else [keep(text) for text in value]
        for name, value in blobs.items()
    }
    return contents, references


def _fit_key(key: str | None) -> str | None:
    if key is None or len(key) <= 200:
        return None if key is None else clean_text(key)
    return "sha256:" + hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


def _fit_number(number: float) -> int:
    return max(0, min(int(number), MAX_NUMBER))


def event_blobs(event: Event) -> dict[str, str | list[str]]:
    """An event's texts, in the shape they were given: a prompt is a list of messages."""
    wanted: set[str] = set()
    for value in event.blobs.values():
        wanted.update([value] if isinstance(value, str) else value)
    texts = dict(Blob.objects.filter(pk__in=wanted).values_list("sha256", "content"))
    return {
        name: texts.get(value, "") if isinstance(value, str) else [texts.get(item, "") for item in value]
        for name, value in event.blobs.items()
    }


def events_after(run_id: int, seq: int, *, limit: int = 500, types: Iterable[str] | None = None) -> list[Event]:
    """At most `limit` events (never more than 2,000) after `seq`, oldest first; only of `types` when given."""
    rows = Event.objects.filter(run_id=run_id, seq__gt=seq)
    if types is not None:
        rows = rows.filter(type__in=list(types))
    return list(rows.select_related("task").order_by("seq")[: max(1, min(limit, 2_000))])
