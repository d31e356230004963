"""The prompt of every step stays in its budget for the largest inputs, and keeps what is most useful."""

from pathlib import Path

import pytest

from agents.context.files import STEP_TOKENS
from agents.llm.tokens import count_messages
from agents.requirements.extract import extract
from agents.requirements.passages import passages_text
from tests.agents.engine.nodes.support import APPROVED, DIAGNOSIS, Bench, code, task

LONG = "".join(f"def helper_{number}(value):\n    return value + {number}  # {'y' * 40}\n\n\n" for number in range(400))
SHORT = "def add(a, b):\n    return half(a) - b\n\n\ndef half(a):\n    return a / 2\n"
MODULE = f"{LONG}{SHORT}\n\n{LONG.replace('helper', 'more')}"
OLD = "from calc import add\n\n\n" + "".join(
    f"def test_old_{number}():\n    assert add({number}, 0) or True\n\n\n" for number in range(200)
)
NEW = "from calc import add\n\n\n" + "".join(
    f"def test_sum_{number}():\n    assert add({number}, 1) == {number + 1}\n\n\n" for number in range(200)
)
DEMANDS = "".join(
    f"- FR-{number}: Case {number} of `add` shall return the sum {'of both numbers ' * 12}.\n\n"
    f"```\n>>> add({number}, 1)\n{number + 1}\n```\n\n"
    for number in range(1, 41)
)


@pytest.fixture
def prompts(tmp_path: Path, quiet_sandbox: None) -> dict[str, list[str]]:
    """The prompts of a task with a file of 60 kB, 40 requirements with passages and 200 tests, by step."""
    document = f"# Sums\n\n## Requirements\n\n{DEMANDS}"
    found = extract(document).requirements
    row = task(
        description="`add` returns the sum",
        requirements=[one.to_json() for one in found],
        passages=passages_text(document.splitlines(), [(one.lines, one.passages) for one in found]),
    )
    replies = {
        "tester-tests": code("tests/test_sums.py", NEW),
        "coder-code": code("calc.py", "def add(a, b):\n    return half(a) + b"),
        "coder-repair": DIAGNOSIS.format(cause="half") + code("calc.py", "def add(a, b):\n    return a + b"),
        "reviewer-review": APPROVED,
    }
    bench = Bench(tmp_path, replies, row)
    bench.start_with({"calc.py": MODULE, "tests/test_calc.py": OLD})
    assert bench.run()["verdict"] == "merged"
    return {event["payload"]["step"]: event["blobs"]["prompt"] for event in bench.event_log.of("thought")}


def test_every_step_keeps_its_budget_and_what_is_most_useful(prompts: dict[str, list[str]]) -> None:
    assert prompts.keys() == {"tests", "code", "repair", "review"}
    used = {
        step: count_messages([{"role": "user", "content": text} for text in told]) for step, told in prompts.items()
    }
    assert max(used.values()) <= STEP_TOKENS, used
    for step in ("tests", "code"):
        told = prompts[step][1]
        assert "- R40 (FR-40): Case 40 of `add`" in told
        assert ">>> add(1, 1)\n2\n" in told
        assert "def add(a, b):\n    return half(a) - b" in told
    assert SHORT in prompts["code"][1], "what it calls, for who changes it"
    assert SHORT not in prompts["tests"][1]
    assert "test_old_" in prompts["tests"][1]
    assert "test_old_" not in prompts["code"][1], "what stands there passes already"
    assert "def test_sum_199():" in prompts["code"][1]
    assert "def test_sum_199():" in prompts["review"][1]
    assert "def add(a, b):\n-    return half(a) - b" in prompts["review"][1].replace("\n ", "\n")
    assert "assert 6 == 5" in prompts["repair"][-1]
