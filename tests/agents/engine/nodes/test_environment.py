"""What is the machine's fault is charged to nobody, and what only looks like a pass is held for a person."""

import pytest

from agents.languages.python import language
from sandbox.inside.services import program
from sandbox.services import Service
from sandbox.test_report import TestReport
from sandbox.test_setup import TestSetup
from tests.agents.engine.nodes.support import APPROVED, BAD, DIAGNOSIS, GOOD, TESTS, Bench, code, task
from tests.needs import missing

EQUAL = """class Number(int):
    __hash__ = int.__hash__

    def __eq__(self, other):
        return True


def add(a: int, b: int) -> int:
    return Number(7)"""
PATCHED = """import pytest

pytest.Function.runtest = lambda self: None


def add(a: int, b: int) -> int:
    return 7"""
ASLEEP = "import time\n\n\ndef add(a: int, b: int) -> int:\n    time.sleep(1000)\n    return a + b"
STARVED = TestReport(timed_out=True, starved=True, cpu_seconds=3.0, seconds=900.0, problem="did not end")

pytestmark = pytest.mark.bubblewrap


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path, {"tester-tests": TESTS, "coder-code": GOOD, "reviewer-review": APPROVED}, task())


def starve(monkeypatch, times):
    """The machine has no CPU for the first runs."""
    left, works = [STARVED] * times, language.run_pytest
    monkeypatch.setattr(language, "run_pytest", lambda *args, **more: left.pop() if left else works(*args, **more))
    return left


def test_a_run_that_a_busy_machine_starved_is_made_again(bench, monkeypatch):
    left = starve(monkeypatch, 1)
    final = bench.run()
    assert final["verdict"] == "merged"
    assert not left
    assert final["counters"]["repairs"] == 0
    assert [attempt["outcome"] for attempt in bench.task_store.attempts.values()] == ["passed"]
    assert any("no CPU" in event["payload"]["text"] for event in bench.event_log.of("system"))


def test_the_same_twice_goes_to_a_person_and_nothing_is_charged_or_learned(bench, monkeypatch):
    bench.replies |= {"coder-code": BAD, "coder-repair": DIAGNOSIS.format(cause="minus for plus") + GOOD}
    starve(monkeypatch, 2)
    final = bench.run()
    assert final["verdict"] == "escalated"
    assert "say nothing of the code: the machine had no CPU" in final["escalation"]
    assert (final["counters"]["repairs"], final["counters"]["iteration"]) == (0, 2)
    assert final["history"]["failures"] == []
    assert bench.lessons.kept == []
    assert not bench.merged("calc.py")


def test_a_diagnosis_is_not_judged_by_a_run_that_proves_nothing(bench, monkeypatch):
    bench.replies |= {"coder-code": BAD, "coder-repair": DIAGNOSIS.format(cause="minus for plus") + GOOD}
    runs, works = [], language.run_pytest

    def later(*args, **more):
        runs.append(1)
        return works(*args, **more) if len(runs) == 1 else STARVED

    monkeypatch.setattr(language, "run_pytest", later)
    assert bench.run()["verdict"] == "escalated"
    assert "diagnosis" not in bench.task_store.attempts[2]


def test_a_hang_in_the_code_is_a_failure_that_names_test_and_place(bench):
    bench.replies |= {"coder-code": code("calc.py", ASLEEP)}
    bench.replies |= {"coder-repair": DIAGNOSIS.format(cause="it sleeps") + GOOD}
    bench.test_setup = TestSetup(test_seconds=1)
    final = bench.run()
    assert final["verdict"] == "merged"
    assert final["counters"]["repairs"] == 1
    (failure,) = bench.task_store.attempts[1]["tests"]["failures"]
    assert failure["nodeid"] == "tests/test_calc.py::test_sum"
    assert "calc.py:5 in add" in failure["message"]


def test_a_patched_runner_is_never_a_pass(bench):
    bench.replies |= {"coder-code": code("calc.py", PATCHED)}
    final = bench.run()
    assert final["verdict"] == "escalated"
    assert "asserts do not tell the truth" in final["escalation"]
    assert not bench.merged("calc.py")


def test_an_equality_that_holds_for_everything_waits_for_a_person(bench):
    bench.replies |= {"coder-code": code("calc.py", EQUAL)}
    question = bench.waits("test_consent")
    assert bench.task_store.questions == [question]
    assert "calls everything equal" in question["why"]
    assert not bench.merged("calc.py")


def test_what_a_person_refuses_goes_back_to_the_coder(bench, monkeypatch):
    bench.replies |= {"coder-code": code("calc.py", EQUAL)}
    bench.replies |= {"coder-repair": DIAGNOSIS.format(cause="a trick") + GOOD}
    monkeypatch.setattr(type(bench.task_store), "ask", lambda self, **asked: "rejected")
    assert bench.run()["verdict"] == "merged"
    assert "A person refused" in bench.task_store.attempts[1]["tests"]["failures"][0]["message"]
    assert "a + b" in bench.merged("calc.py")


def test_a_failure_from_before_does_not_stop_the_task(bench, monkeypatch):
    known = "tests/test_calc.py::test_sum"
    bench.test_setup = TestSetup(known_failures=frozenset({known}))
    more = TESTS.replace("== 5", "== 6\n\n\ndef test_more():\n    assert add(1, 1) == 2")
    bench.replies |= {"tester-tests": more}
    assert bench.run()["verdict"] == "merged"
    (ran,) = bench.event_log.of("test.result")
    assert ran["payload"]["notes"] == [f"1 failed before as well: {known}"]


@pytest.mark.parametrize(
    ("setup", "others", "runs"),
    [
        (TestSetup(suite_seconds=600), 1, [["tests/test_calc.py"], []]),
        (TestSetup(measured_seconds=4), 1, [["tests/test_calc.py"], []]),
        (TestSetup(measured_seconds=4), 0, [[]]),
        (TestSetup(measured_seconds=2), 1, [[]]),
    ],
    ids=["a raised limit", "measured as slow", "most tests are related", "measured as quick"],
)
def test_of_a_slow_suite_the_related_tests_run_after_an_edit_and_all_before_the_merge(
    bench, monkeypatch, setup, others, runs
):
    ran, works = [], language.run_pytest

    def noted(sandbox, args=(), **more):
        ran.append(list(args))
        return works(sandbox, args, **more)

    monkeypatch.setattr(language, "run_pytest", noted)
    bench.switched_off = frozenset({"mutation"})
    bench.test_setup = setup
    bench.start_with({f"tests/test_other{n}.py": "def test_other():\n    assert True\n" for n in range(others)})
    assert bench.run()["verdict"] == "merged"
    assert ran == runs


OLD = "import pytest\n\nimport calc\n\n\ndef test_old():\n    if hasattr(calc, 'NEW'):\n        pytest.skip('new')\n"
LOST = "tests/test_old.py::test_old"


@pytest.fixture
def with_old_test(bench):
    """A repository with a test that passed, and that what the coder writes has skipped."""
    bench.start_with({"calc.py": "", "tests/test_old.py": OLD})
    bench.replies |= {"coder-code": code("calc.py", "NEW = 1\n\n\ndef add(a: int, b: int) -> int:\n    return a + b")}
    bench.test_setup = TestSetup(passing=frozenset({LOST}))
    return bench


def test_a_test_that_passed_before_and_is_skipped_waits_for_a_person(with_old_test):
    question = with_old_test.waits(f"change_consent: {LOST} passed before and did not run")
    assert with_old_test.task_store.questions == [question]
    assert (question["kind"], question["payload"]["reasons"]) == (
        "test_change",
        [f"{LOST} passed before and did not run"],
    )
    assert not with_old_test.merged("calc.py")


def test_of_a_slow_suite_a_lost_test_is_noticed_before_the_merge(with_old_test):
    with_old_test.test_setup = TestSetup(passing=frozenset({LOST, "tests/test_gone.py::test_a"}), suite_seconds=600)
    with_old_test.waits(LOST)


def test_a_person_s_no_sends_the_coder_back_to_have_lost_tests_run(with_old_test, monkeypatch):
    with_old_test.replies |= {"coder-repair": DIAGNOSIS.format(cause="NEW is there") + GOOD}
    monkeypatch.setattr(type(with_old_test.task_store), "ask", lambda self, **asked: "rejected")
    assert with_old_test.run()["verdict"] == "merged"
    assert "passed before and did not run" in with_old_test.task_store.attempts[1]["tests"]["failures"][0]["message"]


QUICK = "tests/test_speed.py::test_is_quick"
SPEED = """from pathlib import Path


def test_is_quick():
    assert Path("turn.txt").read_text() not in SLOW
"""


@pytest.mark.parametrize(
    ("slow", "outcomes", "turns"),
    [
        ("0", ["passed"], [[], [QUICK], []]),
        ("02", ["failed", "passed"], [[], [QUICK], [], []]),
        ("01", ["failed", "passed"], [[], [QUICK], []]),
    ],
    ids=["by chance", "whenever all run", "alone too"],
)
def test_a_failure_of_a_test_that_stood_is_charged_when_it_comes_again(bench, monkeypatch, slow, outcomes, turns):
    """`slow` are the runs in which it fails."""
    ran, works = [], language.run_pytest

    def run(sandbox, args=(), **more):
        sandbox.put({"turn.txt": str(len(ran)).encode()})
        ran.append(list(args))
        return works(sandbox, args, **more)

    monkeypatch.setattr(language, "run_pytest", run)
    bench.start_with({"tests/test_speed.py": SPEED.replace("SLOW", repr(slow))})
    bench.replies |= {"coder-repair": DIAGNOSIS.format(cause="it is slow") + GOOD.replace("a + b", "b + a")}
    bench.test_setup = TestSetup(passing=frozenset({QUICK}))
    bench.switched_off = frozenset({"mutation"})
    assert bench.run()["verdict"] == "merged"
    assert [attempt["outcome"] for attempt in bench.task_store.attempts.values()] == outcomes
    assert ran == turns
    told = [event["payload"]["text"] for event in bench.event_log.of("system")]
    assert any("passed when it ran alone" in text for text in told) == (slow != "01")


STORE = """import socket


def test_the_store_answers():
    with socket.create_connection(("127.0.0.1", 6379)) as line:
        line.sendall(b"PING\\r\\n")
        assert line.recv(7) == b"+PONG\\r\\n"
"""


def test_a_task_whose_compose_file_names_a_server_is_tested_with_it(bench):
    if not program("redis-server"):
        missing("no redis-server on this machine")
    bench.start_with({"compose.yaml": "services: {store: {image: 'redis:7'}}\n"})
    bench.replies["tester-tests"] = code(
        "tests/test_calc.py", f"from calc import add\n{STORE}\n\ndef test_sum():\n    assert add(2, 3) == 5"
    )
    assert bench.run()["verdict"] == "merged"
    notes = [note for event in bench.event_log.of("test.result") for note in event["payload"]["notes"]]
    assert any(note.startswith("with Redis (/") for note in notes)


def test_a_server_that_is_nowhere_goes_to_a_person_with_the_way_to_get_it(bench, monkeypatch):
    found = TestReport(void=f"MySQL is needed for the tests. {Service('mysql').cure()}")
    monkeypatch.setattr(language, "run_pytest", lambda *_, **__: found)
    final = bench.run()
    assert final["verdict"] == "escalated"
    assert "docker pull mariadb:11" in final["escalation"]
    assert final["counters"]["repairs"] == 0
