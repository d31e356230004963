"""Likeness in meaning between a task and code or documentation, when an embedding model is there.

A text is embedded once: its vector is kept by its content, so a commit costs the functions that it changed. The model
may be away or slow; then what has no vector yet is found by words, `problem` says so, and no task waits longer than
`seconds`: of CPU for a model that runs in this process, so that a busy machine decides nothing.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import mul

from agents.context.vectors import Vector, VectorStore, hash_of, unit
from agents.llm.base import Cancelled, LLMError
from agents.memory.embedders import Embedder

SECONDS = 10.0  # for the vectors of one question; a model that was not loaded yet takes a good part of it
REST_S = 300.0  # before a model that did not answer is asked again, so that not every task waits for it
CHARS = 1_500  # of a text that are embedded; small models read 512 tokens
BATCH_CHARS = 8 * CHARS  # of one request: what a processor without a graphics card embeds in a second or two
BATCH = 64
KEPT = 64  # answers remembered in this process
MOST = 3_000  # texts compared with a question

Embed = Callable[[Sequence[str], float], list[list[float]]]  # texts and how many seconds there are


@dataclass(frozen=True)
class Nearness:
    """Cosine similarity to the question for each text, None for those without a vector.

    `made` is how many vectors had to be made; `problem` says why some are missing, "" when none is.
    """

    alike: list[float | None]
    made: int = 0
    problem: str = ""


class Meaning:
    """Compares texts by one model's vectors. Safe to share among threads."""

    def __init__(
        self,
        model: str,
        embed: Embed,
        store: VectorStore,
        *,
        seconds: float = SECONDS,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.monotonic,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self.model, self._embed, self._store, self.close = model, embed, store, close
        self._seconds, self._clock, self._wall = seconds, clock, wall
        self._lock, self._looking = threading.Lock(), threading.Lock()
        self._away, self._until = "", 0.0
        self._answers: OrderedDict[str, Nearness] = OrderedDict()

    def near(self, query: str, texts: Sequence[str]) -> Nearness:
        """How near each text is to the query; the first texts get their vectors first. Raises nothing of the model's.

        The same question has the same answer while this process lives, even if the model comes back meanwhile: prompts
        of one task begin with the same bytes.
        """
        end = self._clock() + self._seconds
        shown = [text[:CHARS] for text in (query, *texts[:MOST])]
        names = [hash_of(self.model, text) for text in shown]
        key = hash_of(self.model, " ".join([*names, str(len(texts))]))
        with self._looking:
            if key in self._answers:
                return self._answers[key]
        by_name = dict(zip(names, shown, strict=True))
        known = self._store.get(by_name)
        made, problem = 0, self._store.folder.problem
        missing = [name for name in by_name if name not in known]
        if missing and not problem:
            made, problem = self._make(missing, by_name, known, end)
        question = known.get(names[0])
        alike = [_cosine(question, known.get(name)) for name in names[1:]]
        answer = Nearness([*alike, *[None] * (len(texts) - len(alike))], made, problem)
        with self._looking:
            self._answers[key] = answer
            while len(self._answers) > KEPT:
                self._answers.popitem(last=False)
        return answer

    def learn(self, texts: Sequence[str], seconds: float) -> tuple[int, str]:
        """Make the vectors that these texts lack; how many are missing still, and why."""
        by_name = {hash_of(self.model, text[:CHARS]): text[:CHARS] for text in texts}
        missing = self._store.missing(by_name)
        made, problem = self._make(missing, by_name, {}, self._clock() + seconds) if missing else (0, "")
        return len(missing) - made, problem or self._store.folder.problem

    def _make(
        self, missing: Sequence[str], texts: Mapping[str, str], known: dict[str, Vector], end: float
    ) -> tuple[int, str]:
        """Make the missing vectors while there is time; how many, and why not all."""
        made = 0
        if not self._lock.acquire(timeout=max(0.0, end - self._clock())):
            return 0, "another task is making the vectors of this code"
        try:
            if self._wall() < self._until:
                return 0, self._away
            for part in _batches(missing, texts):
                try:
                    if self._clock() >= end:
                        raise Cancelled
                    given = self._embed([texts[name] for name in part], end - self._clock())
                except Cancelled:
                    if not made:
                        self._rest(f"it made no vector within {self._seconds:g} s")
                        return 0, self._away
                    return made, f"{len(missing) - made} pieces have no vector yet; the next tasks go on with them"
                except LLMError as error:
                    self._rest(str(error))
                    return made, self._away
                new = {name: vector for name, numbers in zip(part, given, strict=False) if (vector := unit(numbers))}
                self._store.put(new)
                known |= new
                made += len(new)
        finally:
            self._lock.release()
        return made, ""

    def _rest(self, why: str) -> None:
        self._away, self._until = why, self._wall() + REST_S


def _batches(names: Sequence[str], texts: Mapping[str, str]) -> Iterator[list[str]]:
    part: list[str] = []
    size = 0
    for name in names:
        if part and (len(part) == BATCH or size + len(texts[name]) > BATCH_CHARS):
            yield part
            part, size = [], 0
        part.append(name)
        size += len(texts[name])
    if part:
        yield part


class Asking:
    """One question to a Meaning in the shape that retrieval asks in; `found` is what came of it."""

    def __init__(self, meaning: Meaning) -> None:
        self._meaning = meaning
        self.found: Nearness | None = None

    def __call__(self, query: str, texts: Sequence[str]) -> Sequence[float | None]:
        """See retrieval.Near."""
        self.found = self._meaning.near(query, texts)
        return self.found.alike


def _cosine(one: Vector | None, other: Vector | None) -> float | None:
    # Vectors of two lengths are of two models that had the same name.
    if one is None or other is None or len(one) != len(other):
        return None
    return round(float(sum(map(mul, one, other))), 6)


def meaning_of(store: VectorStore, embedder: Embedder) -> Meaning:
    """An embedder's vectors, kept in this store."""
    return Meaning(embedder.name, embedder.embed, store, clock=embedder.clock, close=embedder.close)
