"""What a test run in a sandbox showed, whatever tool ran it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sandbox.base import ExecResult

TAIL = 8000  # characters of output that are kept
NO_REPORT = "the test run ended before it could report"


@dataclass(frozen=True)
class Failure:
    """One failed test, or one file that could not be collected."""

    nodeid: str
    message: str
    traceback: str


@dataclass(frozen=True)
class Hang:
    """A test that reached its time limit: where it stood, innermost frame of the project first."""

    nodeid: str
    frames: tuple[str, ...]  # "path:line in function"
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class Covered:
    """Shares in percent; a module without branches has all of them covered. `missing` are line numbers."""

    lines: float = 0.0
    branches: float = 0.0
    missing: tuple[int, ...] = ()

    def meets(self, target: float) -> bool:
        """True when both shares are over the target, or 100 % (SWE-US-02 asks for more than 80 %)."""
        return all(share > target or share == 100.0 for share in (self.lines, self.branches))


@dataclass(frozen=True)
class TestReport:
    """What a test run showed. `branch_coverage` is in percent of lines and branches, None when nothing was measured.

    `void` says why nothing is proven, whatever the counts: the checks of the run itself failed, or the machine did.
    `outcomes` are passed, failed, error, skipped or deselected by node id, for runners that tell them.
    """

    __test__ = False  # its name begins like a test class

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    collected: int = 0
    failures: tuple[Failure, ...] = ()  # the first of them, with their traces
    failing: tuple[str, ...] = ()  # the names of all
    branch_coverage: float | None = None
    covered: Mapping[str, Covered] = field(default_factory=dict)  # by file
    output: str = ""  # the tail of what the runner printed
    exit_code: int | None = None
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    timed_out: bool = False
    starved: bool = False  # it timed out because the machine had no CPU for it
    out_of_memory: bool = False
    problem: str = ""  # why there is no proper result, in words
    void: str = ""
    broken: bool = False  # at its end not even a test that must pass did: what ran before broke the runner
    hangs: tuple[Hang, ...] = ()
    outcomes: Mapping[str, str] = field(default_factory=dict)
    skips: Mapping[str, str] = field(default_factory=dict)  # node id -> where and why
    hooks: tuple[str, ...] = ()  # that files of the project added to the runner: "path: name"
    services: tuple[str, ...] = ()  # servers that ran for the tests: "name (program or image)"

    @property
    def uncovered(self) -> dict[str, list[int]]:
        """By file the lines that no test reached, or did not leave by every way."""
        return {path: list(one.missing) for path, one in self.covered.items() if one.missing}

    @property
    def ok(self) -> bool:
        """True when at least one test ran and passed, and none failed; no tests at all is not a pass."""
        ran = self.exit_code == 0 and self.passed > 0
        return ran and not (self.problem or self.void or self.failed or self.errors)


def of_run(done: ExecResult) -> dict[str, Any]:
    """What every report takes from the command itself."""
    output = (done.out + ("\n" + done.err if done.err.strip() else ""))[-TAIL:]
    same = ("seconds", "cpu_seconds", "exit_code", "out_of_memory", "starved")
    return {"output": output, **{name: getattr(done, name) for name in same}}


def without_result(done: ExecResult, why: str = "", **found: Any) -> TestReport:
    """The report of a run that ended before it could report, or whose report is not usable."""
    if done.timed_out:
        problem = f"the tests did not end within {done.seconds:.0f} s"
        return TestReport(**of_run(done) | found | {"exit_code": None}, timed_out=True, problem=problem)
    why = why or ("out of memory" if done.out_of_memory else f"exit code {done.exit_code}")
    return TestReport(**of_run(done) | found, problem=f"{NO_REPORT} ({why})")
