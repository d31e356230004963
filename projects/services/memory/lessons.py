"""What the agents learned, as people see it: where each lesson is from, what came of it, and its off switch."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from django.conf import settings
from django.db import transaction

from agents.context.vectors import forget_projects
from agents.llm.registry import DEFAULT_PROVIDER
from agents.memory.base import Lesson, Track
from agents.memory.chroma import ChromaLessons
from agents.memory.embedders import Embedder, embedder_of, embedding_in
from agents.memory.meaning import meaning_of
from agents.memory.weighing import chance, state_of, weight
from projects.errors import BadInput, IllegalMove
from projects.models import Project, Run, SiteEvent
from projects.services.accounts import rights
from projects.services.accounts.rights import Person
from projects.services.audit.chain import DELETED
from projects.services.audit.sitelog import note

MOST = 200  # rows of the page
VERB = "run.control"  # whoever controls runs also decides what their prompts contain


@cache
def store() -> ChromaLessons:
    """The memory of this process: the one in AISWE_HOME, if no other process has it."""
    return ChromaLessons(_folder(), settings.LESSON_THRESHOLD, meaning_of(embedder()), embedding())


def embedding() -> str:
    """The embedding in use: what the settings name, else the one that the memory began with."""
    return embedding_in(_folder(), settings.EMBEDDING)


def embedder() -> Embedder:
    """What makes the vectors."""
    return embedder_of(embedding(), settings.MODEL_URLS[DEFAULT_PROVIDER])


def _folder() -> Path:
    return Path(settings.AISWE_HOME) / "chroma"


def _all() -> list[Lesson]:
    """Every lesson; reading does not create a memory that was never used."""
    return store().all() if not trouble() and _folder().exists() else []


@dataclass(frozen=True)
class LessonRow:
    """One lesson with its project, its origin as far as that still exists, and what it is worth now."""

    lesson: Lesson
    project: Project
    run: int | None
    track: Track
    state: str  # active, disabled, sunk, expired
    weight: float
    chance: float

    @property
    def learned_at(self) -> datetime | None:
        """When, if that is known."""
        return datetime.fromtimestamp(self.lesson.learned_at, UTC) if self.lesson.learned_at else None


def trouble() -> str:
    """Why the lessons cannot be read here; "" when they can."""
    if settings.REDIS_URL:
        # The folder has one owner. If a page took it, the workers would remember nothing.
        return (
            "The workers own the memory, and pages run in another process here: lessons are in the audit trail of runs."
        )
    return store().problem


def hint() -> str:
    """What makes the memory weaker than it could be; "" when nothing does."""
    return "" if trouble() else store().hint


def lessons_for(user: Person, *, state: str = "") -> list[LessonRow]:
    """Lessons of the user's projects, newest first, at most MOST; with `state` only those in it."""
    found = {project.slug: project for project in Project.objects.visible_to(user)}
    rows = _rows([lesson for lesson in _all() if lesson.project in found], found)
    return [row for row in rows if state in ("", row.state)][:MOST]


def _rows(lessons: list[Lesson], projects: dict[str, Project]) -> Iterable[LessonRow]:
    tracks, now = store().tracks([lesson.id for lesson in lessons]), time.time()
    runs = {int(lesson.run) for lesson in lessons if lesson.run.isdecimal() and len(lesson.run) < 19}
    there = dict(Run.objects.filter(pk__in=runs).values_list("pk", "project_id"))
    for lesson in lessons:
        track, project = tracks.get(lesson.id, Track()), projects[lesson.project]
        run = int(lesson.run) if lesson.run.isdecimal() and len(lesson.run) < 19 else 0
        yield LessonRow(
            lesson,
            project,
            run if there.get(run) == project.pk else None,
            track,
            state_of(lesson, track, now),
            weight(lesson, track, now),
            chance(track, inferred=lesson.inferred),
        )


def find_lesson(user: Person, id: str) -> Lesson | None:
    """A lesson of one of the user's projects; others' do not exist for them."""
    slugs = set(Project.objects.visible_to(user).values_list("slug", flat=True))
    return next((lesson for lesson in _all() if lesson.id == id and lesson.project in slugs), None)


def forget_deleted() -> None:
    """Delete what is known of deleted projects, if this process has the memory; else the sweep of its owner does."""
    deleted = set(SiteEvent.objects.filter(action=DELETED).values_list("subject", flat=True))
    if deleted and _folder().exists():
        store().forget(deleted)
        forget_projects(store().folder, deleted)


def switch_lesson(lesson: Lesson, *, by: Person, off: bool, why: str = "") -> None:
    """Take a lesson out of the prompts, or put it back; it is kept, with who did it, and the site's trail has a row.

    Raises NotAllowed, BadInput without a reason for switching off, and IllegalMove when it is so already.
    """
    rights.require(by, Project.objects.get(slug=lesson.project), VERB)
    why = why.strip()
    if off and not why:
        raise BadInput("Give a reason for switching the lesson off; it is kept with the lesson.")
    if bool(lesson.disabled_by) is off:
        raise IllegalMove(f"The lesson is switched {'off' if off else 'on'} already.")
    with transaction.atomic():
        note(
            by,
            "lesson.off" if off else "lesson.on",
            lesson.id,
            {"project": lesson.project, "run": lesson.run, "task": lesson.task, "cause": lesson.cause, "why": why},
        )
        if not store().switch(lesson.id, by=by.get_username() if off else "", why=why):
            raise IllegalMove("The lesson no longer exists.")
