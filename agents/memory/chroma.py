"""Lessons in an embedded Chroma, owned by exactly one process.

Two processes on one directory see different records without an error (measured), so a lock file decides who owns it;
anybody else gets a store that remembers nothing and says why. So does whoever finds the folder damaged, or the disk
full: memory makes work shorter and is never a reason for it to fail.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import math
import sqlite3
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, TypeVar

from agents.memory.base import MANY, Lesson, Near, Showing, Track
from agents.memory.embedding import EMBEDDER, embed
from agents.memory.meaning import LessonMeaning
from agents.memory.rows import cleaned, lesson_of, plain
from agents.memory.words import likeness
from agents.secrets.redaction import redact

THRESHOLD = 0.65  # similarity; ACA-3 asks for 0.6 to 0.7
PORTION = 500  # names in one question to Chroma
COMPARED = 2_000  # lessons whose words are compared with a question

log = logging.getLogger("aiswe.memory")
T = TypeVar("T")


class ChromaLessons:
    """A LessonStore on Chroma; the collection is named after the embedder, because spaces must not be mixed."""

    def __init__(self, folder: Path, threshold: float = THRESHOLD, meaning: LessonMeaning | None = None) -> None:
        self._folder, self._threshold, self._meaning = folder, threshold, meaning
        self._client: Any = None
        self._lock = threading.Lock()
        self._writing = threading.Lock()  # reading a row and writing it anew is one step
        self._collection: Any = None
        self._showings: Any = None
        # All rows, because nobody else writes them: Chroma takes 0.1 s to hand over 400.
        self._known: dict[str, Lesson] = {}
        self._owner: IO[str] | None = None
        self._unreadable = 0
        self.problem = ""

    def _open(self) -> Any:
        with self._lock:
            if self._collection is not None or self.problem:
                return self._collection
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                handle = (self._folder / "owner.lock").open("a")
            except OSError as error:
                self._give_up(error)
                return None
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                handle.close()
                self.problem = f"Another process owns the memory in {self._folder.name}; this one remembers nothing."
                return None
            self._owner = handle
            try:
                self._collection = self._load()
            except BaseException as error:  # noqa: BLE001 - sorted out there
                self._give_up(error)
            return self._collection

    def _load(self) -> Any:
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
        read = [lesson_of(row) for row in rows]
        self._known = {lesson.id: lesson for lesson in read if lesson is not None}
        self._unreadable = len(read) - len(self._known)
        return collection

    def _try(self, action: Callable[[Any], T], otherwise: T) -> T:
        """Do something with the collection; `otherwise` while there is none, and from the first failure on."""
        collection = self._open()
        if collection is None:
            return otherwise
        try:
            return action(collection)
        except BaseException as error:  # noqa: BLE001 - sorted out there
            self._give_up(error)
            return otherwise

    def _give_up(self, error: BaseException) -> None:
        """Remember nothing more, and say why. What is no failure of the store (an interrupt) goes on its way."""
        # Chroma's own core ends in a BaseException of this name when it meets a damaged file.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise error
        log.error("the memory in %s cannot be used", self._folder, exc_info=error)
        said = error.strerror if isinstance(error, OSError) else str(error)
        what = " ".join(str(said).split())[:200]
        self._collection, self._known = None, {}
        self.problem = (
            f"The memory in {self._folder.name} cannot be used ({type(error).__name__}: {what}), so nothing is "
            "remembered. Mend or move "
            "the folder, then start aiswe again; what was learned is in the audit trail too."
        )

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
            for name, like in self._meaning.near(self._client, lessons, text).items():
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
            self._try(lambda _: self._forget(sorted(projects)), None)

    def _forget(self, projects: list[str]) -> None:
        with self._writing:
            gone = [lesson.id for lesson in self._known.values() if lesson.project in projects]
            # Lessons last: what was cut short is done again while there are some.
            for collection in sorted(self._client.list_collections(), key=lambda one: one.name.startswith("lessons.")):
                for start in range(0, len(gone), PORTION):
                    collection.delete(where={"lesson": {"$in": gone[start : start + PORTION]}})
                collection.delete(where={"project": {"$in": projects}})
            self._known = {name: lesson for name, lesson in self._known.items() if lesson.project not in projects}
            # Chroma keeps what was written in a queue, and SQLite what was deleted in free pages: in each backup too.
            with contextlib.closing(sqlite3.connect(self._folder / "chroma.sqlite3", timeout=30)) as file:
                with file:
                    file.executemany("UPDATE embeddings_queue SET metadata = NULL WHERE id = ?", [(id,) for id in gone])
                file.execute("VACUUM")

    @property
    def hint(self) -> str:
        """What makes it weaker than it could be, in words; "" when nothing does."""
        if self._unreadable:
            return f"{self._unreadable} lessons of the memory cannot be read and are left out."
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
