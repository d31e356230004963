"""What one trial is shown of a memory, and what it learns: kept back until its outcome is written down.

The outcome carries the lessons, so a session that was interrupted can give them to the memory again. A trial that did
not come to its end has taught nothing, and is not helped by itself when it is played again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from agents.memory.base import MANY, Lesson, LessonStore, Near, Showing, Track


class Notebook:
    """Implements agents.memory.base.LessonStore for one trial; reads from `store`, writes to itself."""

    def __init__(self, store: LessonStore) -> None:
        self._store = store
        self._learned: dict[str, Lesson] = {}
        self._showings: dict[tuple[str, str], Showing] = {}
        self.problem = store.problem

    @property
    def learned(self) -> list[dict[str, Any]]:
        """The lessons of this trial, as plain data."""
        return [lesson.to_json() for lesson in self._learned.values()]

    @property
    def showings(self) -> list[dict[str, Any]]:
        """Which lessons its tries were shown and whether these passed, as plain data."""
        return [asdict(showing) for showing in self._showings.values()]

    def add(self, lesson: Lesson) -> None:
        """Keep it for later; the same one twice is one."""
        self._learned.setdefault(lesson.id, lesson)

    def by_signature(self, signature: str, limit: int = MANY) -> list[Lesson]:
        """The store's."""
        return self._store.by_signature(signature, limit)

    def similar(self, text: str, limit: int = MANY) -> list[Near]:
        """The store's."""
        return self._store.similar(text, limit)

    def record(self, showings: Sequence[Showing]) -> None:
        """Keep them for later; the first word on a lesson in an attempt stands."""
        for showing in showings:
            self._showings.setdefault((showing.lesson, showing.attempt), showing)

    def tracks(self, ids: Sequence[str]) -> Mapping[str, Track]:
        """The store's, and what this trial has shown since."""
        found = dict(self._store.tracks(ids))
        for showing in self._showings.values():
            if showing.lesson in ids:
                old = found.get(showing.lesson, Track())
                helped_at = max(old.helped_at, showing.at if showing.passed else 0.0)
                found[showing.lesson] = Track(old.shown + 1, old.helped + showing.passed, helped_at)
        return found

    def all(self) -> list[Lesson]:
        """The store's."""
        return self._store.all()

    def switch(self, id: str, *, by: str, why: str = "") -> bool:
        """A trial switches nothing off."""
        return False

    def forget(self, projects: Collection[str]) -> None:
        """A trial deletes nothing."""


def remember(store: LessonStore, learned: Iterable[Mapping[str, Any]], showings: Iterable[Mapping[str, Any]]) -> None:
    """Give a memory what a trial's outcome carries; twice is as good as once."""
    known = Lesson.__dataclass_fields__
    for row in learned:
        store.add(Lesson(**{name: row[name] for name in known if name in row}))
    store.record([Showing(**{name: row[name] for name in Showing.__dataclass_fields__}) for row in showings])
