"""The event log kept in memory: a trial needs no database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agents.events.base import EventKind
from agents.events.effects import Announcement, EffectFailed
from agents.events.log import EventPosition, Spent
from agents.events.reasoning import Thought


class MemoryEventLog:
    """Implements agents.events.log.EventLog with a list; `budget_used` is what the task has used, sent and written."""

    def __init__(self, budget_used: Callable[[], int] = int) -> None:
        self.events: list[EventKind] = []
        self._used = budget_used
        self._keys: dict[str, int] = {}

    def emit(self, event: EventKind, *, attempt: int = 0, key: str | None = None) -> EventPosition:
        """Keep the event; the same key twice keeps one."""
        if key is None or key not in self._keys:
            self.events.append(event)
        seq = len(self.events) if key is None else self._keys.setdefault(key, len(self.events))
        return EventPosition(seq, "0" * 64)

    def announce(self, event: Announcement, *, key: str, attempt: int = 0) -> None:
        """Keep the announcement of an effect."""
        self.emit(event, key=f"{key}:intent")

    def failed(self, event: EffectFailed, *, attempt: int = 0) -> None:
        """An effect that failed shows in the trial's outcome."""

    def remembered(self, key: str) -> tuple[str, bool] | None:
        """The reply kept under this key."""
        found = self.events[self._keys[key] - 1] if key in self._keys else None
        return (str(found.blobs["output"]), False) if isinstance(found, Thought) else None

    def delta(self, **_: Any) -> None:
        """Nobody watches."""

    def spent(self) -> Spent:
        """Tokens of this task, for its budget."""
        used = self._used()
        return Spent(task_tokens=used, run_tokens=used)

    def head(self) -> EventPosition:
        """The newest event."""
        return EventPosition(len(self.events), "0" * 64)

    def rest(self) -> None:
        pass

    def stopped(self) -> bool:
        """Never: a trial ends by itself."""
        return False
