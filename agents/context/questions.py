"""Where in a project is what a question asks for: code, documents and library documentation, by words and vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.context.documents import sections
from agents.context.index import Contents, Indexer, shared
from agents.context.meaning import CHARS, SECONDS
from agents.context.retrieval import CHUNK_CHARS, CODE, DOCUMENT, Chunk, Piece, bm25
from agents.context.vectors import VectorStore, hash_of, unit
from agents.context.wording import is_aside, wording_of
from agents.languages.registry import language_of
from agents.llm.base import LLMError
from agents.memory.embedders import Embedder

PLACES, OF_ONE_FILE = 5, 4
JOINED, ALIKE = 5, 0.6  # finds beyond the places may join one of them, if they are worth this share of the best
NEAREST = 200  # vectors that are compared by their likeness; a chunk may have several


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
    worth, problem, asked = dict[int, float](), "", wording_of(question)
    parts = [asked.worth(chunk) for chunk in chunks]
    if words:
        _count(worth, dict(enumerate(bm25(asked.weights, chunks))), parts, 1.0)
    if store is not None and embedder is not None:
        near, problem = _near(asked.text, chunks, store, embedder)
        least = min(near.values(), default=0.0)  # no other chunk is nearer than the last of the nearest
        _count(worth, {number: near.get(number, least) for number in {*near, *worth}}, parts, embedder.weight)
    found = _once(worth, chunks)
    of_file = Counter[str]()
    first, more = list[int](), list[int]()
    for number in found:
        of_file[chunks[number].path] += 1
        (first if of_file[chunks[number].path] <= OF_ONE_FILE else more).append(number)
    order = [*first, *more][: limit + JOINED]
    # Only the first may become one, so that the order of the first places is the same whatever the limit.
    good = [at < PLACES + JOINED and found[number] >= ALIKE * found[order[0]] for at, number in enumerate(order)]
    groups = _groups(order, good, chunks)
    return [FoundPlace(_joined(group, chunks), round(found[group[0]], 6)) for group in groups[:limit]], problem


def _count(worth: dict[int, float], scores: Mapping[int, float], parts: Sequence[float], weight: float) -> None:
    """Add what one way of searching finds: `weight` for its best chunk, for others their share of it."""
    found = {number: score * parts[number] for number, score in scores.items() if score > 0}
    best = max(found.values(), default=0.0)
    for number, score in found.items():
        worth[number] = worth.get(number, 0.0) + weight * score / best


def _once(worth: Mapping[int, float], chunks: Sequence[Chunk]) -> dict[int, float]:
    """Each definition once, best first: of several with its name the longest, for overloads and setters say little."""
    found: dict[tuple[str, str | int], tuple[int, float]] = {}
    for number in sorted(worth, key=lambda number: (-round(worth[number], 12), number)):
        found.setdefault((chunks[number].path, chunks[number].name or number), (number, worth[number]))
    for number, chunk in enumerate(chunks):
        key = (chunk.path, chunk.name)
        code = chunk.kind == CODE and not chunk.piece.is_between
        if code and key in found and len(chunk.text) > len(chunks[found[key][0]].text):
            found[key] = (number, found[key][1])
    return dict(found.values())


def _groups(order: Sequence[int], good: Sequence[bool], chunks: Sequence[Chunk]) -> list[list[int]]:
    """Good finds of a file that, with what is between them, are no longer than a long piece become one place."""
    groups: list[list[int]] = []
    for number, is_good in zip(order, good, strict=True):
        of_file = (group for group in groups if is_good and chunks[group[0]].path == chunks[number].path)
        for group in of_file:
            if sum(len(one.text) for one in _span([*group, number], chunks)) <= CHUNK_CHARS:
                group.append(number)
                break
        else:
            groups.append([number])
    return groups


def _span(group: Sequence[int], chunks: Sequence[Chunk]) -> list[Chunk]:
    """The chunks from the first to the last of a group, in order of their lines."""
    path, found = chunks[group[0]].path, [chunks[number].piece for number in group]
    first, last = min(one.line for one in found), max(one.end for one in found)
    inside = [one for one in chunks if one.path == path and first <= one.piece.line and one.piece.end <= last]
    return sorted(inside, key=lambda one: one.piece.line)


def _joined(group: Sequence[int], chunks: Sequence[Chunk]) -> Chunk:
    if len(group) == 1:
        return chunks[group[0]]
    span = _span(group, chunks)
    names = ", ".join(filter(None, (chunks[number].name for number in group)))
    piece = Piece(names, span[0].piece.line, span[-1].piece.end, "\n\n".join(one.text for one in span), {})
    return Chunk(span[0].path, piece, span[0].kind)


def _near(
    question: str, chunks: Sequence[Chunk], store: VectorStore, embedder: Embedder
) -> tuple[dict[int, float], str]:
    """Similarity by vectors of the nearest chunks, by number, or why there are none."""
    try:
        vector = unit(embedder.embed([question[:CHARS]], SECONDS)[0])
    except LLMError as error:
        return {}, str(error)
    found = store.nearest(vector, NEAREST) if vector is not None else {}
    by_name = {hash_of(embedder.name, text): number for number, one in enumerate(chunks) for text in _texts(one)}
    near: dict[int, float] = {}
    for name, like in found.items():
        if name in by_name:
            near.setdefault(by_name[name], like)  # nearest first
    return near, store.folder.problem
