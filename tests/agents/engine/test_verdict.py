"""Which failures of a run are new, and which runs prove nothing."""

import pytest

from agents.engine.verdict import hangs_again, trouble, verdict_of, waited
from agents.languages.registry import language_of
from sandbox.test_report import Failure, Hang, TestReport
from sandbox.test_setup import TestSetup

PYTHON = language_of("a.py")
TEST = {"tests/test_new.py": "def test_new():\n    assert True\n"}
ID, CASE = "tests/test_new.py::test_new", "tests/test_old.py::test_old[a-1]"


def run(**outcomes: str) -> TestReport:
    named = {"new": ID, "old": CASE, "other": "tests/test_old.py::test_other"}
    by_id = {named[name]: outcome for name, outcome in outcomes.items()}
    failing = [one for one, outcome in by_id.items() if outcome == "failed"]
    return TestReport(
        passed=sum(outcome == "passed" for outcome in by_id.values()),
        failed=len(failing),
        collected=len(by_id),
        failures=tuple(Failure(one, "assert 0", "E assert 0") for one in failing),
        failing=tuple(failing),
        exit_code=1 if failing else 0,
        outcomes=by_id,
    )


def judge(found, setup=None, tests=TEST, files=()):
    return verdict_of(found, setup or TestSetup(), tests, dict.fromkeys(files, ""), PYTHON)


def test_a_failure_that_was_there_before_is_no_failure_of_the_task():
    known = TestSetup(known_failures=frozenset({CASE}))
    verdict = judge(run(new="passed", old="failed"), known)
    assert verdict.ok
    assert verdict.report.failures == ()
    assert (verdict.report.failed, verdict.report.passed) == (0, 1)
    assert verdict.notes == (f"1 failed before as well: {CASE}",)


def test_what_passed_before_and_is_gone_skipped_or_deselected_is_named():
    passing = TestSetup(passing=frozenset({CASE, "tests/test_old.py::test_other", ID}))
    assert judge(run(new="passed", old="skipped"), passing).lost == (CASE, "tests/test_old.py::test_other")
    assert judge(run(new="passed", old="deselected", other="failed"), passing).lost == (CASE,)
    assert judge(run(new="passed", old="passed", other="passed"), passing).lost == ()
    assert judge(TestReport(passed=3, exit_code=0), passing).lost == ()


def test_a_flickering_test_never_decides():
    assert judge(run(new="passed", old="failed"), TestSetup(flickering=frozenset({CASE}))).ok


def test_another_case_of_a_known_failure_is_new():
    known = TestSetup(known_failures=frozenset({"tests/test_old.py::test_old[b-2]"}))
    verdict = judge(run(new="passed", old="failed"), known)
    assert not verdict.ok
    assert [failure.nodeid for failure in verdict.report.failures] == [CASE]


def test_only_new_failures_are_handed_on_beside_known_ones():
    known = TestSetup(known_failures=frozenset({CASE}))
    verdict = judge(run(new="failed", old="failed", other="passed"), known)
    assert [failure.nodeid for failure in verdict.report.failures] == [ID]
    assert not verdict.ok


def test_a_known_failure_that_passes_now_is_said():
    verdict = judge(run(new="passed", old="passed"), TestSetup(known_failures=frozenset({CASE})))
    assert verdict.ok
    assert verdict.notes == (f"1 failed before and pass now: {CASE}",)


@pytest.mark.parametrize("outcome", [{}, {"new": "deselected"}])
def test_a_test_of_the_task_that_did_not_run_is_no_pass(outcome):
    verdict = judge(run(other="passed", **outcome))
    assert not verdict.ok
    assert verdict.report.problem == f"{ID} was written and did not run"


def test_tests_of_the_task_that_are_all_skipped_are_no_pass():
    verdict = judge(run(other="passed", new="skipped"))
    assert not verdict.ok
    assert "was skipped" in verdict.report.problem


def test_a_skip_that_the_tasks_code_asks_for_is_a_failure():
    found = run(other="passed", new="passed")
    skipped = TestReport(**vars(found) | {"skips": {CASE: "('/workspace/calc.py', 5, 'Skipped: later')"}})
    assert judge(skipped).ok
    assert not judge(skipped, files=["calc.py"]).ok


def test_a_void_run_is_no_pass_and_says_nothing_of_the_code():
    found = TestReport(**vars(run(new="passed")) | {"void": "asserts do not tell the truth"})
    assert not judge(found).ok
    assert trouble(found, {}, TestSetup()) == "asserts do not tell the truth"
    broke = TestReport(**vars(found) | {"broken": True, "errors": 7})
    assert not judge(broke).ok
    assert trouble(broke, {}, TestSetup()) == ""


def missing(name):
    failure = Failure("tests/test_old.py", f"ModuleNotFoundError: No module named '{name}'", "")
    return TestReport(errors=1, failures=(failure,), failing=("tests/test_old.py",), exit_code=2)


def test_a_package_that_the_task_does_not_name_is_missing_in_the_environment():
    assert "yaml" in trouble(missing("yaml"), {"calc.py": "import json"}, TestSetup())
    assert trouble(missing("yaml"), {"calc.py": "import yaml"}, TestSetup()) == ""
    assert trouble(missing("calc"), {"calc.py": "x = 1"}, TestSetup()) == ""


def test_a_machine_without_cpu_is_no_failure_of_the_code():
    assert "no CPU" in trouble(TestReport(timed_out=True, starved=True, cpu_seconds=3, seconds=900), {}, TestSetup())


def test_a_suite_that_is_stopped_while_its_tests_pass_says_nothing_of_the_code():
    stopped = {"timed_out": True, "collected": 9, "passed": 3, "seconds": 120.0}
    assert "none hung" in trouble(TestReport(**stopped), {}, TestSetup())
    known = TestReport(**stopped, failing=(CASE,))
    assert trouble(known, {}, TestSetup()) == ""
    assert "none failed" in trouble(known, {}, TestSetup(known_failures=frozenset({CASE})))
    assert trouble(TestReport(**stopped, hangs=(Hang(CASE, ("calc.py:3 in f",), 60, 60),)), {}, TestSetup()) == ""
    assert trouble(TestReport(**stopped | {"collected": 0}), {}, TestSetup()) == "", (
        "a loop in the code that is imported"
    )


def test_a_test_that_computed_up_to_its_limit_needs_no_second_run():
    setup = TestSetup(test_seconds=10)
    spins, sleeps = Hang("a", ("calc.py:3 in f",), 10, 9.5), Hang("b", ("calc.py:9 in g",), 10, 0.1)
    assert waited(TestReport(hangs=(sleeps,)), setup) == [sleeps]
    assert waited(TestReport(hangs=(spins, sleeps)), setup) == []  # the code is found out already


def test_a_hang_is_the_codes_when_it_comes_again_in_the_same_function():
    first = Hang("b", ("calc.py:9 in g",), 10, 0.1)
    assert hangs_again(first, TestReport(hangs=(Hang("b", ("calc.py:11 in g",), 10, 0.1),)))
    loop = Hang("b", ("calc.py:2 in helper", "calc.py:12 in g"), 10, 0.1)
    assert hangs_again(loop, TestReport(hangs=(first,)))
    assert not hangs_again(first, TestReport(hangs=(Hang("b", ("calc.py:11 in h",), 10, 0.1),)))
    assert hangs_again(first, TestReport(timed_out=True))
    assert not hangs_again(first, TestReport(passed=1, exit_code=0))
    assert not hangs_again(first, TestReport(timed_out=True, starved=True))
