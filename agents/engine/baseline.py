"""What a repository is before anything is changed: its language, its layout, and what its own tests do."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agents.checks.compose_services import with_services
from agents.engine.verdict import plain
from agents.languages.base import Language
from agents.languages.layouts import RepositoryLayout
from agents.languages.registry import language, language_of
from agents.languages.suites import run_suites
from agents.workspace.repository import Repository
from sandbox.base import Sandbox
from sandbox.paths import regular_files
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
    """The main language and the layout of a commit, or of the part of it that is the project.

    Where other languages have tests too, the layout's setup says how each of them is run.
    """
    top = f"{subfolder}/" if subfolder else ""
    paths = [path.removeprefix(top) for path in repository.files(commit) if path.startswith(top)]
    counts = Counter(owner.name for path in paths if (owner := language_of(path)) and owner.owns(path))
    found: dict[str, RepositoryLayout] = {}
    for name, _ in counts.most_common():
        layout = language(name).layout(paths, lambda path: repository.read(commit, top + path) or "")
        if layout is not None:
            found[name] = _below(replace(layout, setup=replace(layout.setup, language=name)), top)
    if not found:
        return None, None
    # A language whose tests cannot be run, or that has none, does not speak for the repository while another can.
    main = next((name for name, layout in found.items() if not layout.problem), next(iter(found)))
    return language(main), _joined(main, found)


def _joined(main: str, found: Mapping[str, RepositoryLayout]) -> RepositoryLayout:
    """The layout of the main language, with what the tests of the others want: it is of use, and worth no question."""
    others = {name: layout for name, layout in found.items() if name != main and not layout.problem}
    setup = replace(found[main].setup, others={name: layout.setup for name, layout in others.items()})
    wanted = [line for layout in others.values() for line in (*layout.needed, *layout.useful)]
    return replace(found[main], setup=setup, useful=(*found[main].useful, *wanted))


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
    others = {name: first_setup(one) for name, one in setup.others.items()}
    return replace(setup, suite_seconds=FIRST_RUN_SECONDS, test_seconds=FIRST_RUN_SECONDS, others=others)


def configured(setup: TestSetup, repository: Repository, commit: str = "") -> TestSetup:
    """The setup with the runner's configuration as a commit has it, the newest by default."""
    setup = replace(setup, others={name: configured(one, repository, commit) for name, one in setup.others.items()})
    if not setup.configuration:
        return setup
    return replace(setup, configuration_text=repository.read(commit or repository.head(), setup.configuration) or "")


def measure_suite(spoken: Language, sandbox: Sandbox, tree: Path, setup: TestSetup) -> Measured:
    """Run the suite of a folder twice. Raises SandboxError."""
    there, reports = [path for path, _, _ in regular_files(tree)], []
    setup = replace(setup, others=_that_run(sandbox, tree, setup))
    # Later runs measure coverage, which takes several times as long: the limits are to fit them.
    for measured in ((), ["."]):
        sandbox.mirror(tree)
        reports.append(run_suites(spoken, sandbox, there, [], with_services(setup, tree), measured=measured))
    first = reports[0]
    failing = [set(report.failing) for report in reports]
    failures = [failure for report in reports for failure in report.failures]
    messages = {plain(failure.nodeid): failure.message[:WORDS] for failure in failures}
    steady, changing = sorted(failing[0] & failing[1]), sorted(failing[0] ^ failing[1])
    passing = set.intersection(*({name for name, came in one.outcomes.items() if came == "passed"} for one in reports))
    seconds = round(max(report.seconds for report in reports), 2)
    problem = _problem(reports, len(steady))
    suite_limit = max(SUITE_FLOOR, math.ceil(seconds * FACTOR))
    test_limit = max(TEST_FLOOR, math.ceil(seconds))
    others = setup.others.items()
    known = replace(
        setup,
        suite_seconds=suite_limit,
        test_seconds=test_limit,
        others={name: replace(one, suite_seconds=suite_limit, test_seconds=test_limit) for name, one in others},
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


def _problem(reports: Sequence[TestReport], failing: int) -> str:
    """Why a suite of which so many tests fail is of no use; "" when it is."""
    problems = [one for one in reports if one.void or (one.problem and not (one.passed or one.failed))]
    if problems or not all(report.passed or report.failed for report in reports):
        return _why(problems[0] if problems else reports[0])
    if failing <= SHOWN:
        return ""
    words = f"{failing} tests fail: too many to tell new failures from them. The first: {_first(reports[0])}"
    return f"{words[:600].rstrip('.')}."


def _that_run(sandbox: Sandbox, tree: Path, setup: TestSetup) -> dict[str, TestSetup]:
    """Of the further languages those whose tests can be run here: at least one of them passes."""
    kept = {}
    for name, own in setup.others.items():
        sandbox.mirror(tree)
        if language(name).run_tests(sandbox, [], with_services(own, tree)).passed:
            kept[name] = own
    return kept


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
