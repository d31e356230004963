"""Failing tests are cut out of a suite, whole and with their decorators; what is left is Python."""

from hypothesis import given
from hypothesis import strategies as st

from agents.languages.python import syntax
from agents.languages.python.pruning import without

TEXT = """import pytest


@pytest.fixture
def number():
    return 1


@pytest.mark.parametrize("case", [1, 2])
def test_cases(case, number):
    assert case == number


class TestMore:
    def test_one(self):
        assert 1

    def test_two(self):
        assert 0


async def test_last():
    assert 1
"""


def test_a_test_goes_with_its_decorators_and_every_case_of_it():
    left = without({"tests/test_a.py": TEXT}, ["tests/test_a.py::test_cases[2]"])["tests/test_a.py"]
    assert "parametrize" not in left
    assert "def number" in left
    assert "test_last" in left
    assert "return 1\n\n\nclass TestMore" in left


def test_a_method_of_a_class_is_told_from_a_function_of_that_name():
    left = without({"tests/test_a.py": TEXT}, ["tests/test_a.py::TestMore::test_two", "tests/test_a.py::test_one"])
    assert "test_two" not in left["tests/test_a.py"]
    assert "test_one" in left["tests/test_a.py"]


def test_a_file_that_could_not_be_collected_or_has_no_test_left_goes_whole():
    tests = {"tests/test_a.py": TEXT, "tests/test_b.py": "def test_b():\n    assert 0\n", "tests/help.py": "A = 1\n"}
    assert set(without(tests, ["tests/test_a.py", "tests/test_b.py::test_b"])) == {"tests/help.py"}


def test_a_class_without_its_only_test_is_no_python_so_the_file_goes():
    text = "class TestA:\n    def test_a(self):\n        assert 0\n\n\ndef test_b():\n    assert 1\n"
    assert without({"t.py": text}, ["t.py::TestA::test_a"]) == {}


def test_nothing_that_fails_leaves_all():
    assert without({"t.py": TEXT}, []) == {"t.py": TEXT}


@given(st.lists(st.sampled_from(["test_cases", "TestMore::test_one", "TestMore::test_two", "test_last", "test_no"])))
def test_what_is_left_always_parses(names):
    for text in without({"t.py": TEXT}, [f"t.py::{name}" for name in names]).values():
        assert "test_" in text
        syntax.parse(text)
