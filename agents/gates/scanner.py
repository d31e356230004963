"""What a scanner gets and gives. Each one also scans known-bad canaries in the same run, to prove that it looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from agents.gates.base import Policy, RawFinding
from agents.gates.source import Unit


@dataclass(slots=True)
class Scan:
    """What a scanner did. `scanned` names the units it really read; a wanted unit missing there blocks.

    `failures` says of single units why they could not be read, in whole or in part.
    """

    version: str = ""
    ran: bool = False
    problem: str = ""
    scanned: set[str] = field(default_factory=set)
    findings: list[RawFinding] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stage:
    """The units for one scanner, its canaries among them, and a fresh folder of its own.

    `deadline` is a `time.monotonic()` moment; `root` is where other files of the project are, for `read_beside`.
    """

    scratch: Path
    units: Sequence[Unit]
    policy: Policy
    deadline: float
    root: Path | None = None

    def write(self) -> Path:
        """Lay the units out as files in a folder that holds nothing else, and return it."""
        folder = self.scratch / "code"
        folder.mkdir()
        for unit in self.units:
            (folder / unit.name).write_bytes(unit.data)
        return folder


@dataclass(frozen=True, slots=True)
class Canary:
    """A known-bad unit and the rules that must fire on it."""

    unit: Unit
    rules: frozenset[str]


def canary(name: str, language: str, text: str, *rules: str) -> Canary:
    """Make a canary; `name` ends in the suffix that the scanner expects."""
    return Canary(Unit(f"canary_{name}", "", language, text.encode()), frozenset(rules))


class Scanner(Protocol):
    """One tool. `scan` reports trouble in `Scan.problem`; an exception counts as a crash and blocks."""

    @property
    def name(self) -> str:
        """The name in reports and on the command line."""
        ...

    @property
    def languages(self) -> frozenset[str]:
        """The languages of units that it must read."""
        ...

    @property
    def canaries(self) -> tuple[Canary, ...]:
        """What it must catch in the same run."""
        ...

    def scan(self, stage: Stage) -> Scan:
        """Scan every unit of the stage."""
        ...
