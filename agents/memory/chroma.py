"""Lessons in an embedded Chroma, owned by exactly one process.

Two processes on one directory see different records without an error (measured), so a lock file decides who owns it;
anybody else gets a store that remembers nothing and says why.
"""

from __future__ import annotations

import fcntl
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from agents.memory.base import MANY, Lesson, Near, NoLessons, Showing, Track
from agents.memory.embedding import EMBEDDER, embed
from agents.memory.meaning import Meaning
from agents.memory.words import likeness
from agents.redaction import redact

__all__ = ["THRESHOLD", "ChromaLessons", "NoLessons"]

THRESHOLD = 0.65  # similarity; ACA-3 asks for 0.6 to 0.7
COMPARED = 2_000  # lessons whose words are compared with a question


class ChromaLessons:
    """A LessonStore on Chroma; the collection is named after the embedder, because spaces must not be mixed."""

    def __init__(self, folder: Path, threshold: float = THRESHOLD, meaning: Meaning | None = None) -> None:
        self._folder, self._threshold, self._meaning = folder, threshold, meaning
        self._client: Any = None
        self._lock = threading.Lock()
        self._writing = threading.Lock()  # reading a row and writing it anew is one step
        self._collection: Any = None
        self._showings: Any = None
        # All rows, because nobody else writes them: Chroma takes 0.1 s to hand over 400.
        self._known: dict[str, Lesson] = {}
        self._owner: IO[str] | None = None
        self.problem = ""

    def _open(self) -> Any:
        with self._lock:
            if self._collection is not None or self.problem:
                return self._collection
            self._folder.mkdir(parents=True, exist_ok=True)
            handle = (self._folder / "owner.lock").open("a")
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                handle.close()
                self.problem = f"Another process owns the memory in {self._folder.name}; this one remembers nothing."
                return None
            self._owner = handle
            # Imported here: 0.6 s and 60 MB that a command which remembers nothing need not pay.
            import chromadb
            from chromadb.config import Settings

            self._client = client = chromadb.PersistentClient(
                str(self._folder), settings=Settings(anonymized_telemetry=False)
            )
            self._showings = client.get_or_create_collection("showings", embedding_function=None)
            collection = client.get_or_create_collection(
                f"lessons.{EMBEDDER}", embedding_function=None, metadata={"hnsw:space": "cosine"}
            )
            rows = collection.get(include=["metadatas"])["metadatas"] or []
            self._known = {lesson.id: lesson for lesson in map(_lesson, rows)}
            self._collection = collection
            return collection

    def add(self, lesson: Lesson) -> None:
        """Keep a lesson, redacted; one that was known keeps its origin and whether a person switched it off."""
        collection = self._open()
        if collection is None:
            return
        lesson = Lesson(**redact(lesson.to_json()))
        with self._writing:
            known = self._known.get(lesson.id)
            if known is not None:
                # A diagnosis that was confirmed says the same as one that was inferred, and knows it better.
                fix = lesson.fix if known.inferred and not lesson.inferred else known.fix
                lesson = replace(
                    known, fix=fix, inferred=known.inferred and lesson.inferred, reward=max(known.reward, lesson.reward),
                    learned_at=max(known.learned_at, lesson.learned_at),
                )  # fmt: skip
            self._write(collection, lesson)

    def _write(self, collection: Any, lesson: Lesson) -> None:
        collection.upsert(
            ids=[lesson.id], documents=[lesson.text], metadatas=[lesson.to_json()], embeddings=embed([lesson.text])
        )
        self._known = {**self._known, lesson.id: lesson}  # anew, because others may be going through the old one

    def by_signature(self, signature: str, limit: int = MANY) -> list[Lesson]:
        """Lessons from the very same failure, best reward first."""
        collection = self._open()
        if collection is None or not signature:
            return []
        lessons = [lesson for lesson in self._known.values() if lesson.signature == signature]
        return sorted(lessons, key=lambda lesson: (-lesson.reward, lesson.id))[:limit]

    def similar(self, text: str, limit: int = MANY) -> list[Near]:
        """Lessons like the text, by the nearest of the measures at hand: the embedding model's, hashed vectors, weighed words."""
        collection = self._open()
        if collection is None or not text.strip() or not collection.count():
            return []
        found = collection.query(
            query_embeddings=embed([text]), n_results=min(MANY, collection.count()), include=["distances"]
        )
        by_id, best = self._known, dict[str, Near]()
        for name, distance in zip(found["ids"][0], found["distances"][0], strict=True):
            if name in by_id:
                best[name] = Near(by_id[name], 1.0 - distance)
        lessons = sorted(by_id.values(), key=lambda one: -one.learned_at)[:COMPARED]
        for texts in (
            [one.failure for one in lessons],
            [one.topic for one in lessons],
            [one.text for one in lessons],
        ):
            for lesson, like in zip(lessons, likeness(text, texts), strict=True):
                if lesson.id not in best or like > best[lesson.id].similarity:
                    best[lesson.id] = Near(lesson, like, "words")
        if self._meaning is not None:
            for name, like in self._meaning.near(self._client, lessons, text).items():
                if name in by_id and (name not in best or like > best[name].similarity):
                    best[name] = Near(by_id[name], like, "meaning")
        near = [one for one in best.values() if one.similarity >= self._threshold]
        return sorted(near, key=lambda one: (-one.similarity, -one.lesson.reward, one.lesson.id))[:limit]

    def record(self, showings: Sequence[Showing]) -> None:
        """Keep what came of showing lessons; the first word on a lesson in an attempt stands."""
        if self._open() is None:
            return
        for showing in showings:
            name = f"{showing.lesson}|{showing.attempt}"
            with self._writing:
                if not self._showings.get(ids=[name], include=[])["ids"]:
                    row = {
                        "lesson": showing.lesson,
                        "attempt": showing.attempt,
                        "passed": showing.passed,
                        "at": showing.at,
                    }
                    # Chroma wants a vector with every row; nobody asks for likeness here.
                    self._showings.add(ids=[name], metadatas=[row], embeddings=[[1.0]])

    def tracks(self, ids: Sequence[str]) -> Mapping[str, Track]:
        """The track record of these lessons."""
        if not ids or self._open() is None:
            return {}
        rows = self._showings.get(where={"lesson": {"$in": list(ids)}}, include=["metadatas"])["metadatas"] or []
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
        collection = self._open()
        if collection is None:
            return False
        with self._writing:
            known = self._known.get(id)
            if known is not None:
                self._write(collection, replace(known, disabled_by=by[:150], disabled_why=redact(why)[:300]))
            return known is not None

    @property
    def hint(self) -> str:
        """What makes it weaker than it could be, in words; "" when nothing does."""
        return self._meaning.problem if self._meaning is not None else ""

    def close(self) -> None:
        """Give the directory back."""
        with self._lock:
            self._collection = self._showings = self._client = None
            self._known = {}
            if self._meaning is not None:
                self._meaning.close()
            if self._owner is not None:
                self._owner.close()
                self._owner = None


def _lesson(row: Mapping[str, Any]) -> Lesson:
    """A row as a lesson; rows from before a field existed have its default."""
    return Lesson(**{name: row[name] for name in Lesson.__dataclass_fields__ if name in row})
