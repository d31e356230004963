"""Calls that tell samples apart are taken from the tests and varied."""

import pytest

from agents.languages.python.probing import MAX_CALLS, behaviour, calls_of
from sandbox.registry import load_backend

TESTS = {
    "tests/test_calc.py": "from calc import top as best\nimport other\n\n\ndef test_top():\n    x = []\n    assert "
    "best([1, 3, 2]) == 3\n"
    "    assert best(x) is None\n    assert len('abc') == 3\n    assert other.f(1)\n"
}
FILES = {"calc.py": "def top(values):\n    return max(values, default=None)\n"}
OTHER = {"calc.py": "def top(values):\n    return sorted(values)[-1]\n"}  # the same but for an empty list


def test_only_calls_of_the_code_under_test_with_plain_data_are_taken_each_with_variations():
    calls = calls_of(TESTS, FILES)
    assert calls[0] == ("calc", "top", ([1, 3, 2],))
    assert ("calc", "top", ([],)) in calls
    assert {call[:2] for call in calls} == {("calc", "top")}


def test_their_number_is_bounded_and_text_that_is_no_program_has_none():
    many = "from calc import top\n" + "".join(f"top([{n}, {n + 1}])\n" for n in range(500))
    assert len(calls_of({"tests/t.py": many}, FILES)) == MAX_CALLS
    assert calls_of({"tests/t.py": "def ("}, FILES) == []


@pytest.mark.bubblewrap
def test_code_that_passes_the_same_tests_is_told_apart_by_what_the_variations_give():
    calls = calls_of(TESTS, FILES)
    with load_backend("bubblewrap").open() as sandbox:
        shown = []
        for files in (FILES, OTHER, FILES):
            sandbox.put({path: text.encode() for path, text in files.items()})
            shown.append(behaviour(sandbox, calls))
        assert all(shown)
        assert shown[0] == shown[2] != shown[1]
        sandbox.put({"calc.py": b"import os\nos._exit(0)\n"})
        assert behaviour(sandbox, calls) == ""
        assert behaviour(sandbox, []) == ""
