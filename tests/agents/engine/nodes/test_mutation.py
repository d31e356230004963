"""A suite that notices no mistake is sent back to the tester, once."""

import pytest

from agents.engine.nodes.mutation import partly_noticed
from agents.mutation.check import Mutant, Result
from tests.agents.engine.nodes.support import APPROVED, BAD, DIAGNOSIS, GOOD, Bench, code, task

pytestmark = pytest.mark.bubblewrap

BLIND = code("tests/test_calc.py", "import calc\n\n\ndef test_add_is_there():\n    assert calc.add")
SHARP = code("tests/test_calc.py", "from calc import add\n\n\ndef test_sum():\n    assert add(2, 3) == 5")


def bench_of(tmp_path, **replies):
    replies = {name.replace("_", "-"): text for name, text in replies.items()}
    return Bench(tmp_path, {"coder-code": GOOD, "reviewer-review": APPROVED} | replies, task())


def outcomes(bench):
    return [(event["outcome"], event["payload"]["noticed"]) for event in bench.event_log.of("mutation.result")]


def test_tests_that_notice_go_straight_on_and_no_model_is_asked(tmp_path):
    bench = bench_of(tmp_path, tester_tests=SHARP)
    assert bench.run()["verdict"] == "merged"
    ((outcome, noticed),) = outcomes(bench)
    assert (outcome, noticed > 0) == ("ok", True)
    assert len(bench.event_log.of("thought")) == 3


def test_blind_tests_are_sent_back_with_what_they_let_through(tmp_path):
    bench = bench_of(tmp_path, tester_tests=BLIND, tester_strengthen=SHARP)
    assert bench.run()["verdict"] == "merged"
    assert [outcome for outcome, _ in outcomes(bench)] == ["fail", "ok"]
    (prompt,) = bench.prompts("strengthen")
    assert "-    return a + b" in prompt[-1]
    assert "from=model" in prompt[-1]
    assert "add(2, 3) == 5" in bench.merged("tests/test_calc.py")
    assert [attempt["outcome"] for attempt in bench.task_store.attempts.values()] == ["rejected", "passed"]


def test_a_mistake_that_blind_tests_let_through_is_then_repaired(tmp_path):
    repair = DIAGNOSIS.format(cause="minus for plus") + GOOD
    bench = bench_of(tmp_path, tester_tests=BLIND, coder_code=BAD, tester_strengthen=SHARP, coder_repair=repair)
    assert bench.run()["verdict"] == "merged"
    assert [attempt["strategy"] for attempt in bench.task_store.attempts.values()] == [
        "first",
        "strengthened",
        "repair",
    ]
    assert "return a + b" in bench.merged("calc.py")


def test_a_tester_who_insists_is_asked_only_once_and_the_weakness_is_on_record(tmp_path):
    bench = bench_of(tmp_path, tester_tests=BLIND, tester_strengthen="They are fine as they are.")
    assert bench.run()["verdict"] == "merged"
    assert [outcome for outcome, _ in outcomes(bench)] == ["fail", "fail"]


def test_tests_that_came_with_the_task_are_nobodys_to_change(tmp_path):
    bench = bench_of(tmp_path)
    bench.task["tests_given"] = {"tests/test_calc.py": "import calc\n\n\ndef test_it():\n    assert calc.add\n"}
    assert bench.run()["verdict"] == "merged"
    assert outcomes(bench) == []


def test_code_without_anything_to_get_wrong_in_small_is_not_tried(tmp_path):
    bench = bench_of(
        tmp_path, tester_tests=code("tests/test_p.py", "def test_p():\n    assert 'x' in open('p.txt').read()")
    )
    bench.replies["coder-code"] = code("p.txt", "x")
    assert bench.run()["verdict"] == "merged"
    assert outcomes(bench) == []


@pytest.mark.parametrize(("noticed", "left"), [(2, 1), (3, 0)])
def test_the_reviewer_is_told_where_tests_let_a_mistake_through(noticed, left):
    said = partly_noticed(Result(3, noticed, (Mutant("calc.py", "", "", 7),) * left, 1.0, True))
    wanted = "Of 3 small mistakes put into the change, 2 were noticed; not those near calc.py:7."
    assert said == (wanted if left else "")
