"""Effects are announced before they happen: what was announced and has no outcome shows where a process died.

An intent is a row with `phase: "intent"`, committed before the effect. Its outcome is the row that carries the plain
key, or a row `effect.failed`. A worker that takes over announces again; then nobody knows whether the effect of the
first announcement took place, and the trail says so for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from projects.models import Event

MARK = ":intent"  # after the key of the outcome


@dataclass(frozen=True)
class Intent:
    """An announced effect without an outcome. `again`: it was announced anew later, so its own fate is unknown."""

    seq: int
    key: str
    summary: str
    again: bool = False


class IntentWatch:
    """Reads a stream from its beginning, row by row, and keeps the announcements that nothing followed."""

    def __init__(self) -> None:
        self._waiting: dict[str, Intent] = {}
        self._given_up: list[Intent] = []

    def see(self, event: Event) -> None:
        """The next row."""
        self.see_parts(event.seq, event.key or "", event.type, event.summary, event.payload)

    def see_parts(self, seq: int, key: str, type: str, summary: str, payload: Any) -> None:
        """The next row, by the columns that matter."""
        said = payload if isinstance(payload, Mapping) else {}
        if said.get("phase") == "intent":
            about = str(said.get("of") or key.partition(MARK)[0])
            if about in self._waiting:
                earlier = self._waiting[about]
                self._given_up.append(Intent(earlier.seq, earlier.key, earlier.summary, again=True))
            self._waiting[about] = Intent(seq, about, summary)
        elif type == "effect.failed":
            self._waiting.pop(str(said.get("of")), None)
        else:
            self._waiting.pop(key, None)

    def left(self) -> tuple[Intent, ...]:
        """Announcements without an outcome, oldest first."""
        return tuple(sorted([*self._given_up, *self._waiting.values()], key=lambda intent: intent.seq))


def open_intents(run_id: int) -> tuple[Intent, ...]:
    """Announced effects of a run that have no outcome: under way now, or cut short."""
    watch = IntentWatch()
    rows = Event.objects.filter(run_id=run_id, key__isnull=False).order_by("seq")
    for row in rows.values_list("seq", "key", "type", "summary", "payload").iterator(chunk_size=1000):
        watch.see_parts(*row)  # type: ignore[arg-type]
    return watch.left()
