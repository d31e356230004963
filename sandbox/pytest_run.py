"""Run pytest in a sandbox and say what happened, with branch coverage: numbers that the tested code did not write."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from sandbox.base import ExecResult, Sandbox
from sandbox.test_report import Failure, TestReport, of_run, without_result
from sandbox.test_setup import TestSetup

INSIDE = Path(__file__).parent / "inside" / "pytest_report.py"


@runtime_checkable
class RunsScripts(Protocol):
    """A sandbox that can fork a Python with the test tools imported (see WarmSandbox)."""

    def run_script(
        self, source: str, argv: Sequence[str] = (), *, seconds: float | None = None, stdin: bytes = b""
    ) -> ExecResult:
        """Run Python source."""


def run_pytest(
    sandbox: Sandbox,
    args: Sequence[str] = (),
    *,
    seconds: float | None = None,
    coverage_of: str | None = ".",
    setup: TestSetup | None = None,
) -> TestReport:
    """Run pytest in /workspace; `coverage_of` is the folder whose code is measured (None: do not measure).

    Raises SandboxUnavailable when the sandbox broke; everything that the tests do wrong is in the report.
    """
    scratch = f"/tmp/{secrets.token_hex(16)}"  # noqa: S108 - inside the sandbox
    known = asdict(setup or TestSetup())
    given = {name: known[name] for name in ("python_path", "environment", "metadata", "modules")}
    request = json.dumps({"args": list(args), "coverage_of": coverage_of, "scratch": scratch, **given}).encode()
    source = INSIDE.read_text()
    if isinstance(sandbox, RunsScripts):
        done = sandbox.run_script(source, seconds=seconds, stdin=request)
    else:
        done = sandbox.exec(["python", "-c", source], seconds=seconds, stdin=request)
    read = sandbox.exec(["cat", f"{scratch}/report.json"], seconds=30)
    sandbox.exec(["rm", "-rf", scratch], seconds=30)
    found = _parsed(read.out) if read.ok and not read.truncated else None
    return _report(done, found)


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _report(done: ExecResult, found: dict[str, Any] | None) -> TestReport:
    if done.timed_out or found is None or found.get("exit_code") != done.exit_code:
        return without_result(done)
    try:
        failures = tuple(Failure(str(f["nodeid"]), str(f["message"]), str(f["traceback"])) for f in found["failures"])
        counts: dict[str, Any] = {
            name: int(found[name]) for name in ("passed", "failed", "errors", "skipped", "collected")
        }
        failing = tuple(map(str, found.get("failing", ())))
        covered = None if found["branch_coverage"] is None else float(found["branch_coverage"])
        uncovered = {str(path): [int(line) for line in lines] for path, lines in found["uncovered"].items()}
    except (KeyError, TypeError, ValueError, AttributeError):
        return without_result(done, "its report is malformed")
    problem = "no tests were found" if not counts["collected"] and not counts["errors"] else ""
    return TestReport(
        **counts,
        failures=failures,
        failing=failing,
        branch_coverage=covered,
        uncovered=uncovered,
        problem=problem,
        **of_run(done),
    )
