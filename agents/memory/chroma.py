"""Lessons in an embedded Chroma, owned by exactly one process.

Two processes on one directory see different records without an error (measured), so a lock file decides who owns it;
anybody else gets a store that remembers nothing and says why.
"""

from __future__ import annotations

import fcntl
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from agents.memory.base import Lesson
from agents.memory.embedding import EMBEDDER, embed
from agents.redaction import redact

THRESHOLD = 0.65  # cosine similarity; ACA-3 asks for 0.6 to 0.7


class ChromaLessons:
    """A LessonStore on Chroma; the collection is named after the embedder, because spaces must not be mixed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._collection: Any = None
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

            client = chromadb.PersistentClient(str(self._folder), settings=Settings(anonymized_telemetry=False))
            self._collection = client.get_or_create_collection(
                f"lessons.{EMBEDDER}", embedding_function=None, metadata={"hnsw:space": "cosine"}
            )
            return self._collection

    def add(self, lesson: Lesson) -> None:
        collection = self._open()
        if collection is not None:
            collection.upsert(
                ids=[lesson.id],
                documents=[redact(lesson.text)],
                metadatas=[redact(lesson.to_json())],
                embeddings=embed([lesson.text]),
            )

    def by_signature(self, signature: str, limit: int = 3) -> list[Lesson]:
        collection = self._open()
        if collection is None or not signature:
            return []
        found = collection.get(where={"signature": signature}, limit=50, include=["metadatas"])
        lessons = [_lesson(row) for row in found["metadatas"] or []]
        return sorted(lessons, key=lambda lesson: (-lesson.reward, lesson.id))[:limit]

    def similar(self, text: str, limit: int = 3) -> list[Lesson]:
        collection = self._open()
        if collection is None or not text.strip() or not collection.count():
            return []
        found = collection.query(
            query_embeddings=embed([text]), n_results=min(limit * 4, 20), include=["metadatas", "distances"]
        )
        rows = zip(found["metadatas"][0], found["distances"][0], strict=True)
        near = [(1.0 - distance, _lesson(row)) for row, distance in rows if 1.0 - distance >= THRESHOLD]
        return [lesson for _, lesson in sorted(near, key=lambda pair: (-pair[0] - 0.1 * pair[1].reward, pair[1].id))][
            :limit
        ]

    def close(self) -> None:
        """Give the directory back."""
        with self._lock:
            self._collection = None
            if self._owner is not None:
                self._owner.close()
                self._owner = None


def _lesson(row: Mapping[str, Any]) -> Lesson:
    return Lesson(**{name: row[name] for name in Lesson.__dataclass_fields__})


class NoLessons:
    """A store for runs without memory."""

    problem = "Memory is switched off."

    def add(self, lesson: Lesson) -> None:
        """Forget it."""

    def by_signature(self, signature: str, limit: int = 3) -> list[Lesson]:
        return []

    def similar(self, text: str, limit: int = 3) -> list[Lesson]:
        return []
