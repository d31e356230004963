"""Recording an effect before it happens, and that it did not complete; see projects.services.audit.intents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agents.events.effects import Announcement, EffectFailed
from projects.models import Event
from projects.services.audit.events import emit
from projects.services.audit.intents import FAILED, MARK


def announce_effect(run_id: int, event: Announcement, *, key: str, **where: Any) -> Event | None:
    """Record that an effect is about to happen; None when its outcome, the row with `key`, is on record already.

    Call it in a transaction of its own that is committed before the effect begins. `where` is passed on to emit().
    """
    if Event.objects.filter(run_id=run_id, key=key).exists():
        return None
    earlier = _announced(run_id, key)
    number = sum(1 for name in earlier if not name.endswith(FAILED)) + 1
    again = bool(earlier) and not earlier[-1].endswith(FAILED)
    unknown = " (again: the outcome of the last try is unknown)" * again
    event = replace(event, summary=event.summary + unknown, outcome="intent", phase="intent", of=key, again=again)
    return emit(run_id, event, key=f"{key}{MARK}{f'/{number:03}' if number > 1 else ''}", **where)


def effect_failed(run_id: int, event: EffectFailed, **where: Any) -> Event | None:
    """Record that the last announced effect with the key `event.of` did not complete; None when none was announced."""
    earlier = _announced(run_id, event.of)
    if not earlier or earlier[-1].endswith(FAILED):
        return None
    return emit(run_id, event, key=earlier[-1] + FAILED, **where)


def _announced(run_id: int, key: str) -> list[str]:
    """Keys of the announcements of an effect and of their failures, in order.

    A range, so that the index is used; looked at again, because databases do not agree on what lies in a range of text.
    """
    rows = Event.objects.filter(run_id=run_id, key__gte=key + MARK, key__lt=key + MARK[:-1] + "u")
    return [
        name for name in map(str, rows.order_by("seq").values_list("key", flat=True)) if name.startswith(key + MARK)
    ]
