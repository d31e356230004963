"""What a change takes away is never lost unseen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agents.engine.nodes.removals import removal_words
from tests.agents.engine.nodes.support import APPROVED, Bench, code, task
from tests.faults.stage import QuietBackend, quiet_pytest

LONG = "".join(f"def helper_{number}(value):\n    return value + {number}\n\n\n" for number in range(300))
MODULE = f"import math\n\n\n{LONG}def add(a, b):\n    return a - b\n"
TESTS = code("tests/test_calc.py", "from calc import add\n\n\ndef test_sum():\n    assert add(2, 3) == 5")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    backend = QuietBackend()
    monkeypatch.setattr("tests.agents.engine.nodes.support.open_backend", lambda name: backend)
    monkeypatch.setattr("agents.languages.python.language.run_pytest", quiet_pytest)
    replies = {"tester-tests": TESTS, "coder-code": "", "reviewer-review": APPROVED}
    return Bench(tmp_path, replies, task())


def at_base(bench: Bench, files: dict[str, str]) -> None:
    bench.repository.ensure("Test")
    base = bench.repository.head()
    tree = bench.repository.worktree("start", base)
    tree.write(files)
    bench.repository.fast_forward(tree.commit(base, "What was there", "", {}))


def merged_file(bench: Bench, path: str) -> str:
    return bench.repository.read(bench.repository.head(), path) or ""


@pytest.mark.parametrize("files", [["calc.py"], []])
def test_one_function_of_a_long_module_leaves_the_others_where_they_are(bench: Bench, files: list[str]) -> None:
    at_base(bench, {"calc.py": MODULE})
    bench.task = task(files=files)
    bench.replies["coder-code"] = code("calc.py", "def add(a, b):\n    return a + b")
    assert bench.run()["verdict"] == "merged"
    assert merged_file(bench, "calc.py") == MODULE.replace("a - b", "a + b")
    assert any("calc.py: merged" in event["summary"] for event in bench.event_log.of("system"))


def words(**changes: Any) -> Any:
    return removal_words(task(**changes))


def test_a_task_removes_what_it_names_in_a_sentence_about_removing():
    assert words(description="Rename total to total_price. Keep taxed.")("Cart.total")
    assert not words(description="Rename total to total_price. Keep taxed.")("taxed")
    assert not words(description="Fix total; it returns None.")("total")
    assert not words(description="Remove the total_price function.")("total")
