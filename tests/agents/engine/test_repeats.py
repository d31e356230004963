"""The same candidate is known again, and nothing else is taken for it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.engine.repeats import already_tried, candidate_hash, normal, remembered
from agents.engine.state import TaskState
from tests.agents.engine.states import state_with
from tests.tables import each_row

CODE = "def add(a, b):\n    return a - b\n"
FAILED = {"ok": False, "compiles": True, "exit_code": 1, "signature": "s1", "passed": 1, "failed": 1}


def state(code: str = CODE, **changes: Any) -> TaskState:
    return state_with(**{"attempt": 1, "report": FAILED, "files": {"calc.py": code}} | changes)


def after_a_failure(**report: Any) -> list[dict[str, Any]]:
    return remembered(state(), FAILED | report, "AssertionError in test_add")


@pytest.mark.parametrize(
    "again",
    [CODE, "# the sum\ndef add(a,b):\n\n    return (a - b)  # minus\n", CODE.replace("\n", "\r\n")],
    ids=["the same bytes", "other spaces and comments", "other line ends"],
)
def test_a_candidate_that_does_the_same_is_known_again(again: str) -> None:
    found = already_tried(state(again, attempt=2, tried=after_a_failure()))
    assert found is not None
    assert (found["attempt"], found["failure"], found["signature"]) == (1, "AssertionError in test_add", "s1")
    assert found["tests"] == {"passed": 1, "failed": 1, "errors": 0, "skipped": 0}


@each_row(
    "changes",
    [
        {"files": {"calc.py": CODE.replace("-", "+")}},
        {"files": {"calc.py": CODE, "more.py": "X = 1\n"}},
        {"tests": {"tests/test_calc.py": "def test(): ...\n"}},
        {"packages": ["attrs"]},
        {"base": "f00"},
    ],
    ids=["other code", "one more file", "corrected tests", "one more package", "another base"],
)
def test_anything_that_could_change_the_outcome_makes_a_new_candidate(changes: dict[str, Any]) -> None:
    assert already_tried(state(attempt=2, tried=after_a_failure(), **changes)) is None


def test_code_that_a_gate_sent_back_is_run_again() -> None:
    assert already_tried(state(attempt=3, tried=after_a_failure(), report={"ok": True})) is None


@pytest.mark.parametrize(
    "report",
    [{"timed_out": True}, {"out_of_memory": True}, {"problem": "the test run ended"}, {"exit_code": None}],
    ids=["too slow", "too large", "no result", "a package was refused"],
)
def test_a_run_without_a_result_may_be_had_again(report: dict[str, Any]) -> None:
    assert after_a_failure(**report) == []


def test_code_that_does_not_compile_is_known_again_too() -> None:
    broken = "def add(a, b)\n    return a\n"
    tried = remembered(state(broken), FAILED | {"compiles": False, "exit_code": None}, "SyntaxError")
    found = already_tried(state(broken + "\n\n", attempt=2, tried=tried))
    assert found is not None
    assert found["compiles"] is False


@given(st.text(max_size=300), st.sampled_from(["a.py", "a.js", "README"]))
def test_any_text_has_a_normal_form(text: str, path: str) -> None:
    assert normal(path, text) == normal(path, text)
    assert len(candidate_hash(state(files={path: text}))) == 64


def test_python_that_is_too_deep_to_parse_is_compared_as_text() -> None:
    deep = "(" * 5_000 + ")" * 5_000
    assert normal("a.py", deep + "  \n") == deep
