"""Run pytest in a sandbox and say what happened, with branch coverage: numbers that the tested code did not write."""

from __future__ import annotations

import json
import secrets
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sandbox.agent import joined
from sandbox.base import ExecResult, Sandbox
from sandbox.test_report import Covered, Failure, Hang, TestReport, of_run, without_result
from sandbox.test_script import run_test_script
from sandbox.test_setup import TestSetup

PARTS = ("report", "services", "pytest_checks", "pytest_report")
PROBED = ["first", "last"]  # when the checks of the run itself are made


def run_pytest(
    sandbox: Sandbox,
    args: Sequence[str] = (),
    *,
    seconds: float | None = None,
    coverage_of: Sequence[str] = (".",),
    setup: TestSetup | None = None,
) -> TestReport:
    """Run pytest in /workspace: the tests of the setup, or those that `args` name; `args` may hold options as well.

    `seconds` (None: the setup's) limits the run; time that the machine gave it no CPU does not count. `coverage_of`
    names the files and folders whose code is measured. Raises SandboxUnavailable when the sandbox broke;
    everything that the tests do wrong is in the report.
    """
    setup, token = setup or TestSetup(), secrets.token_hex(16)
    limit = seconds if seconds is not None else setup.suite_seconds
    request = {
        "token": token,
        "arguments": [*setup.arguments],
        "options": [word for word in args if word.startswith("-")],
        "paths": [word for word in args if not word.startswith("-")],
        **{
            name: getattr(setup, name)
            for name in (
                *("python_path", "plugins", "metadata", "modules", "test_seconds"),
                *("configuration", "configuration_text"),
            )
        },
        "coverage_of": [*coverage_of],
    }
    return run_test_script(
        sandbox, joined(*PARTS), request, setup, lambda done: read_report(done, token), seconds=limit
    )


def read_report(done: ExecResult, token: str) -> TestReport:
    """The report of a run, from the lines that came through its pipe."""
    rows: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    foreign = False
    for line in done.report.splitlines():
        mark, _, text = line.partition(" ")
        try:
            row = json.loads(text)
            rows[row["kind"]].append(row)
        except (ValueError, RecursionError, TypeError, KeyError):
            foreign = foreign or done.exit_code is not None  # killed in the middle of a line
            continue
        foreign = foreign or mark != token
    try:
        return _read(done, rows, foreign)
    except (KeyError, TypeError, ValueError, AttributeError):
        return without_result(done, "its report is malformed")


def _read(done: ExecResult, rows: defaultdict[str, list[dict[str, Any]]], foreign: bool) -> TestReport:
    for row in rows["no_service"]:
        text, own = str(row["text"]), row["cause"] == "seed"
        return TestReport(**of_run(done), problem=text if own else "", void="" if own else text)
    collected = [str(nodeid) for row in rows["collected"] for nodeid in row["ids"]]
    found = _found(rows, collected)
    ends = rows["end"]
    if done.timed_out or len(ends) != 1 or ends[0]["exit_code"] != done.exit_code:
        return without_result(done, **found)
    (end,) = ends
    branches = None if end["branch_coverage"] is None else float(end["branch_coverage"])
    covered = {
        str(path): Covered(float(lines), float(ways), tuple(map(int, missing)))
        for path, (lines, ways, missing) in end["files"].items()
    }
    problem = _problem(collected, found, end["exit_code"])
    void = "" if problem or not collected else _void(rows, end, foreign)
    found["broken"] = not foreign and any(len(row["lies"]) > 1 for row in rows.get("probe", ()))
    return TestReport(**found | of_run(done), branch_coverage=branches, covered=covered, problem=problem, void=void)


def _problem(collected: list[str], found: dict[str, Any], exit_code: int) -> str:
    """Why there is no result though the runner came to its end; "" when there is one."""
    if not collected and not found["errors"]:
        return "no tests were found"
    silent = [nodeid for nodeid in collected if nodeid not in found["outcomes"]]
    if silent and exit_code == 0:
        return f"{len(silent)} tests were collected and gave no result, the first is {silent[0]}"
    return ""


def _found(rows: defaultdict[str, list[dict[str, Any]]], collected: list[str]) -> dict[str, Any]:
    """What came of single tests, as fields of the report."""
    failed = [row for row in rows["fail"] if row["when"] == "call"]
    errors = [row for row in rows["fail"] if row["when"] != "call"] + rows["collect"]
    outcomes = {nodeid: "deselected" for row in rows["deselected"] for nodeid in row["ids"]}
    ranked = {"passed": rows["pass"], "skipped": rows["skip"], "error": errors, "failed": failed}  # the last one counts
    ids = {outcome: {str(row["id"]) for row in found} for outcome, found in ranked.items()}
    for outcome, names in ids.items():
        outcomes |= dict.fromkeys(names, outcome)
    return {
        "passed": len(ids["passed"] - ids["failed"]),
        "failed": len(ids["failed"]),
        "errors": len(errors),
        "skipped": len(ids["skipped"] - ids["failed"]),
        "collected": len(collected),
        "failing": tuple(str(row["id"]) for row in [*rows["collect"], *rows["fail"]]),
        "failures": tuple(_failure(row) for row in [*rows["fail"], *rows["collect"]] if row["message"]),
        "outcomes": outcomes,
        "skips": {row["id"]: str(row["reason"]) for row in rows["skip"]},
        "hangs": tuple(map(_hang, rows["hang"])),
        "hooks": tuple(str(name) for row in rows["probe"][-1:] for name in row["hooks"]),
        "services": tuple(str(name) for row in rows["services"] for name in row["names"]),
    }


def _hang(row: dict[str, Any]) -> Hang:
    return Hang(str(row["id"]), tuple(map(str, row["frames"])), float(row["seconds"]), float(row["cpu"]))


def _failure(row: dict[str, Any]) -> Failure:
    where = f"{row['id']} ({row['when']})" if row["when"] in ("setup", "teardown") else str(row["id"])
    return Failure(where, str(row["message"]), str(row["traceback"]))


def _void(rows: defaultdict[str, list[dict[str, Any]]], end: dict[str, Any], foreign: bool) -> str:
    """Why the run proves nothing; "" when its own checks held."""
    probes = rows["probe"]
    lies = [lie for row in probes for lie in row["lies"]]
    changed = sorted({name for row in probes for name in row["changed"]})
    if foreign:
        return "something beside the test runner wrote to its report"
    if [row["place"] for row in probes] != PROBED and end["exit_code"] in (0, 1):
        return "the checks before and after the tests did not both run"
    if lies:
        return f"asserts do not tell the truth in this run: {lies[0]}"
    if changed:
        return f"the test tools were changed while the tests ran: {', '.join(changed[:5])}"
    if end["rewritten"]:
        return f"files were changed while the tests ran: {', '.join(end['rewritten'][:5])}"
    if len(rows["collected"]) > 1:
        return "the tests were collected more than once"
    return ""
