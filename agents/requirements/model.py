"""What extraction answers with: requirements, and the paragraphs that became none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

Kind = Literal["functional", "non_functional", "story", "constraint", "goal", "non_goal", "acceptance"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Lines = tuple[int, int]


class Stated(Protocol):
    """A requirement as far as rules about several of them look at it."""

    @property
    def key(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def author_key(self) -> str: ...
    @property
    def acceptance(self) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True)
class ExtractedRequirement:
    """One thing the document asks for, in its own words.

    `key` is short (R1, R2, …); `author_key` is the id that the author gave, "" without one. `lines` is the span in the
    source, first and last line included, counted from 1. `acceptance` are the criteria written with it. `section` is
    the path of headings above it, outermost first. `passages` are spans elsewhere that explain it, the most telling
    first: examples, formats, tables, and what names it.
    """

    key: str
    text: str
    kind: Kind
    lines: Lines
    author_key: str = ""
    acceptance: tuple[str, ...] = ()
    title: str = ""
    section: tuple[str, ...] = ()
    passages: tuple[Lines, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The part of it that other programs rely on."""
        return {
            "key": self.key,
            "author_key": self.author_key,
            "text": self.text,
            "kind": self.kind,
            "lines": list(self.lines),
            "acceptance": list(self.acceptance),
            "passages": [list(lines) for lines in self.passages],
        }


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A piece of the document that became no requirement; `kind` is text, item, table, code or heading."""

    text: str
    lines: Lines
    kind: str = "text"
    section: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The part of it that other programs rely on."""
        return {"text": self.text, "kind": self.kind, "lines": list(self.lines)}


@dataclass(frozen=True, slots=True)
class Extraction:
    """All requirements in the order of the document, and all paragraphs that are none of them.

    `paragraphs` counts every paragraph of the document, headings apart.
    """

    requirements: tuple[ExtractedRequirement, ...]
    unmapped: tuple[Paragraph, ...]
    paragraphs: int = 0
    questions: tuple[Paragraph, ...] = ()

    @property
    def mapped_paragraphs(self) -> int:
        """How many paragraphs belong to a requirement."""
        return self.paragraphs - sum(1 for p in self.unmapped if p.kind != "heading")

    def to_json(self) -> dict[str, Any]:
        """Three lists: `requirements`, `unmapped` and `questions`."""
        return {
            "requirements": [r.to_json() for r in self.requirements],
            "unmapped": [p.to_json() for p in self.unmapped],
            "questions": [{"text": q.text, "lines": list(q.lines)} for q in self.questions],
        }
