"""The link of the chain: what an event's hash covers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from projects.models import Event, SiteEvent
from projects.services.audit.canonical import iso, link

# Everything but the row's own number and the hash itself: a column added later is covered without anybody remembering.
COLUMNS = tuple(field.attname for field in Event._meta.concrete_fields if field.name not in ("id", "hash"))
SITE_COLUMNS = tuple(field.attname for field in SiteEvent._meta.concrete_fields if field.name not in ("id", "hash"))


def event_columns(event: Event | SiteEvent) -> dict[str, Any]:
    """The hashed columns as plain JSON data; times as UTC with microseconds."""
    values = {name: getattr(event, name) for name in (COLUMNS if isinstance(event, Event) else SITE_COLUMNS)}
    return {name: iso(value) if isinstance(value, datetime) else value for name, value in values.items()}


def event_hash(event: Event | SiteEvent) -> str:
    """sha256 over the previous hash and the canonical JSON of the columns."""
    return link(event.prev_hash, event_columns(event))
