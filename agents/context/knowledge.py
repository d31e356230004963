"""What tasks may draw on beside repositories: an embedding model, and documentation that the operator provides."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from agents.context.meaning import Meaning, meaning_of
from agents.context.vectors import VectorStore
from agents.memory.embedders import Embedder, hashing
from agents.memory.folder import ChromaFolder

DOCS = "docs"  # below AISWE_HOME


@dataclass(frozen=True)
class Knowledge:
    """The folder of documentation and the measure of meaning; None for what is not there."""

    docs: Path | None = None
    meaning: Meaning | None = None


@lru_cache(maxsize=32)
def knowledge_of(home: Path, folder: ChromaFolder, project: str, embedder: Embedder) -> Knowledge:
    """The documentation below `home`, with a project's vectors; hashed words are no meaning.

    Kept, so that the tasks of a process share what a question was answered.
    """
    meaning = meaning_of(VectorStore(folder, project, embedder.label), embedder) if embedder is not hashing else None
    return Knowledge(home / DOCS, meaning)
