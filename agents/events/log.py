"""The event stream of a run, as the engine writes it. projects/engine/event_log.py stores it, a trial in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from agents.events.base import EventKind
from agents.events.effects import Announcement, EffectFailed


@dataclass(frozen=True)
class EventPosition:
    """The place of an event in its stream."""

    seq: int
    hash: str


@dataclass(frozen=True)
class Spent:
    """What has been used: of the task's and of the run's budget."""

    task_tokens: int = 0
    run_tokens: int = 0
    task_seconds: float = 0.0
    run_seconds: float = 0.0


class EventLog(Protocol):
    """The stream of events of one run, as one writer sees it."""

    def emit(self, event: EventKind, *, attempt: int = 0, key: str | None = None) -> EventPosition:
        """Add an event, once per key. A ModelCalled counts against the budget. Raises Stopped for a lost lease."""
        ...

    def announce(self, event: Announcement, *, key: str, attempt: int = 0) -> None:
        """Commit a row that says what is about to happen; its outcome will be the row with this `key`."""
        ...

    def failed(self, event: EffectFailed, *, attempt: int = 0) -> None:
        """Record that the effect announced under the key `event.of` did not complete."""
        ...

    def remembered(self, key: str) -> tuple[str, bool] | None:
        """The model's reply that was already paid for under this key and whether it was cut off, if any."""
        ...

    def delta(self, *, lane: str, id: str, offset: int, text: str) -> None:
        """Show text while it is written; never stored."""
        ...

    def spent(self) -> Spent:
        """What has been used so far."""
        ...

    def head(self) -> EventPosition:
        """The newest event of the run."""
        ...

    def rest(self) -> None:
        """Raise Waiting, between two steps, while the work may not go on at this hour."""
        ...

    def stopped(self) -> bool:
        """True when the run was paused or cancelled, or the lease is gone; cheap enough to ask five times a second."""
        ...
