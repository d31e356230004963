"""The circuit breaker: a warning before it, nothing asked after it, and what was tried is shown to whoever decides."""

import pytest

from agents.engine.contracts import TaskLimits
from agents.events.log import Spent
from tests.agents.engine.nodes.support import APPROVED, BAD, DIAGNOSIS, TESTS, Bench, code, task

pytestmark = pytest.mark.bubblewrap

WORSE = DIAGNOSIS.format(cause="a guess") + code("calc.py", "def add(a: int, b: int) -> int:\n    return b - a - 1")
SAME = DIAGNOSIS.format(cause="a guess") + code("calc.py", "def add(a: int, b: int) -> int:\n    return -b + a")
JUDGED = "Verdict: code\nReason: 2 + 3 is 5, says FR-01"
REPLIES = {"tester-tests": TESTS, "reviewer-review": APPROVED, "coder-code": BAD}


def warnings(bench):
    return [event["summary"] for event in bench.event_log.of("system")]


def steps(bench):
    return [event["payload"]["step"] for event in bench.event_log.of("thought")]


def test_few_iterations_left_are_said_once_before_the_breaker(tmp_path):
    limits = TaskLimits(max_iterations=4, warn_iterations=2)
    bench = Bench(tmp_path, REPLIES | {"coder-repair": WORSE, "coder-repair-2": WORSE}, task(), limits=limits)
    assert "limit of 4 iterations" in bench.run()["escalation"]
    assert warnings(bench) == ["2 of 4 iterations are used: 2 left before it is escalated"]


def test_an_approach_that_an_argument_left_no_iteration_for_is_not_asked_for(tmp_path):
    # Tests, code, repair and the argument are four: the approach after it would be a fifth.
    limits = TaskLimits(max_iterations=4, warn_iterations=4)
    bench = Bench(tmp_path, REPLIES | {"coder-repair": SAME, "tester-adjudicate": JUDGED}, task(), limits=limits)
    final = bench.run()
    assert steps(bench) == ["tests", "code", "repair", "adjudicate"]
    assert final["escalation"].startswith("The limit of 4 iterations is used up.")
    assert "The tester held the test to be right: 2 + 3 is 5, says FR-01" in final["escalation"]


def test_another_approach_is_told_why_the_test_is_right(tmp_path):
    replies = {
        "coder-repair": SAME,
        "tester-adjudicate": JUDGED,
        "coder-code-a2": code("calc.py", "def add(a: int, b: int) -> int:\n    return a + b"),
    }
    bench = Bench(tmp_path, REPLIES | replies, task())
    assert bench.run()["verdict"] == "merged"
    opening = bench.last_turns("code")
    assert "The tester holds the test to be right: 2 + 3 is 5, says FR-01" in opening[1]


def test_a_budget_that_ends_in_the_middle_shows_what_was_tried_and_the_best_attempt(tmp_path):
    bench = Bench(tmp_path, REPLIES, task(), limits=TaskLimits(task_tokens=1_000))
    bench.event_log.spent = lambda: Spent(task_tokens=1_000 if bench.event_log.of("test.result") else 0)
    text = bench.run()["escalation"]
    assert text.startswith("The limit of 1,000 tokens of this task is used up")
    assert "try 1 (first)" in text
    assert "**Best attempt**" in text
    assert "best:calc.py" in bench.event_log.of("error")[-1]["blobs"]


def test_a_budget_that_ends_before_the_argument_ends_the_task_the_same_way(tmp_path):
    bench = Bench(tmp_path, REPLIES | {"coder-repair": SAME}, task(), limits=TaskLimits(task_tokens=200_000))
    bench.event_log.spent = lambda: Spent(task_tokens=200_000 if len(bench.event_log.of("test.result")) > 1 else 0)
    text = bench.run()["escalation"]
    assert text.startswith("The limit of 200,000 tokens of this task is used up")
    assert "failed in the same way" in text
