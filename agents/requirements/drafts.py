"""Requirements while they are being collected, and the keys they get at the end.

Keys are short, because a model has to repeat them: R1, R2, … in the order of the document. An id that the author gave
(`FR-01`) is kept beside the key; when ids start anew in every step, phase or part, the step comes first (`S2-FR1`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from agents.requirements.model import ExtractedRequirement, Kind
from agents.requirements.sections import Role, heading_number, step_label
from agents.requirements.sentences import tidy

ID_WORD = re.compile(r"\b[A-Z][A-Za-z]{0,9}(?:[-_][A-Z]{1,8}){0,2}[-_.]?\d{1,4}(?:[.-]\d{1,3}){0,3}\b")
_MAX_KEY = 48
_MENTION_WORDS = frozenset(
    (
        "covered by see and or the implements implemented satisfied satisfies verified test tests task tasks traces to "
        "maps via requirement requirements for also related depends on yes no done"
    ).split()
)


@dataclass(slots=True)
class DraftSection:
    """An open heading: its depth, its number, and what it promises."""

    level: int
    title: str
    role: Role | None
    line: int
    number: tuple[int, ...] = ()
    step: str = ""


@dataclass(slots=True)
class Draft:
    """A requirement in the making. `kind` is None while it is only a candidate in prose."""

    a: int
    b: int
    kind: Kind | None
    parts: list[str] = field(default_factory=list)
    key: str = ""
    family: str = ""
    title: str = ""
    step: str = ""
    section: tuple[str, ...] = ()
    under: tuple[int, ...] = ()
    acceptance: list[str] = field(default_factory=list)
    source: str = "text"
    weak: bool = False
    indent: int = 0
    blocks: list[tuple[str, int, int, str]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All that was collected, in one line."""
        return tidy(" ".join(part for part in self.parts if part))

    def add(self, text: str, block: tuple[str, int, int, str], *, criterion: bool = False) -> None:
        """Take a further block in, as text or as an acceptance criterion."""
        self.cover(block)
        if criterion:
            if tidy(text):
                self.acceptance.append(tidy(text))
        else:
            self.parts.append(text)

    def cover(self, block: tuple[str, int, int, str]) -> None:
        """Widen the span of lines."""
        self.blocks.append(block)
        self.a, self.b = min(self.a, block[1]), max(self.b, block[2])

    def is_mention(self) -> bool:
        """Whether nothing is left besides ids and words such as "covered by"."""
        if self.acceptance:
            return False
        words = re.findall(r"[^\W\d_]{2,}", ID_WORD.sub(" ", f"{self.text} {self.title}"))
        return all(word.lower() in _MENTION_WORDS for word in words)


def new_section(level: int, title: str, role: Role | None, line: int, above: list[DraftSection]) -> DraftSection:
    """A section below `above`, in the step that it or one around it opens."""
    outer_step = next((s.step for s in reversed(above) if s.step), "")
    return DraftSection(level, title, role, line, heading_number(title), step_label(title) or outer_step)


def assign_keys(drafts: Iterable[Draft]) -> tuple[list[tuple[Draft, ExtractedRequirement]], list[Draft]]:
    """Number the requirements in the order of the document: R1, R2, …; the author's ids are kept beside the numbers.

    The second list holds drafts that only repeat or mention another one.
    """
    drafts = list(drafts)
    dropped = _repeats(drafts)
    kept = sorted((d for d in drafts if id(d) not in dropped), key=lambda d: (d.a, d.b))
    stepped = _stepped_families(kept)
    keyed = [(d, _requirement(d, f"R{number}", stepped)) for number, d in enumerate(kept, start=1)]
    return keyed, [d for d in drafts if id(d) in dropped]


def _requirement(draft: Draft, key: str, stepped: set[str]) -> ExtractedRequirement:
    author_key = f"{draft.step}-{draft.key}" if draft.key and draft.step and draft.family in stepped else draft.key
    return ExtractedRequirement(
        key=key,
        author_key=author_key[:_MAX_KEY].rstrip("-."),
        text=draft.text or draft.title or tidy(draft.blocks[0][3]) or draft.acceptance[0],
        kind=draft.kind or "functional",
        lines=(draft.a, draft.b),
        acceptance=tuple(draft.acceptance),
        title=tidy(draft.title),
        section=draft.section,
    )


def _repeats(drafts: list[Draft]) -> set[int]:
    """Drafts with an id that another draft of the same step defines better."""
    groups: dict[tuple[str, str], list[Draft]] = defaultdict(list)
    strong_anywhere: set[str] = set()
    for draft in drafts:
        if draft.key:
            groups[draft.key, draft.step].append(draft)
            if not draft.weak:
                strong_anywhere.add(draft.key)
    dropped: set[int] = set()
    for (key, _), group in groups.items():
        seen: set[str] = set()
        written = any(d.source != "row" and not d.weak for d in group)
        rows = 0
        for draft in group:
            text = draft.text.casefold()
            is_row = draft.source == "row"
            better = (draft.weak and (key in strong_anywhere or seen)) or (is_row and (written or rows))
            if better or text in seen:
                dropped.add(id(draft))
            rows += is_row
            seen.add(text)
    return dropped


def _stepped_families(drafts: list[Draft]) -> set[str]:
    """Families of ids (FR, AC) that start anew in another step."""
    steps: dict[str, set[str]] = defaultdict(set)
    families: dict[str, str] = {}
    for draft in drafts:
        if draft.key and draft.step:
            steps[draft.key].add(draft.step)
            families[draft.key] = draft.family
    return {families[key] for key, found in steps.items() if len(found) > 1}
