"""Run the tests of packages for Node in a sandbox and say what happened, whichever of the known runners they use.

Reporters of ours run inside the test runner. What they report cannot be taken back, and a line without the run's token
is noticed. Caught: a file that leaves early with success, a run that ends without its last row, asserts of
`node:assert` that were exchanged, summaries that tests print. Not caught: code that changes
the runner itself where both share a process (Mocha; set-up files and configuration of Vitest and Jest, which is why no
task may write these), `expect` of Vitest and Jest changed within a test file, and results that Tape and AVA print.
"""

from __future__ import annotations

import functools
import json
import re
import secrets
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sandbox.agent import joined
from sandbox.base import ExecResult, Sandbox
from sandbox.inside.node_choice import is_test_name
from sandbox.test_report import Covered, Failure, Hang, TestReport, of_run, without_result
from sandbox.test_script import run_test_script
from sandbox.test_setup import TestSetup

PARTS = ("report", "services", "node_choice", "node_coverage", "node_types", "node_tap", "node_package", "node_tests")
OWN = frozenset(
    {"run", "ran", "end", "types", "services", "no_service", "no_node", "no_runner"}
)  # of the program itself
GUARDED = 87  # how sandbox/inside/node/guard.cjs ends a process
IN_WORKSPACE = re.compile(r"/workspace/((?!node_modules/)[^\s:'\"()]+\.[cm]?[jt]sx?)\b")
NO_NODE = (
    "Node was not found in the sandbox: install Node 20 or newer with npm on this machine, then run `make install`"
)
MISSING_TOOLS = "; `make install` puts the usual ones into the sandbox"


@functools.cache
def _scripts() -> dict[str, str]:
    """The reporters, as they are sent."""
    folder = Path(__file__).with_name("inside") / "node"
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir()) if path.is_file()}


def run_node_tests(
    sandbox: Sandbox,
    paths: Sequence[str] = (),
    *,
    seconds: float | None = None,
    coverage_of: Sequence[str] = (),
    setup: TestSetup | None = None,
    first: bool = False,
) -> TestReport:
    """Run the tests in /workspace: the files in `paths`, else those of the setup, else those that are found.

    The types of TypeScript files are checked in the same run. `seconds` (None: the setup's) limits it; `coverage_of`
    names the files and folders whose code is measured; `first` asks for an end at the first failure, and for no check
    of types. Raises SandboxUnavailable when the sandbox broke; everything that the tests do wrong is in the report.
    """
    setup = setup or TestSetup()
    limit = seconds if seconds is not None else setup.suite_seconds
    token, reporter_token = secrets.token_hex(16), secrets.token_hex(16)
    request = {
        "token": token,
        "reporter_token": reporter_token,
        "scripts": _scripts(),
        "paths": sorted({path.partition("::")[0] for path in paths}),
        "first": first,
        "coverage_of": [*coverage_of],
        "test_seconds": min(setup.test_seconds, 0.8 * limit),
        **{
            name: getattr(setup, name)
            for name in ("runner", "arguments", "python_path", "configuration", "configuration_text")
        },
    }
    source = joined(*PARTS)
    return run_test_script(
        sandbox, source, request, setup, lambda done: read_report(done, token, reporter_token), seconds=limit
    )


def read_report(done: ExecResult, token: str, reporter_token: str) -> TestReport:
    """The report of a run, from the lines that came through its pipe."""
    rows: list[dict[str, Any]] = []
    foreign = False
    for line in done.report.splitlines():
        mark, _, text = line.partition(" ")
        try:
            row = json.loads(text)
            kind = row["kind"]
        except (ValueError, RecursionError, TypeError, KeyError):
            foreign = foreign or done.exit_code is not None  # killed in the middle of a line
            continue
        if mark == token or (mark == reporter_token and kind not in OWN):
            rows.append(row)
        else:
            foreign = True
    try:
        return _read(done, rows, foreign)
    except (KeyError, TypeError, ValueError, AttributeError):
        return without_result(done, "its report is malformed")


def _read(done: ExecResult, rows: list[dict[str, Any]], foreign: bool) -> TestReport:
    kinds: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        kinds[row["kind"]].append(row)
    for row in kinds["no_service"]:
        text, own = str(row["text"]), row["cause"] == "seed"
        return TestReport(**of_run(done), problem=text if own else "", void="" if own else text)
    if kinds["no_node"]:
        return TestReport(**of_run(done), void=NO_NODE)
    if kinds["no_runner"]:
        return TestReport(**of_run(done), problem=str(kinds["no_runner"][0]["text"]) + MISSING_TOOLS)
    found = _found(done, kinds)
    ends = kinds["end"]
    if done.timed_out or len(ends) != 1 or ends[0]["exit_code"] != done.exit_code:
        return without_result(done, **found)
    (end,) = ends
    covered = {
        str(path): Covered(float(lines), float(ways), tuple(map(int, missing)))
        for path, (lines, ways, missing) in end["files"].items()
    }
    branches = None if end["branch_coverage"] is None else float(end["branch_coverage"])
    void = "something beside the test runner wrote to its report" if foreign else ""
    problem = _problem(kinds, end, bool(found["outcomes"]))
    return TestReport(**found | of_run(done), branch_coverage=branches, covered=covered, problem=problem, void=void)


def _found(done: ExecResult, kinds: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """What came of single tests and files, as fields of the report."""
    tests = kinds["test"]
    outcomes: dict[str, str] = {}
    rank = ("skipped", "passed", "error", "failed")  # of several tests with one name the worst counts
    for row in tests:
        name, outcome = str(row["id"]), str(row["outcome"])
        outcomes[name] = max(outcomes.get(name, "skipped"), outcome, key=rank.index)
    bad = [row for row in tests if row["outcome"] in ("failed", "error")]
    files = _files(kinds)
    types = [(str(row["file"]), str(row["text"]).partition("\n")[0], str(row["text"])) for row in kinds["types"]]
    crashes = _crashes(done, kinds, bad or files)
    outcomes |= {name: "error" for name, _, _ in [*files, *types, *crashes]}
    failures = [Failure(*one) for one in [*types, *crashes, *files] if one[1]]
    failures += [Failure(str(row["id"]), row["message"], row["stack"]) for row in bad if row.get("message")]
    counts = {outcome: sum(row["outcome"] == outcome for row in tests) for outcome in rank}
    return {
        "passed": counts["passed"],
        "failed": counts["failed"],
        "errors": counts["error"] + len(files) + len(types) + len(crashes),
        "skipped": counts["skipped"],
        "collected": len(tests),
        "failing": tuple(dict.fromkeys([*(one.nodeid for one in failures), *(str(row["id"]) for row in bad)])),
        "failures": tuple(failures),
        "outcomes": outcomes,
        "skips": {str(row["id"]): str(row.get("reason", "")) for row in tests if row["outcome"] == "skipped"},
        "hangs": _hangs(done, kinds, outcomes),
        "services": tuple(str(name) for row in kinds["services"] for name in row["names"]),
    }


def _files(kinds: dict[str, list[dict[str, Any]]]) -> list[tuple[str, str, str]]:
    """Files whose tests did not run to their end: name, message, traceback."""
    files = [(str(row["file"]), str(row["message"]), str(row["stack"])) for row in [*kinds["broken"], *kinds["hang"]]]
    return files + [(str(row["file"]), f"no test ended in {row['file']}", "") for row in kinds["empty"]]


def _problem(kinds: dict[str, list[dict[str, Any]]], end: dict[str, Any], anything: bool) -> str:
    printed = kinds["run"] and kinds["run"][-1]["runner"] in ("tape", "ava")
    if not printed and end["exit_code"] == 0 and len(kinds["done"]) != len(kinds["run"]):
        return "the test run ended before it could report all tests: something in it left the process"
    found = anything if end["exit_code"] else kinds["test"]
    return "" if found else "no tests were found"


def _crashes(
    done: ExecResult, kinds: dict[str, list[dict[str, Any]]], told: Sequence[Any]
) -> list[tuple[str, str, str]]:
    """What a runner ended with that no test is to blame for: a file that it could not load, an error between tests."""
    failed = [row for row in kinds["ran"] if row["exit_code"]]
    if not failed or told or done.timed_out or done.out_of_memory:
        return []
    if kinds["test"] and failed[0]["exit_code"] != GUARDED and len(kinds["done"]) == len(kinds["run"]):
        words = f"the test runner ended with exit code {failed[0]['exit_code']} and no test failed"
    elif not kinds["test"] and len(kinds["done"]) == len(kinds["run"]):
        return []  # it found no tests, and says so by its exit code
    else:
        words = ""
    said = (done.err.strip() or done.out.strip())[-6000:]
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    message = words or _message(lines)
    named = list(dict.fromkeys(IN_WORKSPACE.findall(said)))
    begun = [str(row["file"]) for row in kinds["file"][-1:]]
    file = next((path for path in [*begun, *filter(is_test_name, named), *named]), "tests")
    return [(file, message[:600], said or message)]


def _message(lines: list[str]) -> str:
    """The line that names an error, or the last one."""
    return next((line for line in lines if "Error" in line), lines[-1] if lines else "the runner ended early")


def _hangs(done: ExecResult, kinds: dict[str, list[dict[str, Any]]], outcomes: dict[str, str]) -> tuple[Hang, ...]:
    """Files that reached their time limit, and the test that ran when all of them reached theirs."""
    found = [Hang(str(row["file"]), (), done.seconds, done.cpu_seconds) for row in kinds["hang"]]
    if done.timed_out and kinds["begin"]:
        last = kinds["begin"][-1]
        if not any(name.endswith(str(last["name"])) for name in outcomes):
            found.append(Hang(f"{last['file']}::{last['name']}", (), done.seconds, done.cpu_seconds))
    return tuple(found)
