"""One task from tests to merge: what passes is merged, what fails is repaired, what cannot be solved is escalated."""

import pytest

from agents.engine.contracts import OverBudget, TaskLimits
from agents.engine.nodes.coder import _around_conflicts
from agents.events.log import Spent
from agents.gates.base import GateReport
from sandbox.packages import PackageSupply
from tests.sandbox.local_index import LocalIndex

from .nodes.support import APPROVED, BAD, DIAGNOSIS, GOOD, TESTS, Bench, Crash, MemoryEventLog, clean_gates, code, task

WORSE = code("calc.py", "def add(a: int, b: int) -> int:\n    return a * b")
BROKEN = code("calc.py", "def add(a: int, b: int) -> int\n    return a + b")

pytestmark = pytest.mark.bubblewrap


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path, {"tester-tests": TESTS, "coder-code": GOOD, "reviewer-review": APPROVED}, task())


@pytest.fixture
def index():
    with LocalIndex() as opened:
        yield opened


def test_code_that_passes_is_merged_with_its_trailers(bench):
    final = bench.run()
    assert final["verdict"] == "merged"
    assert bench.merged("calc.py")
    assert bench.merged("tests/test_calc.py")
    for trailer in ("Task: T-01", "Requirement: FR-01", "Run: 1", "Event: ", "Audit-Head: "):
        assert trailer in bench.git("log", "--format=%B")
    assert bench.task_store.attempts[1]["outcome"] == "passed"
    assert bench.task_store.attempts[1]["reward"] == 1.0


def test_a_failure_is_diagnosed_repaired_and_remembered(bench):
    bench.replies |= {"coder-code": BAD, "coder-repair": DIAGNOSIS.format(cause="minus for plus") + GOOD}
    assert bench.run()["verdict"] == "merged"
    assert [attempt["outcome"] for attempt in bench.task_store.attempts.values()] == ["failed", "passed"]
    assert bench.task_store.attempts[2]["diagnosis"] == "confirmed"
    assert bench.event_log.of("diagnosis")[0]["payload"]["cause"] == "minus for plus"
    assert [lesson.cause for lesson in bench.lessons.kept] == ["minus for plus"]
    assert bench.task_store.attempts[1]["reward"] == -0.5
    assert "assert add(2, 3) == 5" in bench.last_turns("repair")[0], "the whole trace reaches the model"


def test_code_that_does_not_compile_is_worth_less_than_code_that_fails(bench):
    bench.replies |= {"coder-code": BROKEN, "coder-repair": DIAGNOSIS.format(cause="colon") + GOOD}
    assert bench.run()["verdict"] == "merged"
    assert bench.task_store.attempts[1]["reward"] == -1.0
    assert "calc.py:1" in bench.task_store.attempts[1]["tests"]["failures"][0]["message"]


def test_a_wrong_test_is_found_by_arguing_from_the_requirement(bench):
    wrong = TESTS.replace("== 5", "== 6")
    bench.replies |= {
        "tester-tests": wrong,
        "coder-repair": DIAGNOSIS.format(cause="the test contradicts FR-01") + GOOD,
        "tester-adjudicate": "Verdict: test\nReason: FR-01 says 2 + 3 is 5\n\n" + TESTS,
    }
    assert bench.run()["verdict"] == "merged"
    (judged,) = bench.event_log.of("adjudication")
    assert judged["payload"]["verdict"] == "test"
    assert "FR-01" in judged["payload"]["reason"]
    assert "== 5" in bench.merged("tests/test_calc.py")


def test_one_corrected_test_instead_of_the_file_leaves_the_others(bench):
    wrong = "from calc import add\n\n\ndef test_sum():\n    assert add(2, 3) == 6\n"
    both = f"{wrong}\n\ndef test_zero():\n    assert add(0, 0) == 0\n"
    bench.replies |= {
        "tester-tests": code("tests/test_calc.py", both),
        "coder-repair": DIAGNOSIS.format(cause="?").replace("it will pass", "the test is wrong"),
        "tester-adjudicate": "Verdict: test\nReason: 2 + 3 is 5\n\n"
        + code("tests/test_calc.py", "def test_sum():\n    assert add(2, 3) == 5"),
    }
    assert bench.run()["verdict"] == "merged"
    assert bench.merged("tests/test_calc.py") == both.replace("== 6", "== 5")


@pytest.mark.parametrize("sent", ["", TESTS])
@pytest.mark.parametrize("verdict", ["test", "code"])
def test_a_coder_who_blames_the_test_is_heard_by_the_tester_once(bench, sent, verdict):
    wrong, cause = TESTS.replace("== 5", "== 6"), "The assertion in test_sum is wrong: 2 + 3 is 5"
    bench.replies |= {
        "tester-tests": wrong,
        "coder-repair": DIAGNOSIS.format(cause=cause) + sent,
        "tester-adjudicate": f"Verdict: {verdict}\nReason: so says FR-01\n\n{TESTS}",
        "coder-code-a2": code("calc.py", "def add(a, b):\n    return a + b + (a == 2)"),
    }
    assert bench.run()["verdict"] == "merged"
    assert cause in bench.last_turns("adjudicate")[0]
    assert len(bench.task_store.attempts) == 2
    assert ("== 5" in bench.merged("tests/test_calc.py")) is (verdict == "test")
    assert not bench.event_log.of("error")


def test_what_a_person_says_reaches_the_coder_once(bench):
    bench.task_store.said.append("Please use plain addition.")
    bench.replies |= {"coder-code": BAD, "coder-repair": DIAGNOSIS.format(cause="c") + GOOD}
    assert bench.run()["verdict"] == "merged"
    assert "A person of the team says:\n- Please use plain addition." in bench.last_turns("code")[-1]
    assert "plain addition" not in bench.last_turns("repair")[-1]


def test_the_coder_may_not_change_a_test(bench):
    cheat = GOOD + code("tests/test_calc.py", "def test_sum():\n    assert True")
    bench.replies |= {"coder-code": cheat, "coder-again": GOOD}
    assert bench.run()["verdict"] == "merged"
    assert "add(2, 3) == 5" in bench.merged("tests/test_calc.py")


def test_what_never_passes_is_escalated_after_exactly_the_allowed_repairs(bench):
    names = ("code", "repair", "repair-2", "code-a2", "repair-a2", "repair-a2-2")
    for number, name in enumerate(names, 1):  # each a wrong sum of its own: the same words again would be no new try
        wrong = code("calc.py", f"def add(a: int, b: int) -> int:\n    return a + b + {number}")
        bench.replies[f"coder-{name}"] = wrong if "code" in name else DIAGNOSIS.format(cause="?") + wrong
    final = bench.run()
    assert final["verdict"] == "escalated"
    assert "5 of 5 repairs" in final["escalation"]
    assert len(bench.task_store.attempts) == 6  # the first try and five repairs
    assert bench.repository.files(bench.repository.head()) == [".gitignore", "README.md"]
    assert any(name.startswith("best:") for name in bench.event_log.of("error")[-1]["blobs"])


def test_the_same_failure_twice_forces_another_approach(bench):
    bench.replies |= {
        "coder-code": BAD,
        "coder-repair": DIAGNOSIS.format(cause="c") + BAD,
        "tester-adjudicate": "Verdict: code\nReason: FR-01 is clear\n",
        "coder-code-a2": GOOD,
    }
    final = bench.run()
    assert final["verdict"] == "merged"
    assert final["counters"]["approach"] == 2
    assert len(bench.event_log.of("test.result")) == 2  # the same code was not run a second time
    (repeat,) = bench.event_log.of("repeat")
    assert repeat["payload"]["of"] == 1
    assert "assert -1 == 5" in repeat["payload"]["failure"]
    assert [attempt["strategy"] for attempt in bench.task_store.attempts.values()] == ["first", "repair", "fresh"]


def test_the_coder_is_told_where_it_failed_and_that_its_evidence_is_invented(bench):
    made_up = DIAGNOSIS.format(cause="c").replace("Evidence: assert", "Evidence: TypeError: add() takes 3 arguments")
    bench.replies |= {
        "coder-code": BAD,
        "coder-repair": made_up + WORSE,
        "coder-repair-2": DIAGNOSIS.format(cause="c") + GOOD,
    }
    assert bench.run()["verdict"] == "merged"
    assert [event["payload"]["evidence_found"] for event in bench.event_log.of("diagnosis")] == [False, True]
    first, second = bench.last_turns("repair")
    assert "tests/test_calc.py:5: AssertionError" in first
    assert "evidence you named" not in first
    assert "The evidence you named last time is not in the trace" in second
    (failure,) = bench.event_log.of("test.result")[0]["payload"]["failures"]
    assert (failure["place"], failure["kind"]) == ("tests/test_calc.py:5", "AssertionError")


def test_an_answer_without_files_is_asked_again_then_escalated(bench):
    bench.replies |= {"coder-code": "I would rather not.", "coder-again": "No.", "coder-again-2": "Still no."}
    final = bench.run()
    assert final["verdict"] == "escalated"
    assert "could not be used" in final["escalation"]


def test_a_path_that_escapes_is_refused_and_told_to_the_coder(bench, tmp_path):
    bench.replies |= {"coder-code": code("../../evil.py", "x = 1"), "coder-again": GOOD}
    assert bench.run()["verdict"] == "merged"
    assert not list(tmp_path.rglob("evil.py"))
    assert "evil.py" in bench.event_log.of("error")[0]["summary"]


def test_a_reviewer_without_a_readable_verdict_does_not_approve(bench):
    bench.replies |= dict.fromkeys(("reviewer-review", "reviewer-again", "reviewer-again-2"), "Looks fine to me!")
    final = bench.run()
    assert final["verdict"] == "escalated"
    assert "reviewer's verdict could not be read" in final["escalation"]


def test_a_reviewer_who_answers_unreadably_once_is_asked_again(bench):
    bench.replies |= {"reviewer-review": '{"approved": true, "reasons": null}', "reviewer-again": APPROVED}
    final = bench.run()
    assert final["verdict"] == "merged"
    assert "reasons" in bench.event_log.of("error")[0]["payload"]["message"]


def test_a_scanner_that_stumbles_once_is_run_again_and_one_that_stays_down_blocks(bench, tmp_path):
    blocked = GateReport("blocked", ("semgrep did not run",), {}, ())
    answers = [blocked]
    bench.gates = lambda *_: answers.pop() if answers else GateReport("pass", (), {}, ())
    assert bench.run()["verdict"] == "merged"
    down = Bench(tmp_path / "down", bench.replies, task(), gates=lambda *_: blocked)
    down.waits("security_gate")
    assert down.repository.files(down.repository.head()) == [".gitignore", "README.md"]


def test_a_reviewer_is_told_what_it_said_of_the_same_change_before(bench):
    bench.replies |= {
        "reviewer-review": '{"approved": false, "reasons": ["use a - b"]}',
        "coder-rejected": GOOD,
        "coder-rejected-2": GOOD,
    }
    assert bench.run()["verdict"] == "escalated"
    first, second, *_ = bench.last_turns("review")
    again = bench.last_turns("rejected")[0]
    assert "Your change so far:\n```diff from=model\ndiff --git a/calc.py" in again
    assert "test_calc.py" not in again
    assert "You did not accept" not in first
    assert "You did not accept this very change:\n```from=model\nuse a - b\n```" in second


def test_lines_that_two_tasks_changed_go_back_to_the_coder(bench, tmp_path):
    bench.replies |= {
        "coder-code": GOOD + "\n" + code("app.py", "PARTS = ['calc']"),
        "coder-conflict": code("app.py", "PARTS = ['calc', 'other']"),
    }
    repository = bench.repository
    repository.ensure("Test")
    start = repository.head()
    moved = False

    def gates(root, paths, dispositions):
        nonlocal moved
        if not moved:  # while this task was worked on, another one merged the same file
            moved = True
            tree = repository.worktree("other", start)
            tree.write({"app.py": "PARTS = ['other']\n", "extra.py": "Y = 1\n"})
            repository.fast_forward(tree.commit(start, "Other", "", {"Task": "T-02", "Run": "1"}))
        return clean_gates(root, paths, dispositions)

    bench.gates = gates
    assert bench.run()["verdict"] == "merged"
    assert repository.read(repository.head(), "app.py") == "PARTS = ['calc', 'other']\n"
    assert repository.read(repository.head(), "extra.py")
    assert bench.event_log.of("git.merge")[0]["outcome"] == "conflict"


def test_of_a_long_file_only_the_conflicts_are_shown():
    rest = "".join(f"NAME_{number} = {number}\n" for number in range(400))
    text = _around_conflicts(f"{rest}<<<<<<< a\nX = 1\n=======\nX = 2\n>>>>>>> b\n{rest}")
    assert "NAME_390 = 390\n" in text
    assert text.endswith("NAME_9 = 9")
    assert len(text.splitlines()) == 25


def test_an_unknown_package_waits_for_a_person_and_goes_on_after_the_answer(bench, index, tmp_path):
    index.add_wheel("obscure-adder".replace("-", "_"), {"obscure_adder.py": ""})
    bench.supply = PackageSupply(tmp_path / "packages", index=index.python)
    bench.task = task(packages=["obscure-adder"])
    bench.replies["coder-code"] = code("calc.py", "import obscure_adder\n\n\ndef add(a, b):\n    return a + b")
    bench.waits("obscure-adder")
    bench.task_store.answers["obscure-adder"] = "rejected"
    bench.replies["coder-repair"] = DIAGNOSIS.format(cause="the package was refused") + GOOD
    final = bench.run()
    assert "refused" in bench.task_store.attempts[1]["tests"]["failures"][0]["message"]
    assert final["verdict"] in ("merged", "escalated")


def test_a_used_up_budget_stops_before_the_call(bench):
    bench.limits = TaskLimits(task_tokens=10)
    bench.event_log.used = Spent(task_tokens=10)
    with pytest.raises(OverBudget, match="10 tokens of this task"):
        bench.run()
    assert bench.event_log.of("thought") == []


def test_a_worker_killed_before_any_write_goes_on_to_the_same_end(tmp_path):
    replies = {
        "tester-tests": TESTS,
        "coder-code": BAD,
        "coder-repair": DIAGNOSIS.format(cause="c") + GOOD,
        "reviewer-review": APPROVED,
    }
    whole = Bench(tmp_path / "whole", replies, task())
    whole.run()
    kinds = [event["type"] for event in whole.event_log.events]
    # Every third write: each kill costs a whole task, and neighbours fall into the same node.
    for point in range(1, whole.event_log.writes + 1, 3):
        bench = Bench(tmp_path / f"cut{point}", replies, task(), event_log=MemoryEventLog(crash_at=point))
        with pytest.raises(Crash):
            bench.run()
        bench.event_log.crash_at = 0
        assert bench.run()["verdict"] == "merged"
        assert bench.git("rev-parse", "main^{tree}") == whole.git("rev-parse", "main^{tree}")
        assert [event["type"] for event in bench.event_log.events] == kinds, f"killed before write {point}"
