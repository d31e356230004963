"""What the tester sends is looked at before the coder is asked."""

import pytest

from tests.agents.engine.nodes.support import APPROVED, Bench, code, task

pytestmark = pytest.mark.bubblewrap
GOOD = "from calc import add\n\n\ndef test_sum():\n    assert add(2, 3) == 5"
ADD = code("calc.py", "def add(a: int, b: int) -> int:\n    return a + b")


@pytest.fixture
def bench(tmp_path):
    replies = {"tester-tests": code("tests/test_calc.py", GOOD), "coder-code": ADD, "reviewer-review": APPROVED}
    return Bench(tmp_path, replies, task(), switched_off=frozenset({"mutation"}))


def prompts_of(bench, step):
    return [event["blobs"]["prompt"][-1] for event in bench.event_log.of("thought") if event["payload"]["step"] == step]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (GOOD.partition("\n")[2], "tests/test_calc.py:4: add is neither defined nor imported"),
        (GOOD.replace("():", "("), "tests/test_calc.py:4: SyntaxError"),
    ],
)
def test_tests_that_cannot_run_go_back_to_the_tester_before_the_coder_is_asked(bench, text, why):
    bench.replies |= {
        "tester-tests": code("tests/test_calc.py", text),
        "tester-again": code("tests/test_calc.py", GOOD),
    }
    assert bench.run()["verdict"] == "merged"
    assert why in prompts_of(bench, "tests")[-1]
    assert list(bench.task_store.attempts) == [1]


def test_tests_that_never_can_run_stop_the_task_before_any_code(bench):
    broken = code("tests/test_calc.py", GOOD.partition("\n")[2])
    bench.replies |= {"tester-tests": broken, "tester-again": broken, "tester-again-2": broken}
    final = bench.run()
    assert final["verdict"] == "escalated"
    assert "add is neither defined nor imported" in final["escalation"]
    assert not bench.task_store.attempts
