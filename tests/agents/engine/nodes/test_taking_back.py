"""A repair that makes it worse is taken back before the next one is asked for."""

import pytest

from agents.engine.contracts import TaskLimits
from agents.engine.nodes import coder, reviewer
from tests.agents.engine.nodes.support import APPROVED, DIAGNOSIS, Bench, code, task

pytestmark = pytest.mark.bubblewrap

TESTS = code(
    "tests/test_calc.py",
    "from calc import add, double\n\n\ndef test_sum():\n    assert add(2, 3) == 5\n\n\ndef test_zero():\n  "
    "  assert add(0, 0) == 0\n\n\n"
    "def test_double():\n    assert double(4) == 8",
)
HALF = code("calc.py", "def add(a, b):\n    return a - b\n\n\ndef double(a):\n    return 2 * a")  # fails one test
WORSE = code("calc.py", "def add(a, b):\n    return a * b + 1\n\n\ndef double(a):\n    return a\n\n\nSEEN = 'worse'")
EXTRA = code("helper.py", "X = 1")
GOOD = code("calc.py", "def add(a, b):\n    return a + b\n\n\ndef double(a):\n    return 2 * a")


@pytest.fixture
def bench(tmp_path):
    replies = {
        "tester-tests": TESTS,
        "coder-code": HALF,
        "coder-repair": DIAGNOSIS.format(cause="guess") + WORSE + EXTRA,
        "coder-repair-back": DIAGNOSIS.format(cause="minus for plus") + GOOD,
        "reviewer-review": APPROVED,
    }
    return Bench(tmp_path, replies, task())


def test_the_next_repair_starts_from_the_better_try_and_is_told_what_was_undone(bench):
    assert bench.run()["verdict"] == "merged"
    (event,) = bench.event_log.of("attempt.taken_back")
    assert event["payload"] == {"to": 1, "worse": {"passed": 0, "failed": 3, "errors": 0}}
    (first,), (prompt,) = bench.prompts("repair"), bench.prompts("repair-back")
    assert first[:3] == prompt[:3], "the same byte by byte up to the better try"
    assert "SEEN = 'worse'" not in "".join(prompt)  # its conversation is the better try's
    assert "return a - b" in prompt[-2]
    assert "taken back" in prompt[-1]
    assert "try 2 (repair): AssertionError" in prompt[-1]
    assert "2 passed, 1 failed" in prompt[-1]
    assert not bench.merged("helper.py"), "what the worse try wrote beside is gone too"
    assert [lesson.signature for lesson in bench.lessons.kept] == [event["error_signature"]]


def test_without_this_part_the_worse_try_is_built_on(bench, monkeypatch):
    bench.replies["coder-repair-2"] = bench.replies["coder-repair-back"]
    monkeypatch.setattr(coder, "better_before", lambda state: None)
    bench.run()
    assert not bench.event_log.of("attempt.taken_back")
    assert bench.merged("helper.py")


def test_when_tokens_run_short_a_new_sample_comes_before_a_repair(bench):
    bench.limits = TaskLimits(task_tokens=1_500)
    bench.replies["coder-code-a2"] = GOOD
    assert bench.run()["counters"]["approach"] == 2
    assert [attempt["strategy"] for attempt in bench.task_store.attempts.values()] == ["first", "fresh"]


NAMED = GOOD.replace("return a + b", "total = a + b\n    return total")
YES = {"approved": True, "reasons": []}
NO = '{"approved": false, "reasons": ["name the result"]}'


@pytest.fixture
def rejected(bench):
    """The first version passes, the reviewer wants a change, and the first answer to that breaks a test."""
    bench.replies = {
        **bench.replies,
        **{"coder-code": GOOD, "reviewer-review": NO, "coder-rejected": WORSE + EXTRA, "coder-repair-back": HALF},
    }
    return bench


def test_an_answer_to_a_reviewer_that_breaks_the_tests_starts_again_from_what_passed(rejected, monkeypatch):
    rejected.replies["coder-repair-back"] = NAMED
    judge = reviewer._verdict
    monkeypatch.setattr(
        reviewer,
        "_verdict",
        lambda state, *more: judge(state, *more) if state["counters"]["attempt"] == 1 else (YES, []),
    )
    assert rejected.run()["verdict"] == "merged"
    (prompt,) = rejected.prompts("repair-back")
    assert "SEEN = 'worse'" not in "".join(prompt)
    assert "- name the result" in prompt[-1]
    assert "+    return a + b" in prompt[-1]  # its change as it was when it passed
    assert "was taken back:\n3 failed." in prompt[-1]
    assert "total = a + b" in rejected.merged("calc.py")
    assert not rejected.merged("helper.py")


def test_when_no_change_passes_a_person_gets_the_version_that_did_and_what_was_asked_of_it(rejected):
    rejected.limits = TaskLimits(max_retries=1)
    final = rejected.run()
    assert final["verdict"] == "escalated"
    assert "Try 1: 3 of 3 tests passed" in final["escalation"]
    assert "It was to be changed, and no change passed: name the result" in final["escalation"]
    assert rejected.event_log.of("error")[-1]["blobs"]["best:calc.py"].rstrip() in GOOD


def test_a_new_approach_to_an_objection_starts_from_what_passed_too(rejected):
    rejected.limits = TaskLimits(max_retries=2)
    rejected.replies |= {"tester-adjudicate": "Verdict: code\nReason: FR-01 is clear\n", "coder-repair-back": WORSE}
    assert rejected.run()["counters"]["approach"] == 2
    first, second = rejected.prompts("repair-back")
    assert first[:3] == second[:3]
