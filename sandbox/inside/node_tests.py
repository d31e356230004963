"""Runs inside a sandbox: the tests of packages for Node, their types and their coverage, and a report of each test.

Sent as source by `sandbox.node_run`; the request comes on standard input. Reporters of ours inside the test runners
write to the report through a file descriptor that no test process inherits, each line with a token that they read from
a pipe once; what this program itself finds (the end, types, coverage) carries another token, which no test tool has.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from typing import Any

from sandbox.inside.node_choice import ASIDE, is_test_name
from sandbox.inside.node_coverage import read_coverage, sources_of
from sandbox.inside.node_package import HOME, Package, files_below, program_of
from sandbox.inside.node_types import type_errors
from sandbox.inside.report import Report
from sandbox.inside.services import ServiceProblem, start_services


def packages_of(request: dict[str, Any], scratch: str) -> list[Package]:
    """The package that the setup names, or each that has test files among those wanted or among all."""
    given = [root for root in request["python_path"] if root]
    if given:
        return [Package(os.path.join(HOME, given[-1]), request, scratch, request["paths"])]
    places = {os.path.dirname(path) for path in files_below(HOME) if os.path.basename(path) == "package.json"}
    places = {place for place in places if not ASIDE & set(place.split("/"))}
    wanted = request["paths"] or (
        [] if "" in places or not places else [path for path in files_below(HOME) if is_test_name(path)]
    )
    if request["runner"] or not places - {""}:
        return [Package(HOME, request, scratch, request["paths"])]
    by_place: dict[str, list[str]] = {}
    for path in wanted or [path for path in files_below(HOME) if is_test_name(path)]:
        parents = [path.rpartition("/")[0]]
        while parents[-1]:
            parents.append(parents[-1].rpartition("/")[0])
        by_place.setdefault(next((one for one in parents if one in places), ""), []).append(path)
    found = []
    for place, files in sorted(by_place.items()) or [("", [])]:
        folder = os.path.join(HOME, place) if place else HOME
        found.append(Package(folder, request, scratch, files))
    return found


def v8_report(package: Package, coverage: str) -> str:
    """coverage-final.json, made from what V8 wrote."""
    program = program_of("c8", package.folder)
    if program and os.path.isdir(f"{coverage}/v8"):
        words = [
            "node",
            program,
            "report",
            f"--temp-directory={coverage}/v8",
            f"--reports-dir={coverage}",
            "--reporter=json",
        ]
        words += ["--exclude=**/node_modules/**", "--check-coverage=false", "--clean=false"]
        subprocess.run(words, capture_output=True, cwd=package.folder, check=False)
    return f"{coverage}/coverage-final.json"


def check_types(package: Package, report: Report) -> bool:
    """Report what the TypeScript compiler says; True when it said nothing."""
    compiler = program_of("typescript", package.folder, "tsc")
    strange = package.request["runner"] and not os.path.isfile(f"{package.folder}/tsconfig.json")
    only_one = package.request["first"]  # failure is looked for, in one change after the other
    if not package.typed or not compiler or strange or only_one:  # strange: nobody checked these types before
        return True
    found = type_errors(compiler, package.folder, package.scratch, package.typed, HOME)
    for path, text in found:
        report.send("types", file=path, text=text)
    return not found


def main() -> int:
    request = json.loads(sys.stdin.read())
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    report = Report(request["token"])
    try:
        report.send("services", names=start_services(request["services"]))
    except ServiceProblem as problem:
        report.send("no_service", cause=problem.kind, text=str(problem))
        return 1
    if shutil.which("node") is None:
        report.send("no_node")
        return 1
    scratch = tempfile.mkdtemp()
    for name, text in request["scripts"].items():
        with open(os.path.join(scratch, name), "x", encoding="utf-8") as script:
            script.write(text)
    if request["configuration"] and request["configuration_text"]:
        with open(os.path.join(HOME, request["configuration"]), "w", encoding="utf-8") as script:
            script.write(request["configuration_text"])
    for folder in (HOME, scratch):
        os.makedirs(f"{folder}/node_modules", exist_ok=True)  # where tools keep what they remember
    code, files, shares = 0, dict[str, Any](), []
    for number, package in enumerate(packages_of(request, scratch)):
        coverage = os.path.join(scratch, f"coverage{number}") if request["coverage_of"] else ""
        if coverage:
            os.makedirs(coverage)
        report.send("run", runner=package.runner)
        typed = check_types(package, report)
        ended = package.run(report, coverage)
        code = code or (ended if ended > 0 else 128 - ended if ended else 0) or (0 if typed else 1)
        report.send("ran", exit_code=ended)
        if coverage:
            file = v8_report(package, coverage) if package.runner in ("node", "mocha", "tape", "ava") else ""
            measured = [one.removeprefix(package.top) for one in request["coverage_of"]]
            sources = sources_of(measured, package.paths)
            read = read_coverage(file or f"{coverage}/coverage-final.json", package.folder, sources)
            files |= {package.top + path: shown for path, shown in read["files"].items()}
            shares.append(read["branch_coverage"])
    shutil.rmtree(scratch, ignore_errors=True)
    known = [share for share in shares if share is not None]
    report.send("end", exit_code=code, files=files, branch_coverage=sum(known) / len(known) if known else None)
    return code


if __name__ == "__main__":
    sys.exit(main())
