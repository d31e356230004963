"""The contract of the lesson store: small, so that another database can take its place."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

MANY = 50  # candidates a store hands over to be weighed


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
    failure: str = ""  # the failing output in a few words, without what changes from run to run
    topic: str = ""  # title of the task it was learned in
    attempt: int = 0
    learned_at: float = 0.0  # seconds since 1970; when it was last learned anew
    disabled_by: str = ""  # the person who switched it off; "" = in use
    disabled_why: str = ""
    inferred: bool = False  # read from the cure afterwards; no diagnosis of it was put to the test
    worked: bool = False  # how a merged task was done, instead of a failure and its cure

    @property
    def text(self) -> str:
        """What is compared with a question."""
        return f"{self.cause}\n{self.fix}"

    def to_json(self) -> dict[str, Any]:
        """Plain data, for events and state."""
        return asdict(self)


@dataclass(frozen=True)
class Near:
    """A lesson like a question; `similarity` is 0…1, `by` the measure that found it."""

    lesson: Lesson
    similarity: float
    by: str = "vectors"


@dataclass(frozen=True)
class Showing:
    """A lesson that stood in an attempt's prompt, and whether that attempt passed its tests."""

    lesson: str
    attempt: str  # project/run/task/number: the same one twice is one
    passed: bool
    at: float  # seconds since 1970


@dataclass(frozen=True)
class Track:
    """How often a lesson was shown, how often the attempt then passed, and when that was last so."""

    shown: int = 0
    helped: int = 0
    helped_at: float = 0.0


class LessonStore(Protocol):
    """Keeps lessons; a store that cannot be reached answers with nothing and says so in `problem`.

    A store finds candidates. What is worth showing is decided in agents.memory.choosing, the same for every store.
    """

    @property
    def problem(self) -> str:
        """Why nothing is remembered; "" while it is."""
        ...

    def add(self, lesson: Lesson) -> None:
        """Keep a lesson; the same id twice keeps one, with its first origin and with a person's decision about it."""
        ...

    def by_signature(self, signature: str, limit: int = MANY) -> list[Lesson]:
        """Lessons from the very same failure, best reward first."""
        ...

    def similar(self, text: str, limit: int = MANY) -> list[Near]:
        """Lessons whose failure, task or text is like this one, over the similarity threshold, best first."""
        ...

    def record(self, showings: Sequence[Showing]) -> None:
        """Keep what came of showing lessons; the same lesson and attempt twice counts once."""
        ...

    def tracks(self, ids: Sequence[str]) -> Mapping[str, Track]:
        """The track record of these lessons; those never shown are left out."""
        ...

    def all(self) -> list[Lesson]:
        """Every lesson, newest first."""
        ...

    def switch(self, id: str, *, by: str, why: str = "") -> bool:
        """Switch a lesson off in the name of a person, or on again with by=""; False when there is no such lesson."""
        ...

    def forget(self, projects: Collection[str]) -> None:
        """Delete what was learned in these projects, and nothing else."""
        ...


class NoLessons:
    """A store for runs without memory."""

    problem = "Memory is switched off."

    def add(self, lesson: Lesson) -> None:
        """Forget it."""

    def by_signature(self, signature: str, limit: int = MANY) -> list[Lesson]:
        """None."""
        return []

    def similar(self, text: str, limit: int = MANY) -> list[Near]:
        """None."""
        return []

    def record(self, showings: Sequence[Showing]) -> None:
        """Forget it."""

    def tracks(self, ids: Sequence[str]) -> Mapping[str, Track]:
        """None."""
        return {}

    def all(self) -> list[Lesson]:
        """None."""
        return []

    def switch(self, id: str, *, by: str, why: str = "") -> bool:
        """There is nothing to switch."""
        return False

    def forget(self, projects: Collection[str]) -> None:
        """There is nothing to forget."""
