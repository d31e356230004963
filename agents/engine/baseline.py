"""What a repository is before anything is changed: its language, its layout, and what its own tests do."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agents.checks.compose_services import with_services
from agents.engine.verdict import plain
from agents.languages.base import Language
from agents.languages.layouts import RepositoryLayout
from agents.languages.registry import language, language_of
from agents.workspace.repository import Repository
from sandbox.base import Sandbox
from sandbox.test_report import TestReport
from sandbox.test_setup import TestSetup

FIRST_RUN_SECONDS = 900.0  # how long the suite may take before anything is known of it
FACTOR = 3.0  # of the time that it took
TEST_FLOOR, SUITE_FLOOR = 60.0, 120.0
SHOWN = 500  # names of failing tests that are kept
WORDS = 300


@dataclass(frozen=True)
class Measured:
    """Two runs of a suite. `setup` is how it is run from now on, with what is known of it; `tests` are the results.

    `problem` says why nothing can be built on them, "" when it can.
    """

    setup: TestSetup
    tests: dict[str, Any]
    seconds: float
    problem: str


def look(repository: Repository, commit: str, subfolder: str = "") -> tuple[Language | None, RepositoryLayout | None]:
    """The language and the layout of a commit, or of the part of it that is the project."""
    top = f"{subfolder}/" if subfolder else ""
    paths = [path.removeprefix(top) for path in repository.files(commit) if path.startswith(top)]
    counts = Counter(owner.name for path in paths if (owner := language_of(path)))
    for name, _ in counts.most_common():
        spoken = language(name)
        found = spoken.layout(paths, lambda path: repository.read(commit, top + path) or "")
        if found is not None:
            return spoken, _below(found, top)
    return None, None


def _below(layout: RepositoryLayout, top: str) -> RepositoryLayout:
    """The layout of a subfolder with paths as the whole repository has them."""
    if not top:
        return layout

    def moved(paths: Sequence[str]) -> tuple[str, ...]:
        return tuple(f"{top}{path}".rstrip("/").removesuffix("/.") for path in paths)

    setup = layout.setup
    words = [word if word.startswith("-") else moved([word])[0] for word in setup.arguments]
    setup = replace(setup, python_path=moved(["", *setup.python_path]), arguments=tuple(words))
    setup = replace(setup, configuration=setup.configuration and top + setup.configuration)
    return replace(
        layout,
        setup=setup,
        source_roots=moved(layout.source_roots),
        test_paths=moved(layout.test_paths),
        conftests=moved(layout.conftests),
        helpers=moved(layout.helpers),
    )


def first_setup(setup: TestSetup) -> TestSetup:
    """The setup with time enough for a suite that nothing is known of."""
    return replace(setup, suite_seconds=FIRST_RUN_SECONDS, test_seconds=FIRST_RUN_SECONDS)


def configured(setup: TestSetup, repository: Repository, commit: str = "") -> TestSetup:
    """The setup with the runner's configuration as a commit has it, the newest by default."""
    if not setup.configuration:
        return setup
    return replace(setup, configuration_text=repository.read(commit or repository.head(), setup.configuration) or "")


def measure_suite(spoken: Language, sandbox: Sandbox, tree: Path, setup: TestSetup) -> Measured:
    """Run the suite of a folder twice. Raises SandboxError."""
    reports = []
    # Later runs measure coverage, which takes several times as long: the limits are to fit them.
    for measured in ((), ["."]):
        sandbox.mirror(tree)
        reports.append(spoken.run_tests(sandbox, [], with_services(setup, tree), measured=measured))
    first = reports[0]
    failing = [set(report.failing) for report in reports]
    failures = [failure for report in reports for failure in report.failures]
    messages = {plain(failure.nodeid): failure.message[:WORDS] for failure in failures}
    steady, changing = sorted(failing[0] & failing[1]), sorted(failing[0] ^ failing[1])
    passing = set.intersection(*({name for name, came in one.outcomes.items() if came == "passed"} for one in reports))
    seconds = round(max(report.seconds for report in reports), 2)
    problems = [one for one in reports if one.void or (one.problem and not (one.passed or one.failed))]
    problem = ""
    if problems or not all(report.passed or report.failed for report in reports):
        problem = _why(problems[0] if problems else first)
    elif len(steady) > SHOWN:
        said = f"{len(steady)} tests fail: too many to tell new failures from them. The first: {_first(first)}"
        problem = f"{said[:600].rstrip('.')}."
    known = replace(
        setup,
        suite_seconds=max(SUITE_FLOOR, math.ceil(seconds * FACTOR)),
        test_seconds=max(TEST_FLOOR, math.ceil(seconds)),
        known_failures=frozenset(steady[:SHOWN]),
        known_messages={name: messages[name] for name in steady[:SHOWN] if name in messages},
        flickering=frozenset(changing[:SHOWN]),
        passing=frozenset(passing),
    )
    tests = {
        "passed": first.passed,
        "failed": first.failed,
        "errors": first.errors,
        "skipped": first.skipped,
        "failing": {name: messages.get(name, "") for name in steady[:SHOWN]},
        "flickering": changing[:SHOWN],
        "services": list(first.services),
    }
    return Measured(known, tests, seconds, problem)


def _why(report: TestReport) -> str:
    """Why no test ran, with the error of the first file that could not be imported."""
    if report.void:
        return f"The runs prove nothing: {report.void[:600].rstrip('.')}."
    said = report.problem or "No test ran"
    if report.failures:
        said = _first(report)
    elif report.output.strip():
        said += f": {report.output.strip().splitlines()[-1]}"
    return f"{said[:600].rstrip('.')}."


def _first(report: TestReport) -> str:
    return next((f"{one.nodeid}: {one.message}" for one in report.failures), "")
