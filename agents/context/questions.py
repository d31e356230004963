"""Where in a project is what a question asks for: code, documents and library documentation, by words and vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.context.documents import sections
from agents.context.index import Contents, Indexer, shared
from agents.context.meaning import CHARS, SECONDS
from agents.context.retrieval import CODE, DOCUMENT, WINDOWS, Chunk, bm25, fusion
from agents.context.vectors import VectorStore, hash_of, unit
from agents.context.wording import is_aside, wording_of
from agents.languages.registry import language_of
from agents.llm.base import LLMError
from agents.memory.embedders import Embedder

PLACES, OF_ONE_FILE = 5, 4
CANDIDATES = 50  # of each order
FLAT = 20  # of the fusion: with five places the first of either order shall be among them


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
    return {hash_of(embedder.name, text): _about(chunk, commit) for chunk in chunks for text in _texts(chunk)}


def texts_of(chunks: Sequence[Chunk]) -> list[str]:
    """What the vectors of these chunks stand for."""
    return [text for chunk in chunks for text in _texts(chunk)]


def _texts(chunk: Chunk) -> list[str]:
    return [text[:CHARS] for text in (chunk.windows[:1] if is_aside(chunk.path) else chunk.windows)]


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
    orders, problem, asked = [], "", wording_of(question)
    parts = [asked.worth(chunk) for chunk in chunks]
    if words:
        scores = [score * part for score, part in zip(bm25(asked.weights, chunks), parts, strict=True)]
        by_words = sorted((one for one in range(len(chunks)) if scores[one]), key=lambda one: -scores[one])
        orders.append((by_words[:CANDIDATES], 1.0))
    if store is not None and embedder is not None:
        near, problem = _near(asked.text, chunks, store, embedder)
        by_vectors = sorted(near, key=lambda one: -near[one] * parts[one])
        orders.append((by_vectors[:CANDIDATES], embedder.weight))
    worth = fusion(*orders, flat=FLAT)
    best: dict[tuple[str, str | int], int] = {}  # overloads and parts of one definition are one place
    for number in sorted(worth, key=lambda number: (-round(worth[number], 12), number)):
        best.setdefault((chunks[number].path, chunks[number].name or number), number)
    of_file = Counter[str]()
    places, more = list[FoundPlace](), list[FoundPlace]()
    for number in best.values():
        of_file[chunks[number].path] += 1
        kept = places if of_file[chunks[number].path] <= OF_ONE_FILE else more
        kept.append(FoundPlace(chunks[number], round(worth[number], 6)))
    return [*places, *more][:limit], problem


def _near(
    question: str, chunks: Sequence[Chunk], store: VectorStore, embedder: Embedder
) -> tuple[dict[int, float], str]:
    """Similarity by vectors of the nearest chunks, by number, or why there are none."""
    try:
        vector = unit(embedder.embed([question[:CHARS]], SECONDS)[0])
    except LLMError as error:
        return {}, str(error)
    found = store.nearest(vector, WINDOWS * CANDIDATES) if vector is not None else {}
    by_name = {hash_of(embedder.name, text): number for number, one in enumerate(chunks) for text in _texts(one)}
    near: dict[int, float] = {}
    for name, like in found.items():
        if name in by_name:
            near.setdefault(by_name[name], like)  # nearest first
    return near, store.folder.problem
