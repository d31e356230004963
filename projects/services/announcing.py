"""Writing an effect down before it happens, and that it did not come to its end; see projects.services.intents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from projects.models import Event
from projects.services.events import emit
from projects.services.intents import FAILED, MARK


def announce_effect(
    run_id: int,
    effect: str,
    *,
    key: str,
    summary: str,
    type: str = "effect.intent",
    payload: Mapping[str, Any] | None = None,
    **who: Any,
) -> Event | None:
    """Write down that `effect` is about to happen; None when its outcome is on record already.

    Call it in a transaction of its own that is committed before the effect begins. `who` is passed on to emit().
    """
    if Event.objects.filter(run_id=run_id, key=key).exists():
        return None
    earlier = _announced(run_id, key)
    number = sum(1 for name in earlier if not name.endswith(FAILED)) + 1
    settled = not earlier or earlier[-1].endswith(FAILED)
    said: dict[str, Any] = {**(payload or {}), "phase": "intent", "effect": effect, "of": key}
    if not settled:
        said["again"] = True
        summary = f"{summary} (again: how the last try ended is not known)"
    return emit(
        run_id, type, summary=summary, outcome="intent", payload=said, key=f"{key}{MARK}{f'/{number:03}' if number > 1 else ''}", **who
    )  # fmt: skip


def effect_failed(run_id: int, *, key: str, words: str, **who: Any) -> Event | None:
    """Write down that the last announced effect of this key did not come to its end; None when none was announced."""
    earlier = _announced(run_id, key)
    if not earlier or earlier[-1].endswith(FAILED):
        return None
    return emit(
        run_id, "effect.failed", summary=words, outcome="fail", payload={"of": key, "message": words}, key=earlier[-1] + FAILED, **who
    )  # fmt: skip


def _announced(run_id: int, key: str) -> list[str]:
    """Keys of the announcements of an effect and of their failures, in order.

    A range, so that the index is used; looked at again, because databases do not agree on what lies in a range of text.
    """
    rows = Event.objects.filter(run_id=run_id, key__gte=key + MARK, key__lt=key + MARK[:-1] + "u")
    return [
        name for name in map(str, rows.order_by("seq").values_list("key", flat=True)) if name.startswith(key + MARK)
    ]
