"""The trail of what belongs to no run: who signed in, who got which role, which setting, token or key was changed.

The same chain as a run's stream, one for the whole installation, in a table that is only ever inserted into.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from agents.secrets.redaction import redact
from projects.models import SiteEvent
from projects.services.audit.canonical import GENESIS, clean_json, clean_line
from projects.services.audit.hashing import event_hash

PLACE = 0x61697377  # which advisory lock of PostgreSQL stands for "the end of the site's trail"


def note(
    actor: Any, action: str, subject: str = "", detail: Mapping[str, Any] | None = None, *, outcome: str = "ok"
) -> SiteEvent:
    """Add one row to the site's trail.

    `actor` is a user, or a name such as "command line"; None is nobody known. Secrets are taken out before anything is
    hashed or stored. Call it in the transaction of what it records: both are kept, or neither.
    """
    name = actor.get_username() if hasattr(actor, "get_username") else str(actor or "")
    clean_detail = clean_json(redact(clean_json(dict(detail or {}))))
    clean_subject = clean_line(str(redact(str(subject))), 200)
    with transaction.atomic():
        _hold_the_end()
        last = SiteEvent.objects.order_by("-seq").values_list("seq", "hash").first() or (0, GENESIS)
        row = SiteEvent(
            seq=last[0] + 1,
            at=timezone.now(),
            actor=clean_line(name, 120),
            action=clean_line(action, 60),
            subject=clean_subject,
            outcome=clean_line(outcome, 20),
            detail=clean_detail,
            prev_hash=last[1],
        )
        row.hash = event_hash(row)
        row.save(force_insert=True)
    return row


def _hold_the_end() -> None:
    """One writer at a time. SQLite's transactions begin IMMEDIATE and hold the whole database already."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [PLACE])
