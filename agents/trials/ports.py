"""The engine's ports kept in memory: a trial needs no database, and every word that was sent is counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agents.ports import Answer, Mark, Spent


class MemorySpine:
    """Implements agents.ports.Spine with a list; `tokens` is what the task has used, sent and written."""

    def __init__(self, budget_used: Callable[[], int] = int) -> None:
        self.events: list[tuple[str, str, Mapping[str, Any]]] = []
        self._used = budget_used
        self._keys: dict[str, tuple[Mark, str | None]] = {}

    def emit(
        self,
        type: str,
        *,
        summary: str,
        key: str | None = None,
        payload: Mapping[str, Any] | None = None,
        blobs: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> Mark:
        """Keep the event; the same key twice keeps one."""
        if key is not None and key in self._keys:
            return self._keys[key][0]
        self.events.append((type, summary, payload or {}))
        mark = Mark(len(self.events), "0" * 64)
        if key is not None:
            output = (blobs or {}).get("output") if type == "thought" else None
            self._keys[key] = (mark, output)
        return mark

    def intend(self, effect: str, *, key: str, summary: str, type: str = "effect.intent", **_: Any) -> None:
        """Keep the announcement of an effect."""
        self.emit(type, summary=summary, key=f"{key}:intent")

    def failed(self, **_: Any) -> None:
        """An effect that failed shows in the trial's outcome."""

    def remembered(self, key: str) -> tuple[str, bool] | None:
        """The reply kept under this key."""
        found = self._keys.get(key)
        return None if found is None or found[1] is None else (found[1], False)

    def delta(self, **_: Any) -> None:
        """Nobody watches."""

    def usage(self, **_: Any) -> None:
        """The player counts what passes the provider."""

    def spent(self) -> Spent:
        """Tokens of this task, for its budget."""
        used = self._used()
        return Spent(task_tokens=used, run_tokens=used)

    def head(self) -> Mark:
        """The newest event."""
        return Mark(len(self.events), "0" * 64)

    def stopped(self) -> bool:
        """Never: a trial ends by itself."""
        return False


class MemoryBook:
    """Implements agents.ports.TaskBook; keeps what became of each attempt."""

    def __init__(self) -> None:
        self.outcomes: list[str] = []

    def start_attempt(self, number: int, strategy: str, diagnosis: Mapping[str, str] | None) -> None:
        """Not kept."""

    def finish_attempt(self, number: int, outcome: str, **fields: Any) -> None:
        """Keep how it ended."""
        self.outcomes.append(outcome)

    def judge_diagnosis(self, number: int, outcome: str) -> None:
        """Not kept."""

    def record_findings(self, report: Any, attempt: int) -> None:
        """Not kept: a blocked gate shows in the outcome."""

    def dispositions(self) -> Mapping[str, Any]:
        """None."""
        return {}

    def words(self) -> Sequence[str]:
        """Nobody said anything."""
        return []

    def ask(self, **_: Any) -> Answer:
        """Nobody is there to answer: what needs a person is refused."""
        return "rejected"

    def merge_turn(self, held: Callable[[], None]) -> None:
        """Nobody else merges."""
        held()
