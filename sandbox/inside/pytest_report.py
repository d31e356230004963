"""Runs inside a sandbox: pytest with branch coverage, and a report written as JSON.

Sent as source by `sandbox.pytest_run`; the request comes on standard input. Nothing that the tested project brings
(coverage settings, `# pragma: no cover`, its own `--cov`) changes what is measured here.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import json
import os
import sys
from typing import Any

import pytest
from _pytest.assertion.rewrite import AssertionRewritingHook

KEEP_FAILURES, KEEP_TRACE, KEEP_MESSAGE, KEEP_NAMES = 40, 6000, 600, 5000


def clipped(text: str, size: int) -> str:
    return text if len(text) <= size else f"{text[: size // 3]}\n…\n{text[-2 * size // 3 :]}"


class Recorder:
    """Keeps what pytest says about each test."""

    def __init__(self) -> None:
        self.counts = {"passed": 0, "failed": 0, "errors": 0, "skipped": 0}
        self.failures: list[dict[str, str]] = []
        self.failing: list[str] = []
        self.collected = 0

    @pytest.hookimpl(wrapper=True)
    def pytest_load_initial_conftests(self, early_config: Any) -> Any:
        # A wrapper, to come before pytest-cov: a second measurement would take the tracing from ours.
        early_config.known_args_namespace.cov_source = []
        return (yield)

    def pytest_collection_finish(self, session: Any) -> None:
        self.collected = len(session.items)

    def _keep(self, kind: str, report: Any) -> None:
        self.counts[kind] += 1
        if len(self.failing) < KEEP_NAMES:
            self.failing.append(report.nodeid)
        if len(self.failures) < KEEP_FAILURES:
            crash = getattr(report.longrepr, "reprcrash", None)
            traceback = str(report.longrepr)
            message = crash.message if crash else traceback.strip().rpartition("\n")[2]
            phase = getattr(report, "when", "call")
            where = f"{report.nodeid} ({phase})" if phase in ("setup", "teardown") else report.nodeid
            texts = {"message": clipped(message, KEEP_MESSAGE), "traceback": clipped(traceback, KEEP_TRACE)}
            self.failures.append({"nodeid": where, **texts})

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self._keep("errors", report)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self._keep("failed" if report.when == "call" else "errors", report)
        elif report.skipped:
            self.counts["skipped"] += 1
        elif report.when == "call":
            self.counts["passed"] += 1


class Generated(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Modules that a build would write into the tree; one that is in the tree comes first."""

    def __init__(self, modules: dict[str, str]) -> None:
        self.modules = modules

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        return importlib.util.spec_from_loader(name, self) if name in self.modules else None

    def get_source(self, name: str) -> str:
        return self.modules[name]


def lay_out(request: dict[str, Any], scratch: str) -> None:
    """The repository as it would be installed: its folders, metadata and environment, for child processes too."""
    roots = [os.path.abspath(folder) for folder in request["python_path"]]
    site = os.path.join(scratch, "site")
    for name, version in request["metadata"].items():
        folder = os.path.join(site, f"{name.replace('-', '_')}-{version}.dist-info")
        os.makedirs(folder)
        with open(os.path.join(folder, "METADATA"), "x") as text:
            text.write(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    if request["metadata"]:
        roots.append(site)
    os.environ.update(request["environment"])
    if roots:
        sys.path[:0] = roots
        os.environ["PYTHONPATH"] = os.pathsep.join([*roots, *filter(None, [os.environ.get("PYTHONPATH")])])
    if request["modules"]:
        sys.meta_path.append(Generated(request["modules"]))


def coverage_of(folder: str) -> Any:
    import coverage

    own = ["*/test_*.py", "*_test.py", "*/conftest.py", "*/tests/*", "*/test/*"]
    measure = coverage.Coverage(
        data_file=None, branch=True, config_file=False, source=[folder], omit=own, messages=False
    )
    measure.clear_exclude()
    measure.exclude(r"if (typing\.)?TYPE_CHECKING:")
    measure._warn_no_data = False
    return measure


def measured(measure: Any, scratch: str) -> dict[str, Any]:
    import coverage

    path = os.path.join(scratch, "coverage.json")
    try:
        measure.json_report(outfile=path)
    except coverage.exceptions.CoverageException:
        return {"branch_coverage": None, "uncovered": {}}
    with open(path) as text:
        report = json.load(text)
    totals, uncovered = report["totals"], {}
    for name, file in report["files"].items():
        lines = set(file["missing_lines"]) | {abs(pair[0]) for pair in file.get("missing_branches", ())}
        if lines:
            uncovered[os.path.relpath(name)] = sorted(lines)[:500]
    known = totals["num_statements"] > 0
    return {"branch_coverage": totals["percent_covered"] if known else None, "uncovered": uncovered}


def main() -> int:
    request = json.loads(sys.stdin.read())
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    scratch = request["scratch"]
    os.makedirs(scratch, mode=0o700)
    lay_out(request, scratch)
    measure = coverage_of(os.path.abspath(request["coverage_of"])) if request["coverage_of"] else None
    recorder = Recorder()
    home = os.getcwd()
    fixed = [f"--rootdir={home}", f"--confcutdir={home}", "--color=no"]
    fixed += ["-p", "no:cacheprovider", "-o", "console_output_style=classic"]
    # The agent has imported these before pytest could rewrite them: true, harmless, and an error under `-W error`.
    AssertionRewritingHook._warn_already_imported = lambda self, name: None  # type: ignore[method-assign]  # see above
    if measure:
        measure.start()
    try:
        code = int(pytest.main([*fixed, *request["args"]], plugins=[recorder]))
    finally:
        if measure:
            measure.stop()
    os.chdir(home)
    report: dict[str, Any] = {
        **recorder.counts,
        "collected": recorder.collected,
        "failures": recorder.failures,
        "failing": recorder.failing,
        "exit_code": code,
        **(measured(measure, scratch) if measure else {"branch_coverage": None, "uncovered": {}}),
    }
    path = os.path.join(scratch, "report.json")
    if os.path.lexists(path):
        os.unlink(path)
    with open(path, "x") as text:
        json.dump(report, text)
    return code


if __name__ == "__main__":
    sys.exit(main())
