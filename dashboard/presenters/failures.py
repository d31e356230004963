"""A failing test as evidence: the assertion with its line, what was expected and what came, and a heading in words."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from dashboard.presenters.weaknesses import CodeLine
from dashboard.text import highlight, safe
from projects.models import Attempt, Task

SHORT = 60  # characters of a value in a heading
# Runners' words for two values that were to be equal. In pytest the left side is by custom what the code gives.
_SIDES = (
    re.compile(r"^(?:\w*Error: )?assert (?P<given>.+?) == (?P<expected>.+)$", re.MULTILINE),
    re.compile(r"^\s*Expected:? (?P<expected>.+)\n\s*(?:Received|Actual|Got):? +(?P<given>.+)$", re.MULTILINE),
    re.compile(r"^(?:\w*Error: )?(?P<given>.+?) != (?P<expected>.+?)(?: : .*)?$", re.MULTILINE),
)
_PLACE = re.compile(r"^(?P<path>[^\s:]+):(?P<line>\d+):", re.MULTILINE)
_QUESTION = re.compile(r"(?:^|(?<=[.!:;\n]))\s*([^.!:;\n?]{8,180}\?)")


@dataclass(frozen=True)
class FailedTest:
    """One failing test; `given` and `expected` are "" where the runner names no two values."""

    test: str
    message: str
    given: str = ""
    expected: str = ""
    path: str = ""
    code: list[CodeLine] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The test without its file."""
        return self.test.rpartition("::")[2] or self.test

    @property
    def words(self) -> str:
        """What fails, in one sentence."""
        if self.expected and max(len(self.given), len(self.expected)) <= SHORT:
            return f"{self.name} expects {self.expected}, and the code gives {self.given}"
        first = self.message.strip().partition("\n")[0]
        return f"{self.name} fails: {first}" if first else f"{self.name} fails"


def failures_of(attempt: Attempt | None) -> list[FailedTest]:
    """The failing tests of a try."""
    rows = attempt.tests.get("failures") if attempt and isinstance(attempt.tests, dict) else []
    return [_failure(row) for row in safe.listed(rows) if isinstance(row, dict)]


def _failure(row: dict[str, Any]) -> FailedTest:
    message, trace = safe.plain(row.get("message", ""), 6_000), safe.plain(row.get("traceback", ""), 6_000)
    sides = next((found for shape in _SIDES if (found := shape.search(message))), None)
    given, expected = (safe.one_line(sides[name], 400) for name in ("given", "expected")) if sides else ("", "")
    test = safe.one_line(row.get("nodeid", ""), 300)
    place = _PLACE.search(trace)
    path = place["path"] if place else test.partition("::")[0]
    return FailedTest(test, message, given, expected, path, _lines(path, trace, int(place["line"]) if place else 0))


def _lines(path: str, trace: str, line: int) -> list[CodeLine]:
    """The test's own frame, the first of a trace as pytest prints it: its line begins with ">", numbered when known."""
    frame: list[tuple[str, bool]] = []
    for row in trace.splitlines():
        if not row.strip() or row.startswith(("E ", "_ _")) or _PLACE.match(row) or set(row.strip()) == {"^"}:
            if frame and any(hit for _, hit in frame):
                break
            continue
        frame.append((row[1:] if row.startswith(">") else row, row.startswith(">")))
    hit = next((place for place, (_, is_hit) in enumerate(frame) if is_hit), None)
    if hit is None:
        return []
    coloured = highlight.lines(path, "\n".join(row for row, _ in frame))
    first = line - hit
    numbered = zip(frame, coloured, strict=False)
    return [CodeLine(first + place, html, is_hit) for place, ((_, is_hit), html) in enumerate(numbered)]


def heading_of(task: Task, failures: list[FailedTest]) -> str:
    """The question that a person has to answer if the agents put one, else what fails, else why it was given up."""
    first_line = task.escalation.strip().partition("\n")[0]
    if asked := _QUESTION.search(first_line):
        return asked[1].strip()
    return failures[0].words if failures else first_line.replace("**", "")
