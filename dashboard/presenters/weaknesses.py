"""Findings as the gate page shows them: one entry a weakness, with the code around it and its state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import unified_diff

from django.utils import timezone
from django.utils.safestring import SafeString

from dashboard.presenters import best
from dashboard.text import diffs, highlight
from projects.models import Attempt, Finding, Task
from projects.services.work import findings

SEVERITY = {"CRITICAL": 0, "HIGH": 1, "ERROR": 1, "MEDIUM": 2, "WARNING": 2, "LOW": 3, "INFO": 4}
AROUND = 6  # lines shown before and after the one that is marked


@dataclass(frozen=True)
class CodeLine:
    """A line with syntax colours; `hit` is the one that is meant."""

    number: int
    html: SafeString
    hit: bool


@dataclass
class FindingGroup:
    """What one or more scanners report of one line under one CWE: it is decided once."""

    findings: list[Finding]
    code: list[CodeLine] = field(default_factory=list)

    @property
    def first(self) -> Finding:
        """The most severe report."""
        return self.findings[0]

    @property
    def key(self) -> str:
        """What the names of its fields in a form begin with, without the "f"."""
        return str(self.first.pk)

    @property
    def fixed(self) -> bool:
        """Whether no scanner reports it any more."""
        return all(one.state == Finding.State.FIXED for one in self.findings)

    @property
    def blocks(self) -> bool:
        """Whether it keeps the change from passing."""
        return any(self.is_open(one) and one.blocks for one in self.findings)

    @property
    def must(self) -> bool:
        """Whether something has to become of it before the change can pass."""
        return self.blocks or (not self.lesser and not self.fixed and not self.decided)

    @property
    def decided(self) -> bool:
        """Whether a decision in force is about each report."""
        return not self.fixed and not any(self.is_open(one) for one in self.findings)

    @property
    def lesser(self) -> bool:
        """Whether it is shown below those that block."""
        return SEVERITY.get(self.first.severity.upper(), 1) > SEVERITY["MEDIUM"]

    @property
    def severe(self) -> bool:
        """Whether a decision to live with it takes the right to override gates."""
        return any(findings.is_severe(one) for one in self.findings)

    def is_open(self, one: Finding) -> bool:
        """Whether a report still waits for a fix or a decision."""
        return one.state != Finding.State.FIXED and not findings.still_holds(one, timezone.now())


def weaknesses_of(task: Task, *, with_code: bool = True) -> list[FindingGroup]:
    """All of a task, what blocks first, fixed ones last."""
    rows = list(task.findings.select_related("decided_by", "seconded_by"))
    rows.sort(key=lambda one: SEVERITY.get(one.severity.upper(), 1))
    groups: dict[tuple[object, ...], FindingGroup] = {}
    for row in rows:
        gone = row.state == Finding.State.FIXED
        # Without a CWE nothing says that two scanners mean the same.
        key = (row.path, row.line, row.cwe, gone) if row.cwe and row.line else (row.pk,)
        groups.setdefault(key, FindingGroup([])).findings.append(row)
    found = sorted(groups.values(), key=lambda one: (one.fixed, not one.blocks, one.lesser))
    if with_code:
        sides = sides_of(task)
        for one in found:
            one.code = window(sides.get(one.first.path, []), one.first.path, one.first.line)
    return found


def change_of(task: Task) -> tuple[list[diffs.FileDiff], int]:
    """The newest change of a task by file, and how many lines were left out."""
    newest = task.attempts.exclude(diff="").order_by("-number").first()
    return diffs.parse(newest.diff if newest else "")


Side = list[tuple[int, str]]  # numbers and texts of the lines of a file that a diff shows


def sides_of(task: Task) -> dict[str, Side]:
    """The newest known lines of each file that the task's change touches."""
    sides = new_sides(change_of(task)[0])
    kept = best.best_of(task)
    whole = {one.path: list(enumerate(one.text.splitlines(), 1)) for one in kept.files} if kept else {}
    return {**whole, **sides}


def new_sides(files: Iterable[diffs.FileDiff]) -> dict[str, Side]:
    """Of each file the lines that a diff leaves there."""
    return {one.path: [(row.new, row.text) for row in one.lines if row.new is not None] for one in files}


def window(side: Side, path: str, line: int, around: int = AROUND) -> list[CodeLine]:
    """The lines around `line` with syntax colours; none when that line is not known."""
    here = [(number, text) for number, text in side if abs(number - line) <= around]
    if line not in {number for number, _ in here}:
        return []
    coloured = highlight.lines(path, "\n".join(text for _, text in here))
    coloured += [SafeString()] * (len(here) - len(coloured))
    return [CodeLine(number, html, number == line) for (number, _), html in zip(here, coloured, strict=False)]


@dataclass(frozen=True)
class TryShown:
    """A try as a row: what was believed, what it changed since the try before, and whether it failed the same way."""

    attempt: Attempt
    files: list[diffs.FileDiff]
    same: bool

    @property
    def counts(self) -> str:
        """Lines added and removed."""
        return f"+{sum(one.added for one in self.files)} −{sum(one.removed for one in self.files)}"


def tries_of(attempts: Sequence[Attempt]) -> list[TryShown]:
    """Tries with what each changed since the one before; `same` when its failure was seen in an earlier one."""
    rows, before, seen = [], dict[str, Side](), set[str]()
    for attempt in attempts:
        files = diffs.parse(attempt.diff)[0]
        now = new_sides(files) if attempt.diff else before
        if before:
            files = changed(before, now)
        rows.append(TryShown(attempt, files, bool(attempt.error_signature) and attempt.error_signature in seen))
        seen.add(attempt.error_signature)
        before = now
    return rows


def changed(before: dict[str, Side], now: dict[str, Side]) -> list[diffs.FileDiff]:
    """What differs between two versions of files, as far as they are known; without the numbers of lines."""
    lines = [
        line
        for path in sorted(before.keys() | now.keys())
        for line in unified_diff(_texts(before, path), _texts(now, path), path, path, n=2, lineterm="")
    ]
    files = diffs.parse("\n".join(lines))[0] if lines else []
    for file in files:
        file.lines = [replace(row, old=None, new=None) for row in file.lines if row.kind != "hunk"]
    return files


def _texts(sides: dict[str, Side], path: str) -> list[str]:
    return [text for _, text in sides.get(path, [])]
