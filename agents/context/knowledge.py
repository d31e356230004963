"""What tasks may draw on beside repositories: an embedding model, and documentation that the operator provides."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
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


@lru_cache(maxsize=1)
def knowledge_at(home: Path, server: str, embed_model: str) -> Knowledge:
    """The documentation below `home`, with the meaning that `embed_model` of `server` gives; an empty name is none.

    The last one made is kept, so that the tasks of a process share the connection to the model and its vectors.
    """
    meaning = meaning_of(VectorStore(home / VECTORS), server, embed_model) if embed_model else None
    return Knowledge(home / DOCS, meaning)
