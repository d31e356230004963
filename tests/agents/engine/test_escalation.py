"""A person who gets a task learns what was tried, what is known and what can be done."""

from typing import Any

from agents.engine.escalation import escalation_text
from agents.engine.state import TaskState
from tests.agents.engine.states import state_with
from tests.agents.repair.test_known import KEY_ERROR

WHY = "The tests still fail after 2 of 2 repairs."


def state(**changes: Any) -> TaskState:
    made: Any = {
        "failures": ["try 1 (first): KeyError in tests/test_cart.py::test_price: 'tea'", "try 2 (repair): the same"],
        "report": {
            "ok": False,
            "passed": 2,
            "failed": 1,
            "failures": [{"nodeid": "tests/test_cart.py::test_price", "message": "", "traceback": KEY_ERROR}],
        },
        "signatures": ["s", "s"],
        "best": {"attempt": 1, "passed": 2, "ran": 3, "reward": -0.5, "files": {"shop/cart.py": ""}, "tests": {}},
        **changes,
    }
    return state_with({"key": "T-01", "requirements": [{"key": "FR-01"}]}, **made)


def test_it_says_why_then_each_try_the_best_one_what_is_known_and_the_ways_out() -> None:
    text = escalation_text(state(), WHY)
    assert text.splitlines()[0] == WHY
    assert "- try 1 (first): KeyError in tests/test\\_cart.py::test\\_price: 'tea'" in text
    assert "- try 2 (repair)" in text
    assert "Try 1: 2 of 3 tests passed. Its files are attached: `shop/cart.py`." in text
    assert "The last run: 2 passed, 1 failed." in text
    assert "`KeyError` at `shop/cart.py:3`, seen by `tests/test_cart.py::test_price`" in text
    assert "The last 2 tries of this approach failed in the same way." in text
    assert all(way in text for way in ("Retry it with a note", "Raise the limit", "(FR-01)", "Skip it"))
    assert "said no" not in text


def test_a_diagnosis_with_invented_evidence_is_told_as_such() -> None:
    text = escalation_text(state(diagnosis={"cause": "the price is missing"}, unfounded=True), WHY)
    assert "the line it named as evidence is not in the trace: the price is missing" in text


def test_what_people_said_no_to_is_told_with_their_reason() -> None:
    text = escalation_text(state(), WHY, ["T-01: may this code reach outside?: no network in this product"])
    assert "**What people said no to**\n\n- T-01: may this code reach outside?: no network in this product" in text


def test_without_any_try_there_is_no_empty_chapter() -> None:
    text = escalation_text(state(failures=[], report={}, best={}, signatures=[]), "No usable tests: none was written")
    assert "tried" not in text
    assert "known" not in text
    assert "Best attempt" not in text
    assert "What you can do" in text


def test_words_of_tests_and_models_are_no_markup() -> None:
    hostile = "try 1 (first): [click](http://x) **bold** <b>\n# heading"
    text = escalation_text(state(failures=[hostile]), WHY)
    assert "\\[click\\](http://x) \\*\\*bold\\*\\* \\<b\\> \\# heading" in text


def test_of_very_many_tries_the_first_and_the_last_are_told() -> None:
    text = escalation_text(state(failures=[f"try {number}" for number in range(1, 61)]), WHY)
    assert "- try 10\n- … 40 more …\n- try 51\n" in text
    assert "- try 60\n" in text
