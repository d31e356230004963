"""The engine's ports kept in memory: what is left of a task's time when no database is behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agents.memory.base import NoLessons as NoLessons
from agents.ports import Answer, Mark, Spent


class ListSpine:
    """Implements agents.ports.Spine with a list."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []
        self._keys: dict[str, tuple[Mark, str | None]] = {}

    def emit(
        self, type: str, *, summary: str, key: str | None = None, blobs: Mapping[str, Any] | None = None, **_: Any
    ) -> Mark:
        """Keep the event; the same key twice keeps one."""
        if key is not None and key in self._keys:
            return self._keys[key][0]
        self.events.append((type, summary))
        mark = Mark(len(self.events), "0" * 64)
        if key is not None:
            output = (blobs or {}).get("output") if type == "thought" else None
            self._keys[key] = (mark, output)
        return mark

    def intend(self, effect: str, *, key: str, summary: str, type: str = "effect.intent", **_: Any) -> None:
        """Keep the announcement."""
        self.emit(type, summary=summary, key=f"{key}:intent")

    def failed(self, **_: Any) -> None:
        """Nothing fails here."""

    def remembered(self, key: str) -> tuple[str, bool] | None:
        """The reply kept under this key."""
        found = self._keys.get(key)
        return None if found is None or found[1] is None else (found[1], False)

    def delta(self, **_: Any) -> None:
        """Nobody watches."""

    def usage(self, **_: Any) -> None:
        """Nobody counts."""

    def spent(self) -> Spent:
        """Nothing."""
        return Spent()

    def head(self) -> Mark:
        """The newest event."""
        return Mark(len(self.events), "0" * 64)

    def stopped(self) -> bool:
        """Never."""
        return False


class NoBook:
    """Implements agents.ports.TaskBook without keeping anything."""

    def start_attempt(self, number: int, strategy: str, diagnosis: Mapping[str, str] | None) -> None:
        """Not kept."""

    def finish_attempt(self, number: int, outcome: str, **fields: Any) -> None:
        """Not kept."""

    def judge_diagnosis(self, number: int, outcome: str) -> None:
        """Not kept."""

    def record_findings(self, report: Any, attempt: int) -> None:
        """Not kept."""

    def dispositions(self) -> Mapping[str, Any]:
        """None."""
        return {}

    def words(self) -> Sequence[str]:
        """Nobody said anything."""
        return []

    def ask(self, **_: Any) -> Answer:
        """Nobody is there to answer."""
        return "pending"

    def merge_turn(self, held: Callable[[], None]) -> None:
        """Nobody else merges."""
        held()
