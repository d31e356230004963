"""Which lessons are worth a place in the prompt: the very same failure first, then what is like it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from agents.memory.base import Lesson, LessonStore, Track
from agents.memory.weighing import SHOWN_FROM, weight

SHOWN = 3  # a small model follows few hints


@dataclass(frozen=True)
class FoundLesson:
    """A lesson with why it was chosen."""

    lesson: Lesson
    by: str  # signature, vectors or words
    similarity: float
    weight: float
    track: Track

    def to_json(self) -> dict[str, Any]:
        """Plain data, for the event and the state."""
        return self.lesson.to_json() | {
            "by": self.by,
            "similarity": round(self.similarity, 3),
            "weight": round(self.weight, 3),
            "shown": self.track.shown,
            "helped": self.track.helped,
        }


def find_lessons(
    store: LessonStore,
    *,
    project: str,
    signature: str = "",
    text: str = "",
    across: bool = False,
    limit: int = SHOWN,
    now: float | None = None,
) -> list[FoundLesson]:
    """Lessons for a failure or a task, best first. What worked for a like task is for tasks alone, and at most one.

    Those a person switched off are left out, those that did not help or are too old, and, unless `across`, those of
    other projects.
    """
    moment = time.time() if now is None else now
    candidates: dict[str, tuple[Lesson, str, float]] = {}
    for lesson in store.by_signature(signature) if signature else []:
        candidates[lesson.id] = (lesson, "signature", 1.0)
    for near in store.similar(text) if text.strip() else []:
        candidates.setdefault(near.lesson.id, (near.lesson, near.by, near.similarity))
    allowed = {
        id: row for id, row in candidates.items() if not row[0].disabled_by and (across or row[0].project == project)
    }
    tracks = store.tracks(sorted(allowed)) if allowed else {}
    found = [
        FoundLesson(lesson, by, similarity, weight(lesson, tracks.get(id, Track()), moment), tracks.get(id, Track()))
        for id, (lesson, by, similarity) in allowed.items()
    ]
    worth = [one for one in found if one.weight >= SHOWN_FROM]
    worth.sort(key=lambda one: (one.by != "signature", -one.similarity * one.weight, one.lesson.id))
    successes = [] if signature else [one for one in worth if one.lesson.worked][:1]
    return ([one for one in worth if not one.lesson.worked][: limit - len(successes)] + successes)[:limit]
