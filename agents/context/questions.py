"""Where in a project is what a question asks for: code, documents and library documentation, by words and vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.context.documents import sections
from agents.context.index import Contents, Indexer, shared
from agents.context.meaning import CHARS, SECONDS
from agents.context.retrieval import CODE, DOCUMENT, Chunk, bm25, fusion
from agents.context.vectors import VectorStore, hash_of, unit
from agents.languages.registry import language_of
from agents.llm.base import LLMError
from agents.memory.embedders import Embedder

PLACES = 5
CANDIDATES = 50  # of each order
ASIDE = 0.7  # of the likeness of tests and documents, which speak of the code in the words of the question


@dataclass(frozen=True)
class FoundPlace:
    """A piece of a file that fits a question; `score` orders the places of one question and means nothing else."""

    chunk: Chunk
    score: float


def chunks_of(repository: Contents, sha: str, docs: Path, project: str, indexer: Indexer = shared) -> list[Chunk]:
    """All that can be found for a project: its code and documents at a commit, and the documentation of libraries.

    Raises GitError.
    """
    index = indexer.index(repository, sha)
    own = [
        Chunk(path, piece, CODE if path in index.pieces else DOCUMENT)
        for part in (index.pieces, index.beside)
        for path in part
        for piece in part[path]
    ]
    return [*own, *sections(docs, project)]


def places_of(chunks: Sequence[Chunk], embedder: Embedder, commit: str) -> Mapping[str, Mapping[str, str | int]]:
    """What the store keeps with the vector of each chunk, by the vector's name."""
    return {name_of(chunk, embedder): _about(chunk, commit) for chunk in chunks}


def _about(chunk: Chunk, commit: str) -> dict[str, str | int]:
    written = language_of(chunk.path)
    return {
        "path": chunk.path,
        "symbol": chunk.name,
        "kind": chunk.kind,
        "language": written.name if written else "",
        "line": chunk.piece.line,
        "end": chunk.piece.end,
        "commit": commit,
    }


def name_of(chunk: Chunk, embedder: Embedder) -> str:
    """The name of a chunk's vector."""
    return hash_of(embedder.name, chunk.embedded[:CHARS])


def find_places(
    question: str,
    chunks: Sequence[Chunk],
    *,
    store: VectorStore | None = None,
    embedder: Embedder | None = None,
    words: bool = True,
    limit: int = PLACES,
) -> tuple[list[FoundPlace], str]:
    """The places that fit, best first, and why vectors were not used; "" when they were."""
    orders, problem = [], ""
    parts = [ASIDE if _is_aside(chunk) else 1.0 for chunk in chunks]
    if words:
        scores = [score * part for score, part in zip(bm25(question, chunks), parts, strict=True)]
        by_words = sorted((one for one in range(len(chunks)) if scores[one]), key=lambda one: -scores[one])
        orders.append((by_words[:CANDIDATES], 1.0))
    if store is not None and embedder is not None:
        near, problem = _near(question, chunks, store, embedder)
        by_vectors = sorted(near, key=lambda one: -near[one] * parts[one])
        orders.append((by_vectors, embedder.weight))
    worth = fusion(*orders)
    best: dict[tuple[str, str | int], int] = {}  # overloads and parts of one definition are one place
    for number in sorted(worth, key=lambda number: (-round(worth[number], 12), number)):
        best.setdefault((chunks[number].path, chunks[number].name or number), number)
    return [FoundPlace(chunks[one], round(worth[one], 6)) for one in list(best.values())[:limit]], problem


def _is_aside(chunk: Chunk) -> bool:
    written = language_of(chunk.path)
    return written is None or written.is_test(chunk.path)


def _near(
    question: str, chunks: Sequence[Chunk], store: VectorStore, embedder: Embedder
) -> tuple[dict[int, float], str]:
    """Similarity by vectors of the nearest chunks, by number, or why there are none."""
    try:
        vector = unit(embedder.embed([question[:CHARS]], SECONDS)[0])
    except LLMError as error:
        return {}, str(error)
    found = store.nearest(vector, CANDIDATES) if vector is not None else {}
    by_name = {name_of(chunk, embedder): number for number, chunk in enumerate(chunks)}
    return {by_name[name]: like for name, like in found.items() if name in by_name}, store.folder.problem
