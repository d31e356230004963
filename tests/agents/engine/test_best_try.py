"""Which failed try an approach goes back to."""

import pytest

from agents.engine.best_try import best_here, better_before, rank
from tests.agents.engine.states import state_with


def tried(before=None, *, attempt=1, approach=1, base="b", tests=None, passed=0, compiles=True, ok=False):
    report = {"passed": passed, "compiles": compiles, "ok": ok}
    return state_with(
        attempt=attempt,
        approach=approach,
        base=base,
        tests=tests or {"tests/t.py": ""},
        report=report,
        coder=[{}] * attempt,
        best_here=before or {},
    )


def kept(state):
    return best_here(state, state["candidate"]["report"])


def test_code_that_compiles_comes_before_code_that_passes_nothing_because_it_does_not():
    assert rank({"compiles": True, "passed": 0}) > rank({"compiles": False, "passed": 0})
    assert rank({"compiles": True, "passed": 3}) > rank({"compiles": True, "passed": 2})


def test_an_equal_try_takes_the_place_of_the_older_one():
    first = kept(tried(passed=2))
    assert kept(tried(first, attempt=2, passed=2))["attempt"] == 2
    assert better_before(tried(first, attempt=2, passed=2)) is None


def test_a_worse_try_leaves_the_better_one_in_place():
    first = kept(tried(passed=2))
    second = tried(first, attempt=2, passed=1)
    assert kept(second) == first
    assert better_before(second) == first
    assert first["turns"] == 1


@pytest.mark.parametrize("change", [{"approach": 2}, {"base": "c"}, {"tests": {"tests/t.py": "new"}}])
def test_tries_of_another_approach_base_or_suite_are_not_compared(change):
    first = kept(tried(passed=2))
    assert better_before(tried(first, attempt=2, passed=0, **change)) is None
    assert kept(tried(first, attempt=2, passed=0, **change))["attempt"] == 2


def test_a_try_that_passed_stays_better_than_one_that_fails_with_more_tests_passed():
    green = kept(tried(passed=2, ok=True))
    assert better_before(tried(green, attempt=2, passed=3)) == green
    assert kept(tried(green, attempt=2, passed=1, ok=True))["attempt"] == 2


def test_the_first_try_has_no_better_one_before_it():
    assert better_before(tried(passed=0)) is None
