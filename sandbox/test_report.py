"""What a test run in a sandbox showed, whatever tool ran it."""

from __future__ import annotations

from dataclasses import dataclass, field

TAIL = 8000  # characters of output that are kept
NO_REPORT = "the test run ended before it could report"


@dataclass(frozen=True)
class Failure:
    """One failed test, or one file that could not be collected."""

    nodeid: str
    message: str
    traceback: str


@dataclass(frozen=True)
class TestReport:
    """What a test run showed. `branch_coverage` is in percent of lines and branches, None when nothing was measured."""

    __test__ = False  # its name begins like a test class

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    collected: int = 0
    failures: tuple[Failure, ...] = ()
    branch_coverage: float | None = None
    uncovered: dict[str, list[int]] = field(default_factory=dict)
    output: str = ""  # the tail of what the runner printed
    exit_code: int | None = None
    seconds: float = 0.0
    timed_out: bool = False
    out_of_memory: bool = False
    problem: str = ""  # why there is no proper result, in words

    @property
    def ok(self) -> bool:
        """True when at least one test ran and passed, and none failed; no tests at all is not a pass."""
        return not self.problem and self.exit_code == 0 and self.passed > 0 and not self.failed and not self.errors
