"""Recordings made for a measurement: small programs whose every reply is known, written as scenario folders."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

APPROVED = json.dumps({"approved": True, "reasons": ["It does what FR-01 asks for, and its tests say so."]})
PRD = "# Benchmark\n\nFR-01 The program shall calculate sums.\n"
_TOML = (
    'name = "bench"\ntitle = "Benchmark"\ndescription = "Made for a measurement."\nmodel = "bench"\nrecorded = true\n'
)


def fenced(path: str, text: str) -> str:
    """A file in a reply."""
    return f"```python path={path}\n{text.rstrip()}\n```\n"


def write_scenario(folder: Path, replies: Mapping[str, str]) -> Path:
    """A scenario folder with these replies, by `<task>/<name>`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scenario.toml").write_text(_TOML, encoding="utf-8")
    for name, text in replies.items():
        file = folder / f"{name}.md"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder


def planned(key: str, title: str, files: Sequence[str], needs: Sequence[str] = ()) -> dict[str, Any]:
    """A task as it stands in a plan."""
    return {
        "key": key,
        "title": title,
        "description": f"Write {', '.join(files)}.",
        "kind": "code",
        "agent": "coder",
        "minutes": 15,
        "requirements": ["FR-01"],
        "needs": list(needs),
        "expects": "Its tests pass.",
        "files": list(files),
        "packages": [],
    }


_TESTS = """
import pytest

from calc import add, average


@pytest.mark.parametrize(("numbers", "total"), [((2, 3), 5), ((-1, 1), 0), ((10, 20), 30)])
def test_two_numbers_are_summed(numbers, total):
    assert add(*numbers) == total


def test_an_average_is_taken():
    assert average([2, 4, 6]) == 4


def test_nothing_has_no_average():
    with pytest.raises(ValueError):
        average([])
"""

_WRONG = """
def add(a, b):
    return a - b


def average(numbers):
    return sum(numbers) / len(numbers)
"""

_RIGHT = '''
"""Sums and averages."""


def add(a, b):
    """The sum of two numbers."""
    return a + b


def average(numbers):
    """The arithmetic mean; raises ValueError for no numbers."""
    if not numbers:
        raise ValueError("no numbers")
    return sum(numbers) / len(numbers)
'''

# One task that fails once: four model calls, two test runs.
REPAIRED_FILES: tuple[Mapping[str, str], ...] = (
    {"tests/test_calc.py": _TESTS, "calc.py": _WRONG},
    {"tests/test_calc.py": _TESTS, "calc.py": _RIGHT},
)
REPAIRED = {
    "T-01/tester-tests": "The tests ask for sums, an average, and a clear error.\n\n"
    + fenced("tests/test_calc.py", _TESTS),
    "T-01/coder-code": "Two small functions are enough.\n\n" + fenced("calc.py", _WRONG),
    "T-01/coder-repair": "## Diagnosis\nCause: add subtracts, and an empty list divides by zero.\n"
    "Evidence: assert -1 == 5\nHypothesis: adding, and refusing an empty list, passes all tests.\n"
    "Plan: change both functions.\n\n" + fenced("calc.py", _RIGHT),
    "T-01/reviewer-review": APPROVED,
}
REPAIRED_TASK = planned("T-01", "Sums and averages", ["calc.py"])


def _small(key: str, needs: Sequence[str]) -> tuple[dict[str, str], dict[str, Any]]:
    """One task that succeeds at once: a module that adds to what the modules before it say."""
    name = "part_" + key.lower().replace("-", "_")
    before = ["part_" + need.lower().replace("-", "_") for need in needs]
    imports = "".join(f"from {other} import value as {other}\n" for other in before)
    total = " + ".join(f"{other}(start)" for other in before) or "start"
    code = (
        f'"""Part {key}."""\n\n{imports}\n\ndef value(start):\n    """The sum up to this part."""\n    return '
        f"{total} + 1\n"
    )
    test = (
        f"from {name} import value\n\n\ndef test_{name}_adds_to_what_came_before():\n    assert value(0) < value(1)\n"
    )
    replies = {
        f"{key}/tester-tests": f"One test for part {key}.\n\n" + fenced(f"tests/test_{name}.py", test),
        f"{key}/coder-code": "It adds to the parts before it.\n\n" + fenced(f"{name}.py", code),
        f"{key}/reviewer-review": APPROVED,
    }
    return replies, planned(key, f"Part {key}", [f"{name}.py"], needs)


def diamond(lanes: int, layers: int) -> tuple[dict[str, str], list[dict[str, Any]], list[dict[str, Any]]]:
    """Replies, the tasks of a diamond (root, lanes of layers, join), and those of its critical path alone."""
    needs: dict[str, list[str]] = {"T-01": []}
    path = ["T-01"]
    number, ends = 2, []
    for lane in range(lanes):
        before = "T-01"
        for _ in range(layers):
            key = f"T-{number:02}"
            needs[key], before, number = [before], key, number + 1
            if lane == 0:
                path.append(key)
        ends.append(before)
    join = f"T-{number:02}"
    needs[join] = ends
    replies: dict[str, str] = {}
    tasks = []
    for key, wanted in needs.items():
        said, task = _small(key, wanted)
        replies |= said
        tasks.append(task)
    # The join of the chain has only one part before it, so its recording is another one, under another key.
    said, last = _small("T-90", [path[-1]])
    replies |= said
    chain = [task for task in tasks if task["key"] in path] + [last]
    return replies, tasks, chain


def change_of_500_lines() -> dict[str, str]:
    """A plausible change of about five hundred lines: modules, their tests, a page."""
    files: dict[str, str] = {}
    for number in range(6):
        body = "".join(_function(number, index) for index in range(9))
        files[f"shop/part_{number}.py"] = f'"""Part {number} of the shop."""\n\nimport json\n{body}'
        files[f"tests/test_part_{number}.py"] = (
            f"from shop import part_{number}\n\n\ndef test_an_order_is_summed():\n"
            f'    assert part_{number}.total_0([{{"price": 2, "amount": 3}}]) == 6\n'
        )
    files["shop/page.html"] = "<!doctype html>\n<title>Shop</title>\n<p>{{ total }}</p>\n"
    return files


def _function(number: int, index: int) -> str:
    return f'''

def total_{index}(lines):
    """The sum of an order's lines, part {number}."""
    total = {index - index}
    for line in lines:
        total += line["price"] * line["amount"]
    return json.loads(json.dumps(total))
'''
