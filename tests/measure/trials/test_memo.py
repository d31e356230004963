"""The same files are run once, and a run that was looked up says what the real one said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from measure.trials.memo import MemoBackend
from sandbox.pytest_run import run_pytest
from sandbox.registry import load_backend

pytestmark = pytest.mark.bubblewrap
TEST = b"from code_ import f\n\n\ndef test_f():\n    assert f(2) == 4\n"
GOOD, BAD = b"def f(n):\n    return n * 2\n", b"def f(n):\n    return n\n"


@pytest.fixture
def opened():
    """A backend that counts how often it was opened."""
    inner = load_backend("bubblewrap")

    class Counting:
        name, many = inner.name, 0

        def open(self, **options):
            self.many += 1
            return inner.open(**options)

    return Counting()


def looked_up(report):
    return replace(report, seconds=0.0)


def test_a_second_run_of_the_same_files_needs_no_sandbox_and_says_the_same(tmp_path, opened):
    backend = MemoBackend(opened, tmp_path / "runs")
    told = []
    for _ in range(2):
        with backend.open(label="t") as box:
            for text in (GOOD, BAD, GOOD):
                box.put({"code_.py": text, "tests/test_code.py": TEST})
                told.append(run_pytest(box))
    assert opened.many == 1
    assert [report.ok for report in told] == [True, False, True] * 2
    assert told[1].failures[0].message
    assert list(map(looked_up, told[:3])) == list(map(looked_up, told[3:]))


def test_what_was_looked_up_is_run_when_something_else_is_asked(tmp_path, opened):
    (tmp_path / "tree" / "tests").mkdir(parents=True)
    (tmp_path / "tree" / "code_.py").write_bytes(GOOD)
    (tmp_path / "tree" / "tests" / "test_code.py").write_bytes(TEST)
    backend = MemoBackend(opened, tmp_path / "runs")
    for _ in range(2):
        with backend.open() as box:
            box.put({"left.txt": b"over"})
            box.mirror(tmp_path / "tree")
            assert run_pytest(box).ok
            box.warm_up()
            assert box.exec(["cat", "code_.py"]).out.encode() == GOOD
            assert box.get(["left.txt", "tests/test_code.py"]) == {"tests/test_code.py": TEST}
    assert opened.many == 2


def test_what_ran_out_of_time_is_run_again(tmp_path, opened):
    backend = MemoBackend(opened, tmp_path / "runs")
    for _ in range(2):
        with backend.open() as box:
            box.put({"tests/test_slow.py": b"import time\n\n\ndef test_it():\n    time.sleep(60)\n"})
            assert run_pytest(box, seconds=0.5).timed_out
    assert opened.many == 2


def test_other_arguments_are_another_run(tmp_path, opened):
    with MemoBackend(opened, tmp_path / "runs").open() as box:
        box.put({"code_.py": GOOD, "tests/test_code.py": TEST})
        assert run_pytest(box, coverage_of=()).branch_coverage is None
        assert run_pytest(box).branch_coverage is not None
    assert len(list((tmp_path / "runs").iterdir())) == 2
