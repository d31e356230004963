"""Tests that pass before the code is written do not show what a task changes; tester and reviewer are told."""

import pytest

from tests.agents.engine.nodes.support import APPROVED, Bench, code, task

pytestmark = pytest.mark.bubblewrap

ADD = "def add(a: int, b: int) -> int:\n    return a + b\n"
MORE = f"{ADD}\n\ndef double(a: int) -> int:\n    return add(a, a)\n"
OLD = code("tests/test_calc.py", "from calc import add\n\n\ndef test_sum():\n    assert add(2, 3) == 5")
NEW = code("tests/test_double.py", "from calc import double\n\n\ndef test_double():\n    assert double(2) == 4")
NOTE = "The new tests pass on the code before the change too."


@pytest.fixture
def bench(tmp_path):
    replies = {"tester-tests": OLD, "coder-code": code("calc.py", MORE), "reviewer-review": APPROVED}
    bench = Bench(tmp_path, replies, task(), switched_off=frozenset({"mutation"}))
    bench.start_with({"calc.py": ADD})
    return bench


def test_a_tester_whose_tests_pass_already_is_told_once_and_writes_one_that_fails(bench):
    bench.replies["tester-unproven"] = NEW
    assert bench.run()["verdict"] == "merged"
    assert "before any change, and all of them pass" in bench.last_turns("unproven")[0]
    assert bench.merged("tests/test_double.py")
    assert NOTE not in bench.last_turns("review")[0]


def test_where_nothing_one_can_observe_changes_the_work_goes_on_and_the_reviewer_knows(bench):
    bench.replies["tester-unproven"] = "The task only moves code."
    assert bench.run()["verdict"] == "merged"
    assert NOTE in bench.last_turns("review")[0]


@pytest.mark.parametrize(("kind", "tests"), [("code", NEW), ("docs", OLD)])
def test_tests_that_fail_first_and_tasks_without_code_cost_no_question(bench, kind, tests):
    bench.task = task(kind=kind)
    bench.replies["tester-tests"] = tests
    assert bench.run()["verdict"] == "merged"
    assert not bench.last_turns("unproven")
