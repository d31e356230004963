"""What a task found missing: asked for once, waited for, and then there; never for what exists or is its own."""

import pytest

from agents.engine.waiting import Waiting, WaitReason
from tests.agents.engine.nodes.support import APPROVED, DIAGNOSIS, TESTS, Bench, Crash, MemoryEventLog, code, task

GOOD = code("calc.py", "from numbers_in import plus\n\n\ndef add(a: int, b: int) -> int:\n    return plus(a, b)")
WISH = "Sums are shared.\n\nMISSING: function plus(a, b), in numbers_in.py\n"
PLUS = "def plus(a: int, b: int) -> int:\n    return a + b\n"
OWN = code("calc.py", "def add(a: int, b: int) -> int:\n    return a + b")

pytestmark = pytest.mark.bubblewrap


class SubTask:
    """The rows of a plan: the sub-task is merged by `merge`, or people said no."""

    def __init__(self, bench):
        self.bench, self.asked, self.answer = bench, [], ""

    def __call__(self, what, path, why):
        self.asked.append((what, path, why))
        if not self.answer:
            raise Waiting(WaitReason.DEPENDENCY, "its sub-task T-01.1")
        return self.answer

    def merge(self, files=None):
        repository = self.bench.repository
        head = repository.head()
        tree = repository.worktree("other", head)
        tree.write(files or {"numbers_in.py": PLUS})
        repository.fast_forward(tree.commit(head, "Plus", "", {}))
        self.answer = "It is there: T-01.1 has made it."


def bench_of(folder, replies=None, **more):
    said = {"tester-tests": TESTS, "coder-code": WISH, "coder-code-resumed": GOOD, "reviewer-review": APPROVED}
    bench = Bench(folder, said | (replies or {}), task(may_ask=True), **more)
    bench.sub_task = SubTask(bench)
    return bench


def test_a_task_rests_until_what_it_lacks_is_merged_and_keeps_its_tests(tmp_path):
    bench = bench_of(tmp_path)
    bench.waits(r"T-01\.1")
    bench.waits()
    assert set(bench.sub_task.asked) == {("function plus(a, b)", "numbers_in.py", "Sums are shared.")}
    bench.sub_task.merge()
    assert bench.run()["verdict"] == "merged"
    assert [event["payload"]["step"] for event in bench.event_log.of("thought")] == ["tests", "code", "code", "review"]
    asked, told = bench.last_turns("code")
    assert "MISSING: <what>, in <path>" in asked
    assert "MISSING: <what>, in <path>" not in told
    assert "function plus(a, b), in numbers_in.py: It is there: numbers_in.py has plus." in told
    assert "def plus" in told
    assert bench.merged("calc.py")
    assert bench.merged("numbers_in.py") == PLUS


@pytest.mark.parametrize("who", ["tester", "repair", "fresh"])
def test_tester_and_repairs_may_ask_too(tmp_path, who):
    wrong = {"coder-code": code("calc.py", "def add(a, b):\n    return a - b"), "coder-code-resumed": None}
    replies = {
        "tester": {"tester-tests": WISH, "tester-tests-resumed": TESTS, "coder-code": GOOD},
        "repair": wrong | {"coder-repair": WISH, "coder-repair-resumed": DIAGNOSIS.format(cause="minus") + GOOD},
        "fresh": wrong
        | {"coder-repair": DIAGNOSIS.format(cause="?") + wrong["coder-code"]}
        | {
            "tester-adjudicate": "Verdict: code\nReason: so it is",
            "coder-code-a2": WISH,
            "coder-code-resumed-a2": GOOD,
        },
    }[who]
    bench = bench_of(tmp_path, replies)
    bench.replies = {name: text for name, text in bench.replies.items() if text is not None}
    bench.waits()
    bench.sub_task.merge()
    assert bench.run()["verdict"] == "merged", bench.event_log.of("error")
    assert "plus" in bench.merged("calc.py")


def test_what_people_refuse_is_told_and_the_task_goes_on_without(tmp_path):
    bench = bench_of(tmp_path, {"coder-code-resumed": OWN})
    bench.sub_task.answer = "A person said no (add them here). Do without it, in files of this task."
    assert bench.run()["verdict"] == "merged"
    assert "A person said no (add them here)" in bench.last_turns("code")[-1]


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        ("function plus, in numbers_in.py", "numbers_in.py has plus"),
        ("the numbers, in numbers_in.py", "numbers_in.py is there and has plus"),
        ("a function plus(a, b), in helpers.py", "numbers_in.py has plus"),
        ("the table of sums, in data/sums.csv", "data/sums.csv is there"),
        ("add, in calc.py", "calc.py is yours to write"),
        ("a fixture, in tests/conftest.py", "tests/conftest.py is yours to write"),
        ("a helper, in ../outside.py", "leaves the project's folder"),
        ("a helper, in /etc/outside.py", "is absolute"),
        ("a helper, in data", "there is a folder of this name"),
    ],
)
def test_nothing_is_added_for_what_exists_is_its_own_or_is_outside(tmp_path, wish, told):
    bench = bench_of(tmp_path, {"coder-code": f"MISSING: {wish}", "coder-again": GOOD})
    bench.start_with({"numbers_in.py": PLUS, "data/sums.csv": "1,2\n"})
    assert bench.run()["verdict"] == "merged"
    assert bench.sub_task.asked == []
    assert told in bench.event_log.of("error")[0]["summary"]


@pytest.mark.parametrize("asks", [True, False])
def test_a_second_request_and_one_of_a_sub_task_is_an_answer_that_cannot_be_used(tmp_path, asks):
    bench = bench_of(tmp_path, dict.fromkeys(("coder-code-resumed", "coder-again", "coder-again-2"), WISH))
    bench.task["may_ask"] = asks
    bench.sub_task.answer = "A person said no (never)."
    final = bench.run()
    assert final["verdict"] == "escalated"
    assert "added for what is MISSING" in final["escalation"].splitlines()[0]
    assert len(bench.sub_task.asked) == asks


@pytest.mark.parametrize(("old", "verdict"), [("# first", "merged"), ("assert add(0, 0) == 0", "escalated")])
def test_tests_that_others_changed_meanwhile_are_put_onto_their_version(tmp_path, old, verdict):
    there = "# first\n# of\n# all\n\nfrom calc import add\n\n\ndef test_zero():\n    assert add(0, 0) == 0\n"
    bench = bench_of(tmp_path)
    bench.start_with({"tests/test_calc.py": there, "calc.py": "def add(a, b):\n    return 0\n"})
    bench.waits()
    bench.sub_task.merge({"numbers_in.py": PLUS, "tests/test_calc.py": there.replace(old, f"{old}  # others")})
    final = bench.run()
    assert final["verdict"] == verdict, final["escalation"]
    assert "# others" in bench.merged("tests/test_calc.py")
    assert ("add(2, 3) == 5" in bench.merged("tests/test_calc.py")) is (verdict == "merged")
    assert verdict == "merged" or "others changed the same lines of tests/test_calc.py" in final["escalation"]


def test_what_another_task_merged_meanwhile_needs_no_sub_task(tmp_path):
    bench = bench_of(tmp_path)
    asked = bench.sub_task
    bench.sub_task = None
    first, write = bench.event_log.emit, []

    def emit(event, **more):
        if event.type == "thought" and getattr(event, "step", "") == "tests" and not write:
            write.append(asked.merge())
        return first(event, **more)

    bench.event_log.emit = emit
    assert bench.run()["verdict"] == "merged"
    assert asked.asked == []
    assert "It is there: numbers_in.py has plus." in bench.last_turns("code")[-1]


def test_a_worker_killed_before_any_write_asks_once_and_goes_on_to_the_same_end(tmp_path):
    def worked(bench):
        try:
            return bench.run()
        except Waiting:
            if not bench.sub_task.answer:
                bench.sub_task.merge()
            return worked(bench)

    whole = bench_of(tmp_path / "whole")
    worked(whole)
    kinds = [event["type"] for event in whole.event_log.events]
    last = kinds.index("test.result") + 1
    for point in range(1, last + 1, 3):
        bench = bench_of(tmp_path / f"cut{point}", event_log=MemoryEventLog(crash_at=point))
        with pytest.raises(Crash):
            worked(bench)
        bench.event_log.crash_at = 0
        assert worked(bench)["verdict"] == "merged"
        assert bench.git("rev-parse", "main^{tree}") == whole.git("rev-parse", "main^{tree}")
        assert [event["type"] for event in bench.event_log.events] == kinds, f"killed before write {point}"
