"""Lessons in an embedded Chroma: every process but the owner of its folder remembers nothing and says so."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from agents.memory.base import MANY, Lesson, Near, Showing, Track
from agents.memory.embedding import EMBEDDER, embed
from agents.memory.folder import ChromaFolder
from agents.memory.meaning import LessonMeaning
from agents.memory.rows import cleaned, lesson_of, plain
from agents.memory.words import likeness
from agents.secrets.redaction import redact

THRESHOLD = 0.65  # similarity; ACA-3 asks for 0.6 to 0.7
PORTION = 500  # names in one question to Chroma
COMPARED = 2_000  # lessons whose words are compared with a question

T = TypeVar("T")


class ChromaLessons:
    """A LessonStore on Chroma; the collection is named after the embedder, because spaces must not be mixed."""

    def __init__(
        self,
        folder: Path,
        threshold: float = THRESHOLD,
        meaning: LessonMeaning | None = None,
        embedding: str = "",
    ) -> None:
        self.folder = ChromaFolder(folder, embedding)
        self._threshold, self._meaning = threshold, meaning
        self._loading = threading.Lock()
        self._writing = threading.Lock()  # reading a row and writing it anew is one step
        self._collection: Any = None
        self._showings: Any = None
        # All rows, because nobody else writes them: Chroma takes 0.1 s to hand over 400.
        self._known: dict[str, Lesson] = {}
        self._unreadable = 0

    @property
    def problem(self) -> str:
        """Why nothing is remembered; "" while it is."""
        return self.folder.problem

    def _open(self) -> Any:
        with self._loading:
            if self._collection is None:
                self._collection = self.folder.attempt(self._load, None)
            return None if self.problem else self._collection

    def _load(self, client: Any) -> Any:
        self._showings = client.get_or_create_collection("showings", embedding_function=None)
        collection = client.get_or_create_collection(
            f"lessons.{EMBEDDER}", embedding_function=None, metadata={"hnsw:space": "cosine"}
        )
        rows = collection.get(include=["metadatas"])["metadatas"] or []
        read = [lesson_of(row) for row in rows]
        self._known = {lesson.id: lesson for lesson in read if lesson is not None}
        self._unreadable = len(read) - len(self._known)
        return collection

    def _try(self, action: Callable[[Any], T], otherwise: T) -> T:
        """Do something with the collection; `otherwise` while there is none, and from the first failure on."""
        collection = self._open()
        return otherwise if collection is None else self.folder.attempt(lambda _: action(collection), otherwise)

    def add(self, lesson: Lesson) -> None:
        """Keep a lesson, redacted; one that was known keeps its origin and whether a person switched it off.

        Raises ValueError for a lesson without an id.
        """
        if not lesson.id.strip():
            raise ValueError("a lesson needs an id")
        self._try(lambda collection: self._add(collection, cleaned(lesson)), None)

    def _add(self, collection: Any, lesson: Lesson) -> None:
        with self._writing:
            known = self._known.get(lesson.id)
            if known is not None:
                # A diagnosis that was confirmed says the same as one that was inferred, and knows it better.
                fix = lesson.fix if known.inferred and not lesson.inferred else known.fix
                lesson = replace(
                    known,
                    fix=fix,
                    inferred=known.inferred and lesson.inferred,
                    reward=max(known.reward, lesson.reward),
                    learned_at=max(known.learned_at, lesson.learned_at),
                )
            self._write(collection, lesson)

    def _write(self, collection: Any, lesson: Lesson) -> None:
        collection.upsert(
            ids=[lesson.id], documents=[lesson.text], metadatas=[lesson.to_json()], embeddings=embed([lesson.text])
        )
        self._known = {**self._known, lesson.id: lesson}  # anew, because others may be going through the old one

    def by_signature(self, signature: str, limit: int = MANY) -> list[Lesson]:
        """Lessons from the very same failure, best reward first."""
        if not signature or self._open() is None:
            return []
        lessons = [lesson for lesson in self._known.values() if lesson.signature == signature]
        return sorted(lessons, key=lambda lesson: (-lesson.reward, lesson.id))[:limit]

    def similar(self, text: str, limit: int = MANY) -> list[Near]:
        """Lessons similar to the text, by the best available measure.

        Embedding model, hashed vectors, or weighted words.
        """
        return self._try(lambda collection: self._similar(collection, plain(text), limit), []) if text.strip() else []

    def _similar(self, collection: Any, text: str, limit: int) -> list[Near]:
        many = collection.count()
        if not many:
            return []
        found = collection.query(query_embeddings=embed([text]), n_results=min(MANY, many), include=["distances"])
        by_id, best = self._known, dict[str, Near]()
        for name, distance in zip(found["ids"][0], found["distances"][0], strict=True):
            if name in by_id:
                best[name] = Near(by_id[name], 1.0 - distance)
        lessons = sorted(by_id.values(), key=lambda one: -one.learned_at)[:COMPARED]
        for texts in ([one.failure for one in lessons], [one.topic for one in lessons], [one.text for one in lessons]):
            for lesson, like in zip(lessons, likeness(text, texts), strict=True):
                if lesson.id not in best or like > best[lesson.id].similarity:
                    best[lesson.id] = Near(lesson, like, "words")
        if self._meaning is not None:
            for name, like in self._meaning.near(self.folder.client(), lessons, text).items():
                if name in by_id and (name not in best or like > best[name].similarity):
                    best[name] = Near(by_id[name], like, "meaning")
        near = [one for one in best.values() if one.similarity >= self._threshold]
        return sorted(near, key=lambda one: (-one.similarity, -one.lesson.reward, one.lesson.id))[:limit]

    def record(self, showings: Sequence[Showing]) -> None:
        """Keep what came of showing lessons; the first word on a lesson in an attempt stands."""
        self._try(lambda _: self._record(showings), None)

    def _record(self, showings: Sequence[Showing]) -> None:
        for showing in showings:
            row = {
                "lesson": plain(showing.lesson),
                "attempt": plain(showing.attempt),
                "passed": showing.passed,
                "at": showing.at if math.isfinite(showing.at) else 0.0,
            }
            name = f"{row['lesson']}|{row['attempt']}"
            with self._writing:
                if not self._showings.get(ids=[name], include=[])["ids"]:
                    # Chroma wants a vector with every row; nobody asks for likeness here.
                    self._showings.add(ids=[name], metadatas=[row], embeddings=[[1.0]])

    def tracks(self, ids: Sequence[str]) -> Mapping[str, Track]:
        """The track record of these lessons."""
        return self._try(lambda _: self._tracks([plain(id) for id in ids]), {}) if ids else {}

    def _tracks(self, ids: list[str]) -> dict[str, Track]:
        rows = self._showings.get(where={"lesson": {"$in": ids}}, include=["metadatas"])["metadatas"] or []
        tracks: dict[str, Track] = {}
        for row in rows:
            old, passed = tracks.get(row["lesson"], Track()), bool(row["passed"])
            tracks[row["lesson"]] = Track(
                old.shown + 1, old.helped + passed, max(old.helped_at, float(row["at"]) if passed else 0.0)
            )
        return tracks

    def all(self) -> list[Lesson]:
        """Every lesson, newest first."""
        if self._open() is None:
            return []
        return sorted(self._known.values(), key=lambda lesson: (-lesson.learned_at, lesson.id))

    def switch(self, id: str, *, by: str, why: str = "") -> bool:
        """Switch a lesson off, or on again; it is kept either way."""

        def turn(collection: Any) -> bool:
            with self._writing:
                known = self._known.get(id)
                if known is not None:
                    self._write(
                        collection, replace(known, disabled_by=plain(by)[:150], disabled_why=plain(redact(why))[:300])
                    )
                return known is not None

        return self._try(turn, False)

    def forget(self, projects: Collection[str]) -> None:
        """Delete what was learned in these projects, from the files too, with the counts and vectors of it."""
        if any(lesson.project in projects for lesson in self.all()):
            self.folder.attempt(lambda client: self._forget(client, sorted(projects)), None)

    def _forget(self, client: Any, projects: list[str]) -> None:
        with self._writing:
            gone = [lesson.id for lesson in self._known.values() if lesson.project in projects]
            # Lessons last: what was cut short is done again while there are some.
            for collection in sorted(client.list_collections(), key=lambda one: one.name.startswith("lessons.")):
                for start in range(0, len(gone), PORTION):
                    collection.delete(where={"lesson": {"$in": gone[start : start + PORTION]}})
                collection.delete(where={"project": {"$in": projects}})
            self._known = {name: lesson for name, lesson in self._known.items() if lesson.project not in projects}
            self.folder.scrub("UPDATE embeddings_queue SET metadata = NULL WHERE id = ?", gone)

    @property
    def hint(self) -> str:
        """What makes it weaker than it could be, in words; "" when nothing does."""
        if self._unreadable:
            return f"{self._unreadable} lessons of the memory cannot be read and are left out."
        return self._meaning.problem if self._meaning is not None else ""

    def close(self) -> None:
        """Give the directory back."""
        with self._loading:
            self._collection = self._showings = None
            self._known = {}
            if self._meaning is not None:
                self._meaning.close()
            self.folder.close()
