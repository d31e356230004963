"""Vectors of a project's code and documents in Chroma, by the text they stand for; one collection for each embedding.

Only an index: the texts are in git. A row says where its text was when it was indexed: path, symbol, language, lines,
commit. Rows without a path were made by a task, of a library's signatures or of code that is not merged.
"""

from __future__ import annotations

import hashlib
import math
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from agents.memory.folder import ChromaFolder

KEPT = 5_000  # rows that tasks made; beyond it they are made again when they are needed
AT_ONCE = 1_000  # rows of one call

Vector: TypeAlias = "array[float]"  # of 32-bit floats, of length 1


def hash_of(model: str, text: str) -> str:
    """The name of a text's vector."""
    return hashlib.sha256(f"{model}\0{text}".encode("utf-8", "replace")).hexdigest()[:40]


def unit(numbers: Sequence[float]) -> Vector | None:
    """The vector at length 1; None for one that points nowhere."""
    length = math.sqrt(sum(number * number for number in numbers))
    if not math.isfinite(length) or length == 0.0:
        return None
    return array("f", [number / length for number in numbers])


class VectorStore:
    """The vectors of one project by one embedding; nothing while the folder has a problem."""

    def __init__(self, folder: ChromaFolder, project: str, embedding: str) -> None:
        self.folder = folder
        self._prefix, self._embedding = f"code.{project}.", embedding

    def get(self, names: Iterable[str]) -> dict[str, Vector]:
        """Those that are known."""
        wanted = list(dict.fromkeys(names))

        def read(client: Any) -> dict[str, Vector]:
            rows, found = self._rows(client), dict[str, Vector]()
            for part in _parts(wanted):
                got = rows.get(ids=part, include=["embeddings"])
                found.update((id, array("f", vector)) for id, vector in zip(got["ids"], got["embeddings"], strict=True))
            return found

        return self.folder.attempt(read, {})

    def missing(self, names: Iterable[str]) -> list[str]:
        """Those that have no vector; none while there is a problem."""
        wanted = list(dict.fromkeys(names))

        def read(client: Any) -> list[str]:
            rows, known = self._rows(client), set[str]()
            for part in _parts(wanted):
                known.update(rows.get(ids=part, include=[])["ids"])
            return [name for name in wanted if name not in known]

        return self.folder.attempt(read, [])

    def put(self, vectors: Mapping[str, Vector]) -> None:
        """Keep these."""

        def write(client: Any) -> None:
            rows, length = self._rows(client), len(next(iter(vectors.values())))
            if _length(rows) not in (0, length):
                client.delete_collection(rows.name)  # another model goes by the same name now
                rows = self._rows(client)
            for part in _parts([name for name, vector in vectors.items() if len(vector) == length]):
                rows.upsert(ids=part, embeddings=[vectors[name].tolist() for name in part])

        if vectors:
            self.folder.attempt(write, None)

    def describe(self, places: Mapping[str, Mapping[str, str | int]]) -> None:
        """Say what the rows are, all that the project has now; those of what is gone go, and other embeddings' too."""

        def write(client: Any) -> None:
            rows = self._rows(client)
            got = rows.get(include=["metadatas"])
            known = dict(zip(got["ids"], got["metadatas"], strict=True))
            changed = [name for name, about in places.items() if name in known and _moved(known[name] or {}, about)]
            for part in _parts(changed):
                rows.update(ids=part, metadatas=[dict(places[name]) for name in part])
            made_by_tasks = [name for name, about in known.items() if not about and name not in places]
            gone = [name for name, about in known.items() if about and name not in places]
            for part in _parts(gone + (made_by_tasks if len(made_by_tasks) > KEPT else [])):
                rows.delete(ids=part)
            for other in self._others(client):
                client.delete_collection(other)

        self.folder.attempt(write, None)

    def nearest(self, vector: Vector, many: int) -> dict[str, float]:
        """Cosine similarity of the nearest rows by name, nearest first."""

        def read(client: Any) -> dict[str, float]:
            rows = self._rows(client)
            if _length(rows) != len(vector):
                return {}
            many_there = min(many, rows.count())
            got = rows.query(query_embeddings=[vector.tolist()], n_results=many_there, include=["distances"])
            return {id: 1.0 - float(distance) for id, distance in zip(got["ids"][0], got["distances"][0], strict=True)}

        return self.folder.attempt(read, {})

    def other_embedding(self) -> str:
        """The embedding that the project was indexed with instead of this one; "" when that is not so."""

        def read(client: Any) -> str:
            return next((name.removeprefix(self._prefix) for name in self._others(client)), "")

        return self.folder.attempt(read, "")

    def _rows(self, client: Any) -> Any:
        return client.get_or_create_collection(
            f"{self._prefix}{self._embedding}", embedding_function=None, metadata={"hnsw:space": "cosine"}
        )

    def _others(self, client: Any) -> list[str]:
        mine = {one.name for one in client.list_collections() if one.name.startswith(self._prefix)}
        return sorted(mine - {f"{self._prefix}{self._embedding}"})


def forget_projects(folder: ChromaFolder, gone: Collection[str]) -> None:
    """Delete the vectors of these projects, from the files too."""

    def remove(client: Any) -> None:
        names = {f"code.{project}." for project in gone}
        mine = [one for one in client.list_collections() if one.name[: one.name.find(".", 5) + 1] in names]
        for one in mine:
            client.delete_collection(one.name)
        if mine:
            folder.scrub(
                "UPDATE embeddings_queue SET metadata = NULL WHERE topic LIKE ?", [f"%/{one.id}" for one in mine]
            )

    folder.attempt(remove, None)


def _length(rows: Any) -> int:
    """How many numbers its vectors have; 0 while it is empty."""
    first = rows.get(limit=1, include=["embeddings"])["embeddings"]
    return len(first[0]) if len(first) else 0


def _moved(known: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether the place is another; the same text at the same place keeps the commit it was indexed at."""
    return {**known, "commit": ""} != {**now, "commit": ""}


def _parts(names: list[str]) -> Iterable[list[str]]:
    return (names[at : at + AT_ONCE] for at in range(0, len(names), AT_ONCE))
