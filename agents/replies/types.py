"""What a reply is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

VerdictWord = Literal["test", "code", "neither", "approve", "reject"]
ReplyFormat = Literal["fences", "tags", "json"]
REPLY_FORMATS: tuple[ReplyFormat, ...] = ("fences", "tags", "json")


@dataclass(frozen=True)
class FileBlock:
    """A whole file, as written by the model; the path is not checked yet."""

    path: str
    content: str


@dataclass(frozen=True)
class EditBlock:
    """A search/replace edit of a file; the path is not checked yet. Both texts are whole lines."""

    path: str
    search: str
    replace: str


@dataclass(frozen=True)
class Diagnosis:
    """Why something failed, in the model's words; a part it left out is empty."""

    cause: str = ""
    evidence: str = ""
    hypothesis: str = ""
    plan: str = ""


@dataclass(frozen=True)
class Decision:
    """A choice with its reason, and the ids of the requirements it serves."""

    choice: str
    rejected: str
    reason: str
    requirements: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """A judgement: is the test, the code or neither wrong, or is the work approved or rejected."""

    choice: VerdictWord
    reason: str = ""


@dataclass
class Reply:
    """A reply taken apart. `thought` is all prose; `problems` says what could not be used, for the model's next turn.

    `protocol` is the form the files were found in, whatever form was asked for.
    """

    thought: str = ""
    files: list[FileBlock] = field(default_factory=list)
    edits: list[EditBlock] = field(default_factory=list)
    diagnosis: Diagnosis | None = None
    decisions: list[Decision] = field(default_factory=list)
    packages: list[str] = field(default_factory=list)
    removals: list[tuple[str, str]] = field(default_factory=list)  # paths and names of definitions
    verdict: Verdict | None = None
    problems: list[str] = field(default_factory=list)
    protocol: ReplyFormat = "fences"
