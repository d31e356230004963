"""What a task is shown of the repository: the files it will change and those it builds on, within a budget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agents.context.index import shared
from agents.context.map import repository_map
from agents.context.ranking import ranked, words_of
from agents.context.retrieval import Chunk, chunks_of, retrieve
from agents.provenance import Material, Source, joined, label
from agents.workspace.repository import Repository

FILES_CHARS = 24_000  # about 8,000 tokens of a 32k window; small exact context beats a large one for a 7B model
CHUNKS_CHARS = 6_000  # of it, for pieces of files that are not shown whole
_SHOWN = (
    ".py",
    ".toml",
    ".txt",
    ".md",
    ".js",
    ".ts",
    ".jsx",
    ".tsx",
    ".json",
    ".html",
    ".css",
    ".yaml",
    ".yml",
    ".cfg",
    ".ini",
)
_NAMES = ("Dockerfile", "Makefile")


def requirements_text(requirements: Iterable[Mapping[str, Any]]) -> str:
    """One line a requirement, its acceptance criteria indented below."""
    lines = []
    for requirement in requirements:
        lines.append(f"- {requirement['key']}: {requirement['text']}")
        lines.extend(f"  - {entry}" for entry in requirement.get("acceptance") or [])
    return "\n".join(lines) or "- (none)"


def files_text(files: Mapping[str, str], source: Source = Source.MODEL) -> Material:
    """Files whole, each in a fence that names it and says whose it is."""
    return joined(label(content or " \n", source, f"path={path}") for path, content in sorted(files.items()))


def existing_files(repository: Repository, sha: str, own: Sequence[str], about: str = "") -> Material:
    """What a task is shown of the repository: all of it while it fits, else its own files whole, then what fits the task.

    `about` is the task in words. Of a repository that does not fit, the pieces of code that share the most words with
    the task come after the files, then a map of the rest; what is not even on the map is named.
    """
    blobs = repository.blobs(sha)
    paths = [path for path in blobs if path.endswith(_SHOWN) or path.rsplit("/", 1)[-1] in _NAMES]
    quiet = {path for path in paths if path.startswith("tests/") or path in (".gitignore", "README.md")}
    order = sorted(set(paths) - quiet, key=lambda path: (path not in own, path.count("/"), path))
    texts = {
        path: content.decode("utf-8", "replace")
        for path, content in _contents(repository, {path: blobs[path] for path in order}).items()
    }
    if sum(len(text) for text in texts.values()) <= FILES_CHARS:
        return _blocks(texts, "", (), sorted(quiet))
    return _chosen(repository, sha, texts, order, own, about, quiet)


def _contents(repository: Repository, blobs: Mapping[str, str]) -> dict[str, bytes]:
    found = repository.contents(sorted(set(blobs.values())))
    return {path: found[blob] for path, blob in blobs.items() if blob in found}


def _chosen(
    repository: Repository, sha: str, texts: Mapping[str, str], order: Sequence[str], own: Sequence[str], about: str, quiet: set[str]
) -> Material:  # fmt: skip
    words = words_of(about)
    symbols = {path: found for path, found in shared.index(repository, sha).symbols.items() if path in texts}
    by_rank = [path for path, _ in ranked(symbols, own, words)]
    wanted = [path for path in order if path in own]
    wanted += [path for path in by_rank if path not in own]
    shown: dict[str, str] = {}
    used = 0
    for path in wanted:
        room = FILES_CHARS if path in own else FILES_CHARS - CHUNKS_CHARS
        if used + len(texts[path]) <= room:
            shown[path] = texts[path]
            used += len(texts[path])
    chunks = [
        chunk for path in sorted(symbols) if path not in shown for chunk in chunks_of(path, texts[path], symbols[path])
    ]
    pieces = retrieve(about, chunks, chars=max(0, min(CHUNKS_CHARS, FILES_CHARS - used)))
    drawn = repository_map(symbols, own, words, without=shown)
    on_map = {line[:-1] for line in drawn.splitlines() if line.endswith(":") and not line.startswith(" ")}
    return _blocks(shown, drawn, pieces, sorted((set(order) - set(shown) - on_map) | quiet))


def _blocks(shown: Mapping[str, str], drawn: str, pieces: Sequence[Chunk], left_out: Sequence[str]) -> Material:
    blocks: list[str] = [files_text(shown, Source.REPOSITORY)] if shown else []
    if pieces:
        blocks.append("Code of other files that fits the task:")
        blocks.extend(
            label(piece.text, Source.REPOSITORY, f"path={piece.path} lines={piece.line}-{piece.end}")
            for piece in pieces
        )
    if drawn:
        blocks += ["Map of the rest (signatures):", label(drawn, Source.REPOSITORY)]
    if left_out:
        blocks += [label("Also there: " + ", ".join(left_out[:80]), Source.REPOSITORY)]
    return joined(blocks)
