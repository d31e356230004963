"""What came of a rehearsal: a row for each commit, their figures, and in one sentence what to expect."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

WORKS = "works"
MERGED = "merged"
Z95 = 1.959963984540054
# From which share of commits done right, with its uncertainty, people may leave how much to it.
_AUTONOMY = ((0.9, "gates_only"), (0.6, "plan_gates"), (0.0, "plan_gates"))


@dataclass
class CommitResult:
    """What became of one commit.

    `outcome` is merged, blocked (a person or a gate stood against it), escalated, looked_at (no model was to build it)
    or skipped (its environment does not work); gates that did not run block None; `asked` are the questions that were
    answered with yes; `seconds` are those of the clock. `fail_to_pass` and `pass_to_pass` are upstream's tests that
    upstream's code passes, by whether they failed before it; `resolved` says whether they pass on what was built, and
    `patch` is that.
    """

    sha: str
    subject: str
    environment: str = ""
    gates: dict[str, Any] = field(default_factory=lambda: {"blocked": None, "findings": []})
    sight: dict[str, list[int]] = field(default_factory=dict)
    outcome: str = "skipped"
    cause: str = ""
    as_upstream: bool = False
    resolved: bool | None = None
    first_try: bool = False
    asked: list[str] = field(default_factory=list)
    tries: int = 0
    tokens: int = 0
    seconds: float = 0.0
    fail_to_pass: list[str] = field(default_factory=list)
    pass_to_pass: list[str] = field(default_factory=list)
    patch: str = ""

    def to_json(self) -> dict[str, Any]:
        """Its row in the document of a rehearsal."""
        return {**asdict(self), "questions": len(self.asked)}

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> CommitResult:
        """The result that to_json() wrote. Raises TypeError for a row of another form."""
        return cls(**{name: value for name, value in row.items() if name != "questions"})


def totals(rows: Sequence[CommitResult]) -> dict[str, Any]:
    """The figures of a rehearsal: counts, sums, and shares in sight."""
    works = [row for row in rows if row.environment == WORKS]
    built = [row for row in works if row.outcome != "looked_at"]
    return {
        "commits": len(rows),
        "environment_works": len(works),
        "gates_ran": sum(row.gates["blocked"] is not None for row in rows),
        "gates_block": sum(bool(row.gates["blocked"]) for row in rows),
        "built": len(built),
        "merged": sum(row.outcome == MERGED for row in built),
        "as_upstream": sum(row.as_upstream for row in built),
        "resolved": sum(bool(row.resolved) for row in built),
        "first_try": sum(row.first_try for row in built),
        "questions": sum(len(row.asked) for row in rows),
        "tokens": sum(row.tokens for row in rows),
        "seconds": round(sum(row.seconds for row in rows), 1),
        "sight": {
            name: [sum(row.sight.get(name, [0, 0])[place] for row in works) for place in (0, 1)]
            for name in ("files", "definitions", "callers")
        },
    }


def sentence(found: Mapping[str, Any]) -> str:
    """What to expect of the next change, for somebody who decides. It says no more than was tried."""
    commits, works, built = found["commits"], found["environment_works"], found["built"]
    if not commits:
        return "No past commit of this repository is small enough, with code and tests, to be done again."
    if not works:
        return f"The tests of none of {commits} past commits can be run here, so nothing is known of how work would go."
    ran = f"The tests of {works} of {commits} past commits run here"
    blocked, seen = found["gates_block"], found["gates_ran"]
    gate = f"the gates would have stopped {blocked} of the {seen} that people accepted" if blocked else ""
    if not built:
        passed = f"the gates would have let {'all of them' if seen == commits else f'the {seen} that they saw'} pass"
        return f"{ran}; {gate or passed}. No model has been tried."
    merged, low, high = found["resolved"], *wilson(found["resolved"], built)
    share = f"{merged} of {built} came out right"
    more = f"so of 100 changes like these, {low * 100:.0f} to {high * 100:.0f} can be expected to"
    return f"{ran}; {share}, {more}." + (f" {gate[0].upper()}{gate[1:]}." if gate else "")


def autonomy(found: Mapping[str, Any]) -> str:
    """The level of autonomy that the figures speak for, as projects name it; plan_gates while little is known."""
    if not found["built"]:
        return "plan_gates"
    low = wilson(found["resolved"], found["built"])[0]
    return next(level for least, level in _AUTONOMY if low >= least)


def wilson(hits: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share after Wilson (1927), as shares of one; (0, 1) for nothing measured."""
    if not of:
        return 0.0, 1.0
    share, square = hits / of, Z95 * Z95
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = Z95 / (1 + square / of) * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    # All and none are exact; rounding would leave 0.9999999999999999.
    return max(0.0, middle - half) if hits else 0.0, min(1.0, middle + half) if hits < of else 1.0
