"""A memory of its own for each test that asks for one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.memory.chroma import ChromaLessons


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ChromaLessons]:
    """A lesson store in a folder of its own, closed at the end."""
    made = ChromaLessons(tmp_path / "chroma")
    yield made
    made.close()
