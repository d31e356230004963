"""Best of several samples: each is run, and the one that the runs speak for goes on."""

from __future__ import annotations

import pytest

from agents.ports import Limits
from tests.agents.nodes.support import APPROVED, DIAGNOSIS, Bench, Crash, code, task

pytestmark = pytest.mark.bubblewrap

TESTS = code("tests/test_calc.py", "from calc import add\n\n\ndef test_sum():\n    assert add(2, 2) == 4")
GOOD = code("calc.py", "def add(a, b):\n    return a + b")
ALSO = code("calc.py", "def add(a, b):\n    return sum((a, b))")
ODD = code("calc.py", "def add(a, b):\n    return a * b")  # passes, and is wrong
BAD = code("calc.py", "def add(a, b):\n    return a - b")


def bench_of(tmp_path, *samples, **limits):
    names = ["coder-code", *(f"coder-code-a{n}" for n in range(2, len(samples) + 1))]
    replies = dict(zip(names, samples, strict=True)) | {"tester-tests": TESTS, "reviewer-review": APPROVED}
    return Bench(tmp_path, replies, task(), limits=Limits(samples=len(samples), **limits))


def chosen(bench):
    (event,) = bench.spine.of("search.selected")
    return event["payload"]["chosen"], len(event["payload"]["samples"]), event["payload"]["why"]


def test_a_sample_that_passes_the_tests_by_luck_is_outvoted(tmp_path):
    bench = bench_of(tmp_path, ODD, GOOD, ALSO)
    assert bench.run()["verdict"] == "merged"
    assert chosen(bench) == (2, 3, "enough of them agree")
    assert "return a + b" in (bench.repository.root / "calc.py").read_text()


def test_sampling_ends_as_soon_as_two_agree(tmp_path):
    bench = bench_of(tmp_path, GOOD, ALSO, ODD)
    assert bench.run()["verdict"] == "merged"
    assert chosen(bench) == (1, 2, "enough of them agree")


def test_with_given_tests_the_first_that_passes_is_taken(tmp_path):
    bench = bench_of(tmp_path, BAD, GOOD, ODD)
    bench.task["tests_given"] = {
        "tests/test_calc.py": "from calc import add\n\n\ndef test_sum():\n    assert add(2, 3) == 5\n"
    }
    assert bench.run()["verdict"] == "merged"
    assert chosen(bench) == (2, 2, "it passes the given tests")


def test_when_none_passes_the_best_is_repaired_in_its_own_conversation(tmp_path):
    bench = bench_of(tmp_path, code("calc.py", "def add(a, b)\n"), BAD)
    bench.replies["coder-repair-a2"] = DIAGNOSIS.format(cause="minus for plus") + GOOD
    final = bench.run()
    assert final["verdict"] == "merged"
    assert chosen(bench)[:2] == (2, 2)
    (prompt,) = [e["blobs"]["prompt"] for e in bench.spine.of("thought") if e["payload"]["step"] == "repair"]
    assert "return a - b" in prompt[-2]


def test_sampling_ends_when_the_iterations_do(tmp_path):
    bench = bench_of(tmp_path, ODD, GOOD, ALSO, max_iterations=2)  # the tester took one
    bench.run()
    assert chosen(bench) == (1, 1, "the limit of iterations is reached")


def test_no_sample_is_paid_for_twice_after_a_kill(tmp_path):
    bench = bench_of(tmp_path, ODD, GOOD, ALSO)
    bench.spine.crash_at = 34
    with pytest.raises(Crash):
        bench.run()
    bench.spine.crash_at = 0
    assert bench.run()["verdict"] == "merged"
    keys = [event["key"] for event in bench.spine.of("thought") if event["payload"]["step"] == "code"]
    assert len(keys) == len(set(keys)) == 3
