"""The contract of the lesson store: small, so that another database can take its place."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Lesson:
    """A failure that was understood: its signature, cause and cure, and where it comes from."""

    id: str
    signature: str
    cause: str
    fix: str
    reward: float  # SWE-MEM-3
    project: str
    task: str
    run: str

    @property
    def text(self) -> str:
        """What is compared with a question."""
        return f"{self.cause}\n{self.fix}"

    def to_json(self) -> dict[str, Any]:
        """Plain data, for events and state."""
        return asdict(self)


class LessonStore(Protocol):
    """Keeps lessons; a store that cannot be reached answers with nothing and says so in `problem`."""

    problem: str

    def add(self, lesson: Lesson) -> None:
        """Keep a lesson; the same id twice keeps one."""
        ...

    def by_signature(self, signature: str, limit: int = 3) -> list[Lesson]:
        """Lessons from the very same failure, best reward first."""
        ...

    def similar(self, text: str, limit: int = 3) -> list[Lesson]:
        """Lessons whose text is like this one, over the similarity threshold, best first."""
        ...
