"""The symbols of a repository at a commit. A file is read once for each of its contents: a commit costs its changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from agents.context.documents import sections_of, settings_of
from agents.context.retrieval import Piece, between, pieces_of
from agents.languages.registry import grammar_of
from agents.languages.symbols import MAX_BYTES, Grammar, Symbols, read_symbols
from agents.workspace.repository import GitBlob

KEPT = 8_000  # contents whose symbols are remembered in this process
MAX_FILES = 5_000  # of one repository; beyond it the rest goes unmapped
DOCUMENTS = (".md", ".rst")
SETTINGS = (".toml", ".cfg", ".ini", ".yml", ".yaml")  # deeper than one folder down they are data

_Known = tuple[Symbols, tuple[Piece, ...], tuple[Piece, ...]]


class Contents(Protocol):
    """Where files come from (agents.workspace.repository.Repository)."""

    def blobs(self, sha: str) -> dict[str, GitBlob]:
        """Hash and size of the content, by path."""
        ...

    def contents(self, hashes: list[str]) -> dict[str, bytes]:
        """Contents by hash."""
        ...


@dataclass(frozen=True)
class Index:
    """Symbols and pieces of code by path, in order of path; `read` is how many contents had to be read for it.

    `beside` are the sections of documents, and what stands between the pieces of code: constants, heads of classes.
    """

    symbols: Mapping[str, Symbols]
    pieces: Mapping[str, tuple[Piece, ...]]
    read: int = 0
    beside: Mapping[str, tuple[Piece, ...]] = field(default_factory=dict)


class Indexer:
    """Remembers the symbols of contents. Safe to share among threads."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._known: OrderedDict[tuple[str, Grammar | None, bool], _Known] = OrderedDict()
        self._lock = threading.Lock()

    def index(self, repository: Contents, sha: str) -> Index:
        """The index of a commit; raises GitError when git fails."""
        keys = {
            path: (blob.hash, grammar, path.endswith(SETTINGS))
            for path, blob in sorted(repository.blobs(sha).items())[:MAX_FILES]
            if (grammar := grammar_of(path)) or (_is_text(path) and blob.size <= MAX_BYTES)
        }
        with self._lock:
            found = {key: self._known[key] for key in keys.values() if key in self._known}
        missing = sorted({key for key in keys.values() if key not in found}, key=str)
        texts = repository.contents([key[0] for key in missing])
        new = {key: _read(texts[key[0]], *key[1:]) for key in missing if key[0] in texts}
        found |= new
        with self._lock:
            for key in found:
                self._known[key] = found[key]
                self._known.move_to_end(key)
            while len(self._known) > self._kept:
                self._known.popitem(last=False)
        there = {path: found[key] for path, key in keys.items() if key in found}
        code = {path: known for path, known in there.items() if keys[path][1]}
        return Index(
            {path: known[0] for path, known in code.items()},
            {path: known[1] for path, known in code.items()},
            len(new),
            {path: known[2] for path, known in there.items()},
        )


def _is_text(path: str) -> bool:
    near = path.count("/") <= 1 or path.startswith(".")
    return path.endswith(DOCUMENTS) or (near and path.endswith(SETTINGS))


def _read(content: bytes, grammar: Grammar | None, settings: bool) -> _Known:
    text = content.decode("utf-8", "replace")
    if grammar is None:
        return Symbols(), (), settings_of(text) if settings else sections_of(text)
    symbols = read_symbols(content, grammar)
    pieces = pieces_of(text, symbols)
    return symbols, pieces, between(text, symbols, pieces)


shared = Indexer()
