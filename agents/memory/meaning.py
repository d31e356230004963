"""Likeness in meaning, when an embedding model is there: its vectors lie beside the lessons and are only an index.

The model may come and go. While it does not answer, shared words find what they can, `problem` says so, and lessons
that were learned meanwhile get their vectors when it is back.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from typing import Any

from agents.llm.base import LLMError
from agents.memory.base import Lesson
from agents.memory.embedders import FIRST_S, Embedder, hashing

CAUGHT_UP = 64  # lessons that get their vectors with one question
ASKED = 50  # nearest vectors

Embed = Callable[[Sequence[str]], list[list[float]]]


class LessonMeaning:
    """The vectors of one embedding model for lessons kept elsewhere; one collection per model and vector length."""

    def __init__(self, name: str, embed: Embed, close: Callable[[], None] = lambda: None) -> None:
        self._name, self._embed, self.close = (
            re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:100] or "model",
            embed,
            close,
        )
        self._lock = threading.Lock()
        self._there: dict[str, set[str]] = {}  # names in each collection, because nobody else adds any
        self.problem = ""

    def near(self, client: Any, lessons: Sequence[Lesson], text: str) -> dict[str, float]:
        """Cosine similarity of lessons to the text, by id; empty while the model does not answer."""
        try:
            with self._lock:
                question = self._embed([text])[0]
                index = client.get_or_create_collection(
                    f"meaning.{self._name}.{len(question)}", embedding_function=None, metadata={"hnsw:space": "cosine"}
                )
                self._catch_up(index, lessons)
        except LLMError as error:
            self.problem = f"The embedding model does not answer, so lessons are found by words: {error}"
            return {}
        self.problem = ""
        many = min(ASKED, index.count())
        if not many:
            return {}
        found = index.query(query_embeddings=[question], n_results=many, include=["metadatas", "distances"])
        best: dict[str, float] = {}
        for row, distance in zip(found["metadatas"][0], found["distances"][0], strict=True):
            best[row["lesson"]] = max(best.get(row["lesson"], 0.0), 1.0 - float(distance))
        return best

    def _catch_up(self, index: Any, lessons: Sequence[Lesson]) -> None:
        parts = {
            f"{lesson.id}#{part}": (lesson.id, text)
            for lesson in lessons
            for part, text in (("failure", lesson.failure), ("topic", lesson.topic), ("text", lesson.text))
            if text.strip()
        }
        known = self._there.get(index.name)
        if known is None:
            known = self._there[index.name] = set(index.get(include=[])["ids"])
        missing = [name for name in parts if name not in known][: CAUGHT_UP * 3]
        if missing:
            vectors = self._embed([parts[name][1] for name in missing])
            index.upsert(ids=missing, embeddings=vectors, metadatas=[{"lesson": parts[name][0]} for name in missing])
            known.update(missing)


def meaning_of(embedder: Embedder) -> LessonMeaning | None:
    """An embedder's vectors of lessons; None for hashed words, which the lessons have anyway."""
    if embedder is hashing:
        return None
    return LessonMeaning(embedder.name, lambda texts: embedder.embed(texts, FIRST_S), embedder.close)
