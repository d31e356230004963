"""Effects are announced before they happen: what was announced and has no outcome shows where a process died.

An intent is a row with `phase: "intent"`, committed before the effect. Its outcome is the row that carries the plain
key, or a row `effect.failed`. A worker that takes over announces again; then nobody knows whether the effect of the
first announcement took place, and the trail says so for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agents.events.effects import Announcement, EffectFailed
from projects.models import Event
from projects.services.audit.events import emit

MARK = ":intent"  # after the key of the outcome; with a number from the second announcement on
FAILED = ":failed"  # after the key of an announcement


@dataclass(frozen=True)
class Intent:
    """An announced effect without an outcome. `again`: it was announced anew later, so its own fate is unknown."""

    seq: int
    key: str
    summary: str
    again: bool = False


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


class IntentWatch:
    """Reads a stream from its beginning, row by row, and keeps the announcements that nothing followed."""

    def __init__(self) -> None:
        self._waiting: dict[str, Intent] = {}
        self._given_up: list[Intent] = []

    def see(self, event: Event) -> None:
        """The next row."""
        said = event.payload if isinstance(event.payload, Mapping) else {}
        if said.get("phase") == "intent":
            about = str(said.get("of"))
            if about in self._waiting:
                earlier = self._waiting[about]
                self._given_up.append(Intent(earlier.seq, earlier.key, earlier.summary, again=True))
            self._waiting[about] = Intent(event.seq, about, event.summary)
        elif event.type == EffectFailed.type:
            self._waiting.pop(str(said.get("of")), None)
        else:
            self._waiting.pop(event.key or "", None)

    def left(self) -> tuple[Intent, ...]:
        """Announcements without an outcome, oldest first."""
        return tuple(sorted([*self._given_up, *self._waiting.values()], key=lambda intent: intent.seq))


def in_doubt(run_id: int, rows: Iterable[Event]) -> set[int]:
    """Which of these rows of a run announce an effect that has no outcome, by their numbers; one query."""
    announced = [
        row for row in rows if row.key and isinstance(row.payload, dict) and row.payload.get("phase") == "intent"
    ]
    wanted = {name for row in announced for name in (_about(row), f"{row.key}{FAILED}", _next(str(row.key)))}
    there = set(Event.objects.filter(run_id=run_id, key__in=wanted).values_list("key", flat=True)) if wanted else set()
    return {
        row.seq
        for row in announced
        if f"{row.key}{FAILED}" not in there and (_next(str(row.key)) in there or _about(row) not in there)
    }


def _about(row: Event) -> str:
    return str(row.payload.get("of"))


def _next(key: str) -> str:
    """The key that the next announcement of the same effect has."""
    about, _, number = key.partition(MARK)
    return f"{about}{MARK}/{int(number.strip('/') or 1) + 1:03}" if number.strip("/").isdecimal() or not number else key
