"""The tester judges whether a test is wrong: record, coder and reviewer are told what it decided."""

import pytest

from agents.engine.nodes import reviewer
from agents.replies.jsonish import parse_json
from tests.agents.engine.nodes.support import APPROVED, DIAGNOSIS, TESTS, Bench, code, task

pytestmark = pytest.mark.bubblewrap
BAD = code("calc.py", "def add(a, b):\n    return a - b")
STILL_BAD = code("calc.py", "def add(a, b):\n    return -b + a")
GOOD = code("calc.py", "def add(a, b):\n    return a + b")
BLAMES = DIAGNOSIS.format(cause="test_sum is wrong: FR-01 wants a difference")


@pytest.fixture
def bench(tmp_path):
    replies = {"tester-tests": TESTS, "coder-code": BAD, "coder-repair": BLAMES, "reviewer-review": APPROVED}
    return Bench(tmp_path, replies, task(), switched_off=frozenset({"mutation"}))


def refusals(bench):
    return [event["payload"]["message"] for event in bench.event_log.of("error")]


@pytest.mark.parametrize("verdict", ["neither", "code", "the tests stand"])
def test_tests_that_stand_under_code_that_passes_do_not_make_the_code_wrong(bench, monkeypatch, verdict):
    doubt = '{"wrong_tests": ["test_sum: it expects 5"], "approved": false, "reasons": []}'
    given = iter([doubt, APPROVED])
    monkeypatch.setattr(reviewer, "parse_json", lambda text, schema: parse_json(next(given), schema))
    bench.replies |= {"coder-code": GOOD, "tester-adjudicate": f"Verdict: {verdict}\nReason: so says FR-01"}
    assert bench.run()["verdict"] == "merged"
    (judged,) = bench.event_log.of("adjudication")
    assert judged["summary"] == "The tests stand: so says FR-01"
    assert judged["payload"]["verdict"] == "neither"
    assert "Verdict: neither - the tests stand" in bench.prompts("adjudicate")[0][-1]


def test_a_test_called_wrong_without_a_correction_is_asked_for_and_else_stands(bench):
    said = "Verdict: test\nReason: FR-01 wants a difference"
    bench.replies |= {"tester-adjudicate": said, "tester-again": said, "tester-again-2": said, "coder-code-a2": GOOD}
    assert bench.run()["verdict"] == "merged"
    assert "a wrong test needs its correction, in a fence with the path" in refusals(bench)
    (judged,) = bench.event_log.of("adjudication")
    assert judged["summary"].startswith("The tests stand: it brought no usable correction")
    assert judged["payload"]["verdict"] == "neither"
    assert "The tester holds the test to be right" not in bench.prompts("code")[-1][-1]


def test_an_adjudication_without_a_verdict_is_asked_for_again(bench):
    judged = "Verdict: code\nReason: 2 + 3 is 5"
    bench.replies |= {"tester-adjudicate": "It is hard to say.", "tester-again": judged, "coder-code-a2": GOOD}
    assert bench.run()["verdict"] == "merged"
    assert any('no line "Verdict:"' in said for said in refusals(bench))
    assert bench.event_log.of("adjudication")[0]["summary"] == "The code is wrong: 2 + 3 is 5"


def test_a_correction_without_a_verdict_says_that_the_test_is_wrong(bench):
    wrong = TESTS.replace("== 5", "== -1")
    bench.replies |= {"tester-tests": wrong, "coder-code": GOOD, "coder-repair": BLAMES}
    bench.replies["tester-adjudicate"] = f"The engineer is right. Here is the corrected test:\n\n{TESTS}"
    assert bench.run()["verdict"] == "merged"
    (judged,) = bench.event_log.of("adjudication")
    assert judged["payload"]["verdict"] == "test"
    assert judged["summary"].startswith("The test is wrong: The engineer is right.")


def test_a_failure_that_was_judged_is_not_disputed_again_and_the_refusal_says_so(bench):
    bench.replies |= {
        "tester-adjudicate": "Verdict: code\nReason: 2 + 3 is 5, says FR-01",
        "coder-code-a2": STILL_BAD,
        "coder-repair-a2": BLAMES,
        "coder-again-a2": GOOD,
    }
    assert bench.run()["verdict"] == "merged"
    (said,) = refusals(bench)
    assert "judged this failure already: the tests stand (2 + 3 is 5, says FR-01)" in said
    assert len(bench.event_log.of("adjudication")) == 1


def test_tests_that_came_with_the_task_are_not_disputed(bench):
    bench.task |= {
        "tests_given": {"tests/test_calc.py": "from calc import add\n\ndef test_a():\n    assert add(2, 3) == 5"}
    }
    bench.replies |= {"coder-again": DIAGNOSIS.format(cause="minus for plus") + GOOD}
    assert bench.run()["verdict"] == "merged"
    assert "The tests came with the task and stand: change the code." in refusals(bench)[0]


def test_tester_and_coder_are_told_alike_who_writes_tests_and_that_a_test_may_be_disputed(bench):
    bench.replies |= {"tester-adjudicate": "Verdict: code\nReason: 2 + 3 is 5", "coder-code-a2": GOOD}
    bench.run()
    tester, coder = bench.prompts("tests")[0][0], bench.prompts("code")[0][0]
    assert "its docstring begins with the key of the requirement that states the rule" in tester
    assert "You alone write tests, also those that the task asks for: " in tester
    assert "Write no tests: those that the task asks for are written." in coder
    assert (
        "A test that contradicts the requirement, asks for more or fails in its own set-up: name it"
        in bench.prompts("repair")[0][-1]
    )


@pytest.mark.parametrize("words", ["test_sum asks for what FR-01 does not say", "the test is invalid"])
def test_a_coder_may_say_in_words_of_its_own_that_a_test_is_wrong(bench, words):
    bench.replies |= {
        "coder-repair": DIAGNOSIS.format(cause=words),
        "tester-adjudicate": "Verdict: code\nReason: 2 + 3 is 5",
        "coder-code-a2": GOOD,
    }
    assert bench.run()["verdict"] == "merged"
    assert len(bench.event_log.of("adjudication")) == 1
    assert refusals(bench) == []


def test_the_tester_is_asked_below_the_material_and_sees_of_the_code_what_one_can_call(bench):
    there = "from calc import add\n\n\ndef test_zero():\n    assert add(0, 0) == 0\n"
    bench.start_with({"tests/test_calc.py": there, "calc.py": "ZERO = 0\n"})
    bench.replies |= {"tester-adjudicate": "Verdict: code\nReason: 2 + 3 is 5", "coder-code-a2": GOOD}
    bench.run()
    asked = bench.prompts("adjudicate")[0][-1]
    assert "return a - b" not in asked
    places = [asked.index(part) for part in ("-1 == 5", "def add(a, b)", "The test files as they are now:", "Verdict:")]
    assert places == sorted(places)
    assert "path=" not in asked[places[-1] :]


def test_the_coder_is_shown_the_corrected_test_alone_and_why_it_changed(bench):
    more = "\n\n\ndef test_none():\n    # " + "nothing and nothing " * 10 + "\n    assert add(0, 0) == 0\n"
    wrong = TESTS.replace("== 5", "== -1").replace("\n```\n", f"{more}```\n")
    right = code("tests/test_calc.py", f"from calc import add\n\n\ndef test_sum():\n    assert add(2, 3) == 5{more}")
    bench.replies |= {"tester-tests": wrong, "coder-repair": BLAMES, "coder-code": STILL_BAD.replace("-b", "-b + 1")}
    bench.replies["tester-adjudicate"] = f"Verdict: test\nReason: test_sum: 2 + 3 is 5, says FR-01\n\n{right}"
    bench.replies["coder-repair-2"] = DIAGNOSIS.format(cause="minus for plus") + GOOD
    assert bench.run()["verdict"] == "merged"
    first, last = bench.prompts("repair")
    assert "add(2, 3) == -1" in last[1], "the conversation begins with the test as it was"
    assert "As they are now" not in first[-1]
    told = last[-1].partition("The tests that your code must pass changed.")[2]
    assert "Why: test_sum: 2 + 3 is 5, says FR-01\n" in told
    assert "assert add(2, 3) == 5" in told.partition("As they are now")[2]
    assert "nothing and nothing" not in told
    assert "not shown: test_none" in told
