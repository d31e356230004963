"""Code that reaches outside is merged only after a person's yes, and what a guard model doubts is asked about too."""

from functools import partial
from typing import Any

import pytest

from agents.engine.contracts import TaskContext
from agents.engine.nodes.consent import reaching
from agents.firewall.base import FirewallVerdict
from agents.languages.registry import language
from tests.agents.engine.nodes import support
from tests.agents.engine.nodes.support import APPROVED, GOOD, TESTS, Bench, code, task

REACHES = code(
    "calc.py",
    "import subprocess\n\n\ndef add(a: int, b: int) -> int:\n    return a + b\n\n\ndef run(words: "
    "list[str]) -> None:\n    subprocess.run(words, check=True)",
)

pytestmark = pytest.mark.usefixtures("quiet_sandbox")


@pytest.fixture
def bench(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(support, "TaskContext", partial(TaskContext, asks_about_reach=True))
    replies = {"tester-tests": TESTS, "coder-code": REACHES, "reviewer-review": APPROVED, "coder-findings": GOOD}
    return Bench(tmp_path, replies, task())


def test_programs_and_network_reach_outside_tests_and_sums_do_not():
    run = "import subprocess\n\n\ndef go(words):\n    subprocess.run(words)\n"
    files = {"a.py": run, "b.py": "print(1)\n", "tests/test_a.py": run, "notes.md": run}
    found = reaching(files, language().is_test)
    assert set(found) == {"a.py"}
    assert "subprocess" in found["a.py"][0]


def test_it_waits_for_the_yes_and_then_merges(bench: Bench) -> None:
    question = bench.waits("effect_consent")
    assert question["kind"] == "gate"
    assert "calc.py: subprocess.run" in question["why"]
    bench.answer("approved")
    assert bench.run()["verdict"] == "merged"


def test_a_no_sends_the_coder_back_to_do_without_it(bench: Bench) -> None:
    bench.waits()
    bench.answer("rejected")
    assert bench.run()["verdict"] == "merged"
    assert "subprocess" not in bench.merged("calc.py")


def test_a_coder_who_does_not_do_without_it_is_not_asked_for_ever(bench: Bench) -> None:
    bench.replies["coder-findings"] = REACHES.replace("check=True", "check=False")
    bench.replies["coder-findings-2"] = REACHES.replace(", check=True", "")
    bench.task_store.answers = type("Always", (dict,), {"get": lambda self, key, default=None: "rejected"})()
    final = bench.run()
    assert final["verdict"] == "escalated"
    assert "refused what the code reaches for" in final["escalation"]


class Doubtful:
    """A guard model that wants a person to look at every piece of code."""

    def judge(self, kind: str, text: str) -> FirewallVerdict:
        return FirewallVerdict("approve", "guard", "it looks odd to me", "guard.doubt")


def test_what_the_guard_model_doubts_waits_for_a_person_before_it_runs(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(support, "TaskContext", partial(TaskContext, guard=Doubtful()))
    bench.replies["coder-code"] = GOOD
    bench.waits("guard_model")
    assert not bench.event_log.of("cmd")
    bench.task_store.answers = type("Always", (dict,), {"get": lambda self, key, default=None: "approved"})()
    assert bench.run()["verdict"] == "merged"


def test_code_that_a_person_refuses_for_the_guard_is_not_used(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(support, "TaskContext", partial(TaskContext, guard=Doubtful()))
    bench.replies |= dict.fromkeys(("tester-again", "tester-again-2"), TESTS)
    bench.task_store.answers = type("Always", (dict,), {"get": lambda self, key, default=None: "rejected"})()
    final = bench.run()
    assert final["verdict"] == "escalated"
    assert "refused by a person" in final["escalation"]
