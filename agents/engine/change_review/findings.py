"""What a review says of a change: remarks on changed lines, the evidence of each, and which few of them are told."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from agents.engine.change_review.units import ChangedPiece, DiffRow
from agents.engine.nodes.common import one_line

# How sure a remark is, the surest first: a test that passes before the change and fails after it; what a tool reports
# of the changed line alone; a test of new code that fails; the model's word, which it gave twice.
Strength = Literal["proven", "found", "shown", "believed"]
STRENGTHS: tuple[Strength, ...] = ("proven", "found", "shown", "believed")
KINDS = ("bug", "security", "performance", "rule")
MOST, MOST_BELIEVED = 5, 2
NEAR = 5  # lines between two proven remarks on one fault
LEAST_QUOTE = 4  # characters; a shorter one stands in every file
_SPACE = re.compile(r"\s+")
_MARK = re.compile(r"^\s*[+-]?\s*\d*\s?")


@dataclass(frozen=True)
class ReviewFinding:
    """One remark; `quote` is the changed line as it stands, `removed` when the change takes that line away.

    `line` counts in the new file; 0 when what was found belongs to no line. `evidence` are sentences, `test` is the
    text of a test that shows it.
    """

    path: str
    line: int
    quote: str
    kind: str
    text: str
    strength: Strength = "believed"
    evidence: tuple[str, ...] = ()
    removed: bool = False
    test: str = ""

    @property
    def where(self) -> str:
        """The place, as people write it."""
        return f"{self.path}:{self.line}" if self.line else self.path


@dataclass
class ChangeReview:
    """What came of a review. `dropped` counts the model's remarks that are not told, by the reason."""

    base: str
    head: str
    findings: list[ReviewFinding] = field(default_factory=list)
    files: int = 0
    pieces: int = 0  # that the model was asked about
    unread: list[str] = field(default_factory=list)  # changed files, or parts of them, that it was not asked about
    notes: list[str] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)

    def drop(self, why: str) -> None:
        """Count a remark that is not told."""
        self.dropped[why] = self.dropped.get(why, 0) + 1

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def read_remark(said: Mapping[str, Any], piece: ChangedPiece) -> tuple[ReviewFinding | None, str]:
    """The model's remark on a changed line of the piece; None and why where it names none.

    The quote decides which line is meant, and among equal ones the number.
    """
    text, kind = one_line(str(said.get("problem", ""))), str(said.get("kind", "bug"))
    row = _quoted(str(said.get("quote", "")), said.get("line"), piece.changed)
    if row is None:
        return None, "it quotes no changed line"
    if len(text) < 2 * LEAST_QUOTE:
        return None, "it says nothing"
    example = one_line(str(said.get("example", "")))
    evidence = (f"Example: {example}",) if example else ()
    kind = kind if kind in KINDS else "bug"
    return ReviewFinding(piece.path, row.line, row.text.strip(), kind, text, "believed", evidence, row.mark == "-"), ""


def _quoted(quote: str, number: Any, rows: Sequence[DiffRow]) -> DiffRow | None:
    first = next((one for one in quote.splitlines() if one.strip()), "")
    # Models copy the marks and numbers of what they were shown.
    for wanted in (_plain(first), _plain(_MARK.sub("", first))):
        if len(wanted) < LEAST_QUOTE:
            continue
        same = [row for row in rows if _plain(row.text) == wanted] or [
            row for row in rows if wanted in _plain(row.text)
        ]
        if same:
            near = number if isinstance(number, int) else same[0].line
            return min(same, key=lambda row: (abs(row.line - near), row.mark == "-"))
    return None


def _plain(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


def merged(findings: Iterable[ReviewFinding]) -> list[ReviewFinding]:
    """One remark a line, the surest, with the evidence of all; of proven ones one a few lines: it is the same fault."""
    kept = list[ReviewFinding]()
    for one in sorted(findings, key=lambda each: (STRENGTHS.index(each.strength), not each.test)):
        first = next((each for each in kept if _same(each, one)), None)
        if first is None:
            kept.append(one)
        else:
            more = [said for said in (one.text, *one.evidence) if said not in first.evidence and not one.test]
            kept[kept.index(first)] = replace(first, evidence=(*first.evidence, *more))
    return kept


def _same(one: ReviewFinding, other: ReviewFinding) -> bool:
    if one.path != other.path or not (one.line and other.line):
        return one == other
    near = NEAR if one.strength == other.strength == "proven" else 0
    return abs(one.line - other.line) <= near


def told(findings: Sequence[ReviewFinding]) -> tuple[list[ReviewFinding], int]:
    """The few that are told, the surest first, and how many are not: a long list is not read."""
    ranked = sorted(
        findings,
        key=lambda one: (STRENGTHS.index(one.strength), KINDS.index(one.kind), one.path, one.line),
    )
    believed = [one for one in ranked if one.strength == "believed"][:MOST_BELIEVED]
    kept = [one for one in ranked if one.strength != "believed" or one in believed][:MOST]
    return kept, len(findings) - len(kept)
