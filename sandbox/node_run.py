"""Run `node --test` in a sandbox and report the result, from the summary that Node writes after the last test."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sandbox.base import ExecResult, Sandbox
from sandbox.test_report import Failure, TestReport, of_run, without_result

SUMMARY = re.compile(r"^# (tests|pass|fail|cancelled|skipped|todo) (\d+)$", re.MULTILINE)
PLAN = re.compile(r"^1\.\.\d+$", re.MULTILINE)
WHOLE_FILE = re.compile(r"^ok \d+ - (/workspace/\S+\.[cm]?[jt]s)$")
NOT_OK = re.compile(r"^(\s*)not ok \d+ - (.*)$")
MOST_FAILURES = 50


def run_node_tests(sandbox: Sandbox, paths: Sequence[str] = (), *, seconds: float | None = None) -> TestReport:
    """Run Node's own test runner in /workspace, on all tests it finds or on these files; coverage is not measured.

    Raises SandboxUnavailable when the sandbox broke; everything that the tests do wrong is in the report.
    """
    done = sandbox.exec(["node", "--test", "--test-reporter=tap", *paths], seconds=seconds)
    return read_tap(done)


def read_tap(done: ExecResult) -> TestReport:
    """The report of a run; what tests print before the last plan line is not believed."""
    plans = list(PLAN.finditer(done.out))
    counts = {name: int(count) for name, count in SUMMARY.findall(done.out[plans[-1].end() :])} if plans else {}
    if done.timed_out or not {"tests", "pass", "fail"} <= counts.keys():
        return without_result(done)
    return TestReport(
        passed=counts["pass"],
        failed=counts["fail"] + counts.get("cancelled", 0),
        skipped=counts.get("skipped", 0) + counts.get("todo", 0),
        collected=counts["tests"],
        failures=tuple(_failures(done.out)),
        **of_run(done),
        problem=_problem(counts["tests"], _empty_files(done.out)),
    )


def _problem(tests: int, empty: Sequence[str]) -> str:
    if empty:
        return f"no test ended in {', '.join(path.removeprefix('/workspace/') for path in empty[:5])}"
    return "" if tests else "no tests were found"


def _empty_files(text: str) -> list[str]:
    """Files that passed without a test having ended in them, as one does that leaves the process early."""
    found, inner = [], False
    for line in text.splitlines():
        if line.startswith(" ") and PLAN.match(line.strip()):
            inner = line.strip() != "1..0"
        passed = WHOLE_FILE.match(line)
        if passed and not inner:
            found.append(passed[1])
        if line.startswith(("ok ", "not ok ")):
            inner = False
    return found


def _failures(text: str) -> list[Failure]:
    """Failed tests with their YAML blocks; a file or suite that failed because a test in it did is left out."""
    found: list[Failure] = []
    lines = text.splitlines()
    for at, line in enumerate(lines):
        failed = NOT_OK.match(line)
        if failed is None or len(found) >= MOST_FAILURES:
            continue
        block: list[str] = []
        for part in lines[at + 1 :]:
            if part.strip() == "..." or (part.strip() and len(part) - len(part.lstrip()) <= len(failed[1])):
                break
            block.append(part)
        text = "\n".join(block)
        if "failureType: 'subtestsFailed'" not in text:
            found.append(Failure(failed[2].strip(), _error(block), text))
    return found


def _error(block: Sequence[str]) -> str:
    """The `error:` entry of a YAML block, on one line or as a text of several."""
    for at, line in enumerate(block):
        stripped = line.strip()
        if stripped.startswith("error:"):
            words = stripped.removeprefix("error:").strip()
            if words not in ("|-", "|", ">-"):
                return words.strip("'\"")
            indent = len(line) - len(line.lstrip())
            rest = []
            for part in block[at + 1 :]:
                if part.strip() and len(part) - len(part.lstrip()) <= indent:
                    break
                rest.append(part.strip())
            return "\n".join(rest).strip()
    return ""
