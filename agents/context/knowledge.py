"""What this process may draw on beside repositories: an embedding model, and documentation that the operator lays down."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from agents.context.meaning import Meaning, meaning_of
from agents.context.vectors import VectorStore

DOCS = "docs"  # below AISWE_HOME
VECTORS = "vectors.sqlite3"


@dataclass(frozen=True)
class Knowledge:
    """The folder of documentation and the measure of meaning; None for what is not there."""

    docs: Path | None = None
    meaning: Meaning | None = None


_lock = threading.Lock()
_current, _from = Knowledge(), ("", "", "")


def use(home: Path, server: str, embed_model: str) -> None:
    """From now on the documentation below `home` is searched, by meaning if an embedding model of `server` is named."""
    global _current, _from
    wanted = (str(home), server, embed_model)
    with _lock:
        if wanted != _from:
            meaning = meaning_of(VectorStore(home / VECTORS), server, embed_model) if embed_model else None
            _current, _from = Knowledge(home / DOCS, meaning), wanted


def current() -> Knowledge:
    """What was last said with `use`."""
    return _current
