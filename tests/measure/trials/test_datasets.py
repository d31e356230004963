"""Datasets are read as they come, and a broken one says where."""

from __future__ import annotations

import json
import sys

import pytest

from measure.trials.datasets import SOLUTION, TESTS, BadDataset, load_tasks
from tests.measure.trials.samples import ROWS, bugfix, exercise, humaneval
from tests.tables import each_row


def test_a_row_becomes_a_module_and_a_test_that_judges_it(tmp_path):
    task = load_tasks(humaneval(tmp_path), "humaneval")[0]
    space: dict = {}
    exec(compile(task.reference[SOLUTION], SOLUTION, "exec"), space)
    assert space["clamp"](9, 0, 5) == 5
    assert "check(candidate_)" in task.tests[TESTS]
    assert task.name == "Own-0"


def collected(task, folder, monkeypatch):
    """What pytest would find in the task's tests, by name."""
    (folder / SOLUTION).write_text(task.reference[SOLUTION])
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "solution", raising=False)
    space: dict = {}
    exec(compile(task.tests[TESTS], TESTS, "exec"), space)
    sys.modules.pop("solution", None)
    return {name: value for name, value in space.items() if name.startswith("test")}


def test_a_function_called_test_something_is_not_taken_for_a_test(tmp_path, monkeypatch):
    row = {"task_id": "Own/9", "prompt": "def test_even(n):\n", "canonical_solution": "    return n % 2 == 0\n"}
    row |= {"entry_point": "test_even", "test": "def check(candidate):\n    assert candidate(2)\n"}
    code = "def test_even(n):\n    return n % 2 == 0"
    first = {"task_id": 8, "text": "Even?", "code": code, "test_list": ["assert test_even(2)"]}
    for number, line in enumerate((row, first)):
        place = tmp_path / str(number)
        place.mkdir()
        (place / "rows.jsonl").write_text(json.dumps(line))
        found = collected(load_tasks(place / "rows.jsonl", "mbpp")[0], place, monkeypatch)
        assert [each.__code__.co_argcount for each in found.values()] == [0]
        for each in found.values():
            each()


def test_a_limit_takes_the_first(tmp_path):
    assert [task.id for task in load_tasks(humaneval(tmp_path), "humaneval", 1)] == ["Own/0"]


def test_both_shapes_of_mbpp_are_read(tmp_path):
    first = tmp_path / "first.jsonl"
    row = {"task_id": 7, "text": "Add.", "code": "def add(a, b):\r\n    return a + b"}
    row |= {"test_list": ["assert add(1, 2) == 3"], "test_setup_code": "import math"}
    first.write_text(json.dumps(row))
    task = load_tasks(first, "mbpp")[0]
    assert task.id == "MBPP/7"
    assert "\r" not in task.reference[SOLUTION]
    assert "import math" in task.tests[TESTS]
    assert "    assert add(1, 2) == 3" in task.tests[TESTS]
    assert load_tasks(humaneval(tmp_path), "mbpp")[1].id == "Own/1"


def test_a_folder_has_start_tests_and_reference(tmp_path):
    task = load_tasks(bugfix(tmp_path), "folder")[0]
    assert set(task.start) == set(task.reference) == {"cart.py"}
    assert set(task.tests) == {"tests/test_cart.py"}
    assert "empty cart" in task.text


@each_row(
    ("text", "says"),
    [
        ("", "holds no task"),
        ("nonsense\n", ":1 is not a line of JSON"),
        ("[1]\n", ":1 is not an object"),
        (json.dumps({"task_id": "x"}) + "\n", "has no field 'prompt'"),
        (json.dumps(ROWS[0] | {"entry_point": "os; x"}) + "\n", "not a function name"),
        (json.dumps(ROWS[0]) + "\n" + json.dumps(ROWS[0]) + "\n", "two tasks are called Own-0"),
    ],
)
def test_a_broken_dataset_says_where(tmp_path, text, says):
    path = tmp_path / "bad.jsonl"
    path.write_text(text)
    with pytest.raises(BadDataset, match=says):
        load_tasks(path, "humaneval")


def test_a_folder_without_an_answer_is_refused(tmp_path):
    root = bugfix(tmp_path)
    (root / "shop/reference/cart.py").unlink()
    with pytest.raises(BadDataset, match="reference is empty"):
        load_tasks(root, "folder")


def test_text_that_is_no_utf8_is_refused(tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(BadDataset, match="not UTF-8"):
        load_tasks(path, "humaneval")


def test_a_task_has_a_title_that_says_what_it_is_about(tmp_path):
    assert [task.title for task in load_tasks(humaneval(tmp_path), "humaneval")] == [
        "clamp: Keep value between low and high.",
        "vowels: Count the vowels of a text.",
    ]
    assert load_tasks(bugfix(tmp_path), "folder")[0].title == "shop: The total of an empty cart is 0. Mend it."
    row = {"task_id": 1, "text": "Count  the\nwords. " * 20, "code": "def f(): pass", "test_list": ["assert f"]}
    (tmp_path / "m.jsonl").write_text(json.dumps(row))
    title = load_tasks(tmp_path / "m.jsonl", "mbpp")[0].title
    assert title.startswith("Count the words. Count")
    assert len(title) == 120


def test_an_exercise_is_read_by_the_files_that_its_configuration_names(tmp_path):
    (task,) = load_tasks(exercise(tmp_path), "exercism")
    assert (task.id, list(task.start), list(task.tests)) == ("leap", ["leap.py"], ["leap_test.py"])
    assert list(task.reference) == ["leap.py"]
    assert "else 400" in task.reference["leap.py"]
    assert task.text.startswith("# Leap\n\nYears differ.\n\nTell whether")


def test_exercises_in_a_language_that_is_not_there_yet_are_refused(tmp_path):
    with pytest.raises(BadDataset, match="another language: the product cannot build tasks in it yet"):
        load_tasks(exercise(tmp_path / "2", "f90"), "exercism")
    assert list(load_tasks(exercise(tmp_path, "js"), "exercism")[0].tests) == ["leap_test.js"]
    (tmp_path / "exercises/practice/leap/leap_test.js").unlink()
    with pytest.raises(BadDataset, match="or not there"):
        load_tasks(tmp_path / "exercises", "exercism")
