"""What every gate speaks: findings, reports, the policy that turns them into a verdict."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any, Literal

Verdict = Literal["pass", "blocked"]
MediumPolicy = Literal["disposition", "block", "report"]
UncheckedPolicy = Literal["ask", "block", "report"]
NOT_CHECKED = "dependencies-not-checked"  # the rule for packages that no source of advisories answers for


class GateError(ValueError):
    """The gate was asked for something that it cannot do (unknown tool, no such folder); the text is safe to show."""


class Severity(IntEnum):
    """How bad a finding is; ordered, so `>=` compares."""

    INFO = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3
    CRITICAL = 4

    @classmethod
    def read(cls, word: str) -> Severity:
        """Translate any scanner's word; an unknown word counts as HIGH, so that a new word cannot open the gate."""
        other = {"UNDEFINED": cls.INFO, "NOTE": cls.INFO, "WARNING": cls.MEDIUM, "ERROR": cls.HIGH}
        return {**cls.__members__, **other}.get(word.strip().upper(), cls.HIGH)


@dataclass(frozen=True, slots=True)
class GateFinding:
    """One thing a scanner saw, at a line of a file of the project (`line` counts from 1, 0 = the whole file)."""

    tool: str
    rule: str
    severity: Severity
    confidence: str
    cwe: str
    path: str
    line: int
    message: str
    remediation: str
    fingerprint: str = ""

    def __str__(self) -> str:
        """The finding in one line, as it stands among the reasons of a verdict."""
        return f"{self.severity.name} {self.tool} {self.rule} at {self.path}:{self.line}: {self.message}"

    def to_json(self) -> dict[str, Any]:
        """The shape that the command line prints and the dashboard stores."""
        return {**asdict(self), "severity": self.severity.name}


@dataclass(frozen=True, slots=True)
class RawFinding:
    """A finding in terms of a unit (or of a file as such), before it is mapped back to the project."""

    unit: str
    line: int
    rule: str
    severity: Severity
    confidence: str
    cwe: str
    message: str
    remediation: str
    skip_in_tests: bool = False
    subject: str = ""  # what else makes it the same finding, where the line does not say all of it

    def lowered(self) -> RawFinding:
        """The same finding as one that only informs: LOW, and not sure."""
        return replace(self, severity=Severity.LOW, confidence="LOW", skip_in_tests=False)


@cache
def own_rules() -> dict[str, dict[str, Any]]:
    """What the product's own checks report, by rule."""
    return tomllib.loads(Path(__file__).with_name("own_rules.toml").read_text("utf-8"))


def own_finding(rule: str, unit: str, line: int, **details: object) -> RawFinding:
    """A finding of one of the product's own checks; `details` fill the holes in its texts."""
    row = own_rules()[rule]
    message, remediation = (row[key].format(**details) for key in ("message", "remediation"))
    severity = Severity[row["severity"]]
    return RawFinding(unit, line, row.get("rule", rule), severity, "HIGH", row["cwe"], message, remediation)


@dataclass(frozen=True, slots=True)
class ToolReport:
    """What one scanner did. `problem` says why its silence proves nothing; it blocks whatever was found."""

    name: str
    ran: bool
    version: str = ""
    files_scanned: int = 0
    problem: str = ""
    findings: tuple[GateFinding, ...] = ()
    seconds: float = 0.0

    def joined(self, other: ToolReport) -> ToolReport:
        """The report over two parts of one folder."""
        problems = dict.fromkeys(filter(None, (self.problem, other.problem)))
        return replace(
            self,
            ran=self.ran and other.ran,
            files_scanned=self.files_scanned + other.files_scanned,
            problem="; ".join(problems),
            findings=self.findings + other.findings,
            seconds=self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True)
class GateReport:
    """The verdict over a folder, with its reasons, most serious first."""

    verdict: Verdict
    reasons: tuple[str, ...]
    tools: Mapping[str, ToolReport]
    findings: tuple[GateFinding, ...]

    @property
    def passed(self) -> bool:
        """True when nothing stands against a merge."""
        return self.verdict == "pass"

    def without(self, known: Collection[str]) -> GateReport:
        """The report without the findings of these fingerprints, and without the reasons that only they gave."""
        kept = tuple(finding for finding in self.findings if finding.fingerprint not in known)
        gone = {str(finding) for finding in self.findings} - {str(finding) for finding in kept}
        reasons = tuple(reason for reason in self.reasons if reason not in gone)
        return replace(self, verdict="blocked" if reasons else "pass", reasons=reasons, findings=kept)

    def to_json(self) -> dict[str, Any]:
        """The stable document of `aiswe gate --json`."""
        return {
            "verdict": self.verdict,
            "reasons": list(self.reasons),
            "tools": {
                name: {"ran": tool.ran, "version": tool.version, "files_scanned": tool.files_scanned}
                for name, tool in self.tools.items()
            },
            "findings": [finding.to_json() for finding in self.findings],
        }


@dataclass(frozen=True, slots=True)
class Disposition:
    """A person's decision to live with one finding, until `expires` (an aware moment)."""

    reason: str
    expires: datetime

    def holds(self, now: datetime | None = None) -> bool:
        """False once expired, without a reason, or with a moment that names no time zone."""
        if not self.reason.strip() or self.expires.tzinfo is None:
            return False
        return (now or datetime.now(UTC)) < self.expires


_UNCHECKED = {"ask": Severity.MEDIUM, "block": Severity.HIGH, "report": Severity.LOW}


@dataclass(frozen=True, slots=True)
class Policy:
    """What blocks, and how much is scanned. Comes from the product only, never from the scanned folder."""

    block_at: Severity = Severity.HIGH
    medium: MediumPolicy = "disposition"
    # What no scanner reads: a person decides as about a MEDIUM finding, it blocks, or it is only reported.
    unchecked: UncheckedPolicy = "ask"
    # A person may overrule HIGH findings too (with reason and expiry); automation never writes dispositions.
    high_may_be_disposed: bool = True
    skip_dependencies: bool = False
    # A larger folder is scanned in parts of so many files and bytes, each within the time limit.
    max_files: int = 5_000
    max_file_bytes: int = 2_000_000
    max_total_bytes: int = 100_000_000
    max_parts: int = 40
    timeout_seconds: float = 120.0
    line_length: int = 120
    extra_secrets: tuple[str, ...] = field(default=(), repr=False)
    answers: Path | None = None  # a folder for what package indexes said about releases
    package_lists: tuple[Path, ...] = ()  # files that reserve names for an index (sandbox.package_index.allowlist)

    def severity(self, raw: RawFinding) -> Severity:
        """How bad a finding is here."""
        return _UNCHECKED[self.unchecked] if raw.rule == "not-checked" else raw.severity


_SPACE = re.compile(rb"\s+")


def fingerprint(rule: str, path: str, code_line: bytes, occurrence: int = 0, around: bytes = b"") -> str:
    """An identity that survives line moves and re-indentation, and ends when what the line depends on changes.

    `around` is the text of that (see surroundings.py). `occurrence` numbers equal lines of one file: without it, one
    disposition would also cover a later copy. The second half knows neither path nor surroundings (`content_mark`).
    """
    normal = _SPACE.sub(b" ", code_line).strip()
    place = path.encode(errors="surrogateescape")
    identity = [rule.encode(), place, normal, str(occurrence).encode(), around]
    return "".join(hashlib.sha256(b"\0".join(one)).hexdigest()[:32] for one in (identity, [rule.encode(), normal]))


def content_mark(mark: str) -> str:
    """The part of a fingerprint by which a weakness is known again in another place; "" for those of older versions."""
    return mark[32:]
