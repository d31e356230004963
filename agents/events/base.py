"""What every kind of event has: the columns of its row, the fields of its payload, and how it is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any, ClassVar, Literal, TypeVar, dataclass_transform

Preset = Literal["errors", "decisions", "needs"]  # filters that a page offers by name
Panel = Literal["task", "run"]  # parts of a run's page: one task's line, and the state and totals of the run

ERRORS: Sequence[Preset] = ("errors",)
DECISIONS: Sequence[Preset] = ("decisions",)
NEEDS: Sequence[Preset] = ("needs",)
Rows = Sequence[Mapping[str, Any]]


def counted(number: int, word: str) -> str:
    """A number of things: "1 task", "2 tasks"."""
    return f"{number:,} {word}" + "s" * (number != 1)


class Urgency(IntEnum):
    """How urgently a screen reader announces an event; a question interrupts, the others wait for a pause."""

    SILENT = 0
    PROGRESS = 1
    FAILURE = 2
    QUESTION = 3


@dataclass(frozen=True)
class EventLook:
    """How a kind is shown: a symbol of the sprite, a word and a tone, so that no meaning depends on colour alone."""

    icon: str
    word: str
    tone: str = "muted"
    tone_by_outcome: Mapping[str, str] = field(default_factory=dict)
    presets: Sequence[Preset] = ()
    urgency: Urgency = Urgency.SILENT
    panels: Sequence[Panel] = ()  # what a page shows of the run that this event makes stale
    words: Sequence[str] = ()  # payload fields that a person reads as text; "summary" is the line itself
    steps: str = ""  # several of them in a word: "commands". Consecutive ones fold into one row; empty: never

    def tone_of(self, outcome: str) -> str:
        """The tone of a row with this outcome; a failure is red unless its kind says otherwise."""
        return self.tone_by_outcome.get(outcome) or ("err" if outcome == "fail" else self.tone)


@dataclass(frozen=True, kw_only=True)
class EventKind:
    """One event before it is stored. Fields that a kind adds are its payload; those here are columns of the row.

    Where it happened (run, task, attempt), who wrote it and the key that makes it unique belong to the row, not to the
    event: they are arguments of `emit`.
    """

    type: ClassVar[str]
    look: ClassVar[EventLook]

    summary: str  # one line; longer text is cut
    role: str = "runtime"
    outcome: str = ""
    blobs: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    error_signature: str = ""
    tokens: int = 0
    duration_ms: int = 0

    def payload(self) -> dict[str, Any]:
        """The kind's own fields by name, without those that have their default; `from_` is stored as "from"."""
        given = ((each, getattr(self, each.name)) for each in fields(self) if each.name not in COLUMNS)
        return {each.name.rstrip("_"): value for each, value in given if value != each.default}


COLUMNS = frozenset(each.name for each in fields(EventKind))
KINDS: dict[str, type[EventKind]] = {}  # by type
E = TypeVar("E", bound=EventKind)


@dataclass_transform(kw_only_default=True, frozen_default=True)
def kind(
    type_: str,
    icon: str,
    word: str,
    tone: str = "muted",
    *,
    tone_by_outcome: Mapping[str, str] | None = None,
    presets: Sequence[Preset] = (),
    urgency: Urgency = Urgency.SILENT,
    panels: Sequence[Panel] = (),
    words: Sequence[str] = (),
    steps: str = "",
) -> Callable[[type[E]], type[E]]:
    """Make a class a frozen dataclass and register it under `type_`. Raises ValueError for a duplicate type."""

    def enter(cls: type[E]) -> type[E]:
        made = dataclass(frozen=True, kw_only=True, eq=False, repr=False)(cls)
        if type_ in KINDS:
            raise ValueError(f"two kinds of event are named {type_!r}")
        made.type = type_
        made.look = EventLook(icon, word, tone, tone_by_outcome or {}, presets, urgency, panels, words, steps)
        KINDS[type_] = made
        return made

    return enter
