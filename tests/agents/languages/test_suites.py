"""Each language's tests are run by its own runner, and one report says what came of all."""

from collections.abc import Sequence
from typing import Any

import pytest

from agents.languages.base import Language
from agents.languages.registry import LANGUAGES, language, language_of_task, main_language
from agents.languages.suites import combined, owner_of_test, run_suites, setup_for
from sandbox.test_report import Covered, Failure, TestReport
from sandbox.test_setup import TestSetup

GOOD = TestReport(passed=2, collected=2, exit_code=0, seconds=1.0, outcomes={"tests/test_a.py::test_a": "passed"})
BAD = TestReport(
    passed=1,
    failed=1,
    collected=2,
    exit_code=1,
    seconds=2.0,
    failures=(Failure("tests/sums.toy::1", "5 is not 6", ""),),
    failing=("tests/sums.toy::1",),
    outcomes={"tests/sums.toy::1": "failed"},
)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[str, ...], str]]:
    """Which languages were run, with which files and whose setup; nothing is really run."""
    monkeypatch.setitem(LANGUAGES, "toy", "tests.agents.languages.toy.language.Toy")
    found: list[tuple[str, tuple[str, ...], str]] = []

    def run(self: Language, sandbox: Any, paths: Sequence[str], setup: TestSetup, **_: Any) -> TestReport:
        found.append((self.name, tuple(paths), setup.language))
        return BAD if self.name == "toy" else GOOD

    for name in ("python", "toy"):
        monkeypatch.setattr(type(language(name)), "run_tests", run)
    return found


BOTH = ("app.py", "tests/test_a.py", "sums.toy", "tests/sums.toy")


def run(paths: Sequence[str], setup: TestSetup, there: Sequence[str] = BOTH) -> TestReport:
    return run_suites(language("python"), None, there, paths, setup)  # type: ignore[arg-type]


def test_all_languages_with_tests_are_run_and_one_failure_fails_the_whole(ran) -> None:
    report = run([], TestSetup())
    assert [name for name, *_ in ran] == ["python", "toy"]
    assert (report.passed, report.failed, report.seconds, report.exit_code) == (3, 1, 3.0, 1)
    assert not report.ok
    assert report.outcomes == {**GOOD.outcomes, **BAD.outcomes}


def test_a_language_without_tests_is_not_run(ran) -> None:
    assert run([], TestSetup(), there=("app.py", "tests/test_a.py", "sums.toy")).ok
    assert [name for name, *_ in ran] == ["python"]


def test_named_tests_go_to_the_runner_of_their_language(ran) -> None:
    run(["tests/sums.toy", "tests/test_a.py"], TestSetup())
    assert [(name, paths) for name, paths, _ in ran] == [("python", ("tests/test_a.py",)), ("toy", ("tests/sums.toy",))]


def test_the_suite_of_a_repository_is_run_in_the_languages_that_were_measured(ran) -> None:
    run([], TestSetup(language="python"))
    assert [name for name, *_ in ran] == ["python"]
    ran.clear()
    run([], TestSetup(language="python", others={"toy": TestSetup(language="toy")}))
    assert [(name, whose) for name, _, whose in ran] == [("python", "python"), ("toy", "toy")]


def test_tests_that_a_task_wrote_are_run_though_nobody_measured_their_language(ran) -> None:
    run(["tests/sums.toy"], TestSetup(language="python"))
    assert [(name, whose) for name, _, whose in ran] == [("toy", "toy")]


def test_a_setup_for_another_language_keeps_the_servers_and_variables() -> None:
    made = setup_for(language("node"), TestSetup(language="python", environment={"URL": "x"}, arguments=("-q",)))
    assert (made.language, made.environment, made.arguments) == ("node", {"URL": "x"}, ())


def test_coverage_is_that_of_the_run_which_measured_it() -> None:
    measured = TestReport(passed=1, exit_code=0, branch_coverage=80.0, covered={"app.py": Covered(80.0, 80.0, (3,))})
    report = combined([GOOD, measured])
    assert (report.branch_coverage, list(report.covered)) == (80.0, ["app.py"])


def test_what_is_built_is_looked_at_once_all_tests_pass(ran, monkeypatch) -> None:
    said = Failure("index.html", "shows nothing", "")
    monkeypatch.setattr(type(language("python")), "failures_of_build", lambda self, sandbox, paths: [said])
    report = run([], TestSetup(), there=("app.py", "tests/test_a.py"))
    assert not report.ok
    assert (report.failed, report.failing, report.failures) == (1, ("index.html",), (said,))
    assert run(["tests/test_a.py"], TestSetup()).ok


def test_a_file_of_no_language_belongs_to_the_main_one() -> None:
    assert owner_of_test("tests/cases.txt", language("python")).name == "python"


def test_the_main_language_has_most_source_files() -> None:
    assert main_language(["a.py", "b.py", "README.md"]) == "python"
    assert main_language(["README.md", "static/page.js"]) == ""
    assert language_of_task({"files": ["README.md"], "main_language": "node"}).name == "node"
    assert language_of_task({"files": ["a.py"], "main_language": "node"}).name == "python"
