"""Best of several samples: each is run, and the one that the runs speak for goes on."""

import threading
from contextlib import suppress
from types import SimpleNamespace

import pytest

from agents.engine.contracts import OverBudget, Stopped, TaskLimits
from agents.engine.graph import after_adjudication
from agents.engine.nodes.search import _Drawing
from sandbox.pytest_run import run_pytest
from tests.agents.engine.nodes.support import APPROVED, DIAGNOSIS, Bench, Crash, code, task
from tests.agents.engine.states import state_with
from tests.waiting import eventually

pytestmark = pytest.mark.bubblewrap

TESTS = code("tests/test_calc.py", "from calc import add\n\n\ndef test_sum():\n    assert add(2, 2) == 4")
GOOD = code("calc.py", "def add(a, b):\n    return a + b")
ALSO = code("calc.py", "def add(a, b):\n    return sum((a, b))")
ODD = code("calc.py", "def add(a, b):\n    return a * b")  # passes, and is wrong
BAD = code("calc.py", "def add(a, b):\n    return a - b")


def bench_of(tmp_path, *samples, **limits):
    names = ["coder-code", *(f"coder-code-a{n}" for n in range(2, len(samples) + 1))]
    replies = dict(zip(names, samples, strict=True)) | {"tester-tests": TESTS, "reviewer-review": APPROVED}
    return Bench(tmp_path, replies, task(), limits=TaskLimits(samples=len(samples), **limits))


def chosen(bench):
    (event,) = bench.event_log.of("search.selected")
    return event["payload"]["chosen"], len(event["payload"]["samples"]), event["payload"]["why"]


def test_a_sample_that_passes_the_tests_by_luck_is_outvoted(tmp_path):
    bench = bench_of(tmp_path, ODD, GOOD, ALSO)
    assert bench.run()["verdict"] == "merged"
    assert chosen(bench) == (2, 3, "enough of them agree")
    assert "return a + b" in bench.merged("calc.py")


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
    (prompt,) = bench.prompts("repair")
    assert "return a - b" in prompt[-2]


def test_sampling_ends_when_the_iterations_do(tmp_path):
    bench = bench_of(tmp_path, ODD, GOOD, ALSO, max_iterations=2)  # the tester took one
    bench.run()
    assert chosen(bench) == (1, 1, "the limit of iterations is reached")


def test_no_sample_is_paid_for_twice_after_a_kill(tmp_path):
    bench = bench_of(tmp_path, ODD, GOOD, ALSO)
    bench.event_log.crash_at = 34
    with pytest.raises(Crash):
        bench.run()
    bench.event_log.crash_at = 0
    assert bench.run()["verdict"] == "merged"
    keys = [event["key"] for event in bench.event_log.of("thought") if event["payload"]["step"] == "code"]
    assert len(keys) == len(set(keys)) == 3


LATE = "Let me think. " * 120  # words before the file: at TOGETHER's speed such a reply comes a fifth of a second later
TOGETHER = {"at_once": 3, "speed": 2_000.0}


def together(tmp_path, *samples, **limits):
    bench = bench_of(tmp_path, *samples, **limits)
    bench.at_once, bench.speed = TOGETHER["at_once"], TOGETHER["speed"]
    return bench


def late(reply):
    return f"{LATE}\n\n{reply}"


def test_as_many_samples_are_asked_for_at_once_as_the_server_takes(tmp_path):
    bench = together(tmp_path, late(ODD), late(GOOD), late(ALSO))
    assert bench.run()["verdict"] == "merged"
    assert chosen(bench) == (2, 3, "enough of them agree")
    assert bench.server.most_at_once == 3
    assert bench.event_log.of("search.selected")[0]["payload"]["at_once"] == 3


def test_a_server_that_takes_one_conversation_is_asked_one_after_the_other(tmp_path):
    bench = together(tmp_path, late(ODD), GOOD, ALSO)
    bench.at_once = 1
    bench.run()
    assert bench.server.most_at_once == 1


@pytest.mark.parametrize("slow", [(), (1,), (2,), (1, 2), (1, 3)])
def test_which_sample_comes_first_does_not_matter(tmp_path, slow):
    samples = [late(reply) if number in slow else reply for number, reply in enumerate((ODD, GOOD, ALSO), 1)]
    bench = together(tmp_path, *samples)
    assert bench.run()["verdict"] == "merged"
    assert chosen(bench) == (2, 3, "enough of them agree")


def test_a_sample_asked_for_but_not_needed_is_neither_run_nor_hidden(tmp_path):
    bench = together(tmp_path, GOOD, ALSO, late(ODD))
    assert bench.run()["verdict"] == "merged"
    assert chosen(bench) == (1, 2, "enough of them agree")
    assert bench.event_log.of("search.selected")[0]["payload"]["unneeded"] == 1
    runs = [
        event["key"] for event in bench.event_log.of("cmd") if "sample" in event["key"] and event["outcome"] != "intent"
    ]
    assert len(runs) == 2


def test_samples_are_asked_for_together_only_as_far_as_the_tokens_left_pay_for_them(tmp_path):
    # Each may take its prompt and 8,000 tokens: this pays for two of them at a time.
    bench = together(tmp_path, late(ODD), late(GOOD), late(ALSO), task_tokens=20_000)
    assert bench.run()["verdict"] == "merged"
    assert bench.server.most_at_once == 2
    assert chosen(bench) == (2, 3, "enough of them agree")


def test_a_server_that_refuses_several_at_once_is_asked_one_after_the_other(tmp_path):
    bench = together(tmp_path, late(ODD), GOOD, ALSO)
    bench.task["tests_given"] = {
        "tests/test_calc.py": "from calc import add\n\n\ndef test_sum():\n    assert add(2, 3) == 5\n"
    }
    bench.faults = {"kind": "status", "status": 503, "times": 2}
    assert bench.run()["verdict"] == "merged"
    assert chosen(bench) == (2, 2, "it passes the given tests")


def test_no_sample_of_several_at_once_is_paid_for_twice_after_a_kill(tmp_path):
    bench = together(tmp_path, ODD, GOOD, ALSO)
    for write in (22, 27, 31, 34, 38):
        bench.event_log.crash_at = write
        with suppress(Crash):
            bench.run()
    bench.event_log.crash_at = 0
    assert bench.run()["verdict"] == "merged"
    keys = [event["key"] for event in bench.event_log.of("thought") if event["payload"]["step"] == "code"]
    assert len(keys) == len(set(keys)) == 3


def test_a_stop_drops_all_that_are_on_their_way(tmp_path):
    endless = f"{LATE * 40}\n\n{GOOD}"
    bench = together(tmp_path, endless, endless, endless)
    bench.speed = 200
    bench.event_log.stopped = lambda: bench.server.most_at_once == 3
    with pytest.raises(Stopped):
        bench.run()
    assert eventually(lambda: [seen.outcome for seen in bench.server.requests[-3:]] == ["disconnected"] * 3)


def test_all_replies_are_on_record_before_the_first_sample_is_run(tmp_path, monkeypatch):
    bench = together(tmp_path, ODD, late(GOOD), late(ALSO))
    on_record = []

    def counted(sandbox, paths, **options):
        on_record.append(len([e for e in bench.event_log.of("thought") if e["payload"]["step"] == "code"]))
        return run_pytest(sandbox, paths, **options)

    monkeypatch.setattr("agents.languages.python.language.run_pytest", counted)
    assert bench.run()["verdict"] == "merged"
    assert on_record[0] == 3


def test_only_the_thread_that_runs_the_node_writes_to_the_record(tmp_path):
    bench, writers = together(tmp_path, late(ODD), GOOD, ALSO), set()
    emit, delta = bench.event_log.emit, bench.event_log.delta

    def emitted(*args, **fields):
        writers.add(threading.get_ident())
        return emit(*args, **fields)

    def shown(**fields):
        writers.add(threading.get_ident())
        shown_ids.add(fields["id"])
        return delta(**fields)

    shown_ids = set()
    bench.event_log.emit, bench.event_log.delta = emitted, shown
    assert bench.run()["verdict"] == "merged"
    assert writers == {threading.get_ident()}
    first, *others = [event["key"] for event in bench.event_log.of("thought") if event["payload"]["step"] == "code"]
    assert len(shown_ids & {first, *others}) == 1, "the words of one of those asked at the same time are shown"


WORSE = code("calc.py", "def add(a, b):\n    return str(a)")  # fails otherwise than BAD


@pytest.fixture
def twice_failed(tmp_path):
    """A task whose first two tries fail, each in its own way."""
    bench = bench_of(tmp_path, BAD, max_retries=5, more_samples=3)
    bench.replies["coder-repair"] = DIAGNOSIS.format(cause="a sign") + WORSE
    return bench


def test_after_two_failed_tries_the_next_is_chosen_from_several(twice_failed):
    twice_failed.replies |= {"coder-code-a2": ODD, "coder-code-a3": GOOD, "coder-code-a4": ALSO}
    final = twice_failed.run()
    assert (final["verdict"], chosen(twice_failed)) == ("merged", (2, 3, "enough of them agree"))
    assert [one["strategy"] for one in twice_failed.task_store.attempts.values()] == ["first", "repair", "fresh"]
    assert (final["counters"]["repairs"], final["counters"]["approach"], final["counters"]["iteration"]) == (2, 4, 6)
    prompts = twice_failed.prompts("code")
    assert [len(prompt) for prompt in prompts] == [2, 2, 2, 2]
    assert all("What did not work" in prompt[1] and "try 2 (repair)" in prompt[1] for prompt in prompts[1:])


def test_a_limit_reached_before_the_first_of_several_shows_the_best_try(twice_failed, monkeypatch):
    def over(self, number):
        raise OverBudget("The limit of 9 tokens of this task is used up")

    monkeypatch.setattr(_Drawing, "_draw", over)
    final = twice_failed.run()
    assert (final["verdict"], final["history"]["best"]["attempt"]) == ("escalated", 1)
    assert final["escalation"].startswith("The limit of 9 tokens")


@pytest.mark.parametrize("most", [1, 8])
def test_a_version_that_has_passed_is_never_given_up_for_samples(most):
    limits = TaskLimits(more_samples=most)
    context = SimpleNamespace(context=SimpleNamespace(limits=limits, switched_off=frozenset(), outside=None))
    parts = {"verdict": "code", "best": {"reward": 0.5}, "signatures": ["x"]}
    assert after_adjudication(state_with(**parts), context) == "fresh"
    assert after_adjudication(state_with(**parts | {"best": {"reward": -0.5}}), context) == (
        "sample" if most > 1 else "fresh"
    )
    again = {"approach": 2, "best": {"reward": -0.5}}
    assert after_adjudication(state_with(**parts | again), context) == "fresh", "several once, then one at a time"


def test_tests_that_no_coder_saw_tell_passing_samples_apart(tmp_path):
    third = code("calc.py", "def add(a, b):\n    return a ** b")
    bench = bench_of(tmp_path, ODD, third, GOOD)
    bench.replies["tester-unseen"] = code(
        "tests/test_more.py", "from calc import add\n\n\ndef test_more():\n    assert add(2, 3) == 5"
    )
    final = bench.run()
    assert (final["verdict"], chosen(bench)[0]) == ("merged", 3)
    (event,) = bench.event_log.of("search.selected")
    assert [row["unseen"] for row in event["payload"]["samples"]] == [1, 1, 2]
    assert (event["payload"]["unneeded"], final["counters"]["iteration"]) == (0, 5), "tests, three samples, more tests"
    assert "return a + b" in bench.merged("calc.py")
    assert not bench.merged("tests/test_more.py"), "nobody has checked them"


def test_without_such_tests_the_samples_are_compared_as_before(tmp_path):
    bench = bench_of(tmp_path, ODD, code("calc.py", "def add(a, b):\n    return a ** b"), GOOD)
    bench.replies |= dict.fromkeys(("tester-unseen", "tester-again", "tester-again-2"), "I cannot think of any.")
    assert bench.run()["verdict"] == "merged"
    assert chosen(bench)[0] == 1
