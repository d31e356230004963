"""What the tester sends is looked at before the coder is asked."""

import pytest

from tests.agents.engine.nodes.support import APPROVED, DIAGNOSIS, Bench, code, task

pytestmark = pytest.mark.usefixtures("quiet_sandbox")
GOOD = "from calc import add\n\n\ndef test_sum():\n    assert add(2, 3) == 5"
ADD = code("calc.py", "def add(a: int, b: int) -> int:\n    return a + b")


@pytest.fixture
def bench(tmp_path):
    replies = {"tester-tests": code("tests/test_calc.py", GOOD), "coder-code": ADD, "reviewer-review": APPROVED}
    return Bench(tmp_path, replies, task(), switched_off=frozenset({"mutation"}))


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
    assert why in bench.last_turns("tests")[-1]
    assert list(bench.task_store.attempts) == [1]


def test_tests_that_never_can_run_stop_the_task_before_any_code(bench):
    broken = code("tests/test_calc.py", GOOD.partition("\n")[2])
    bench.replies |= {"tester-tests": broken, "tester-again": broken, "tester-again-2": broken}
    final = bench.run()
    assert final["verdict"] == "escalated"
    assert "add is neither defined nor imported" in final["escalation"]
    assert not bench.task_store.attempts


SUB = "def sub(a: int, b: int) -> int:\n    return a - b\n"
OLD_TESTS = "from calc import sub\n\n\ndef test_sub():\n    assert sub(3, 2) == 1\n"
RENAMED = OLD_TESTS.replace("test_sub", "test_difference").replace("import sub", "import add, sub")
RENAMED += "\n\ndef test_sum():\n    assert add(2, 3) == 5\n"


@pytest.fixture
def resent(bench):
    """The tester sends a file that exists whole, with a test of it renamed."""
    bench.start_with({"calc.py": SUB, "tests/test_calc.py": OLD_TESTS})
    good = code("calc.py", f"{SUB}\n\ndef add(a: int, b: int) -> int:\n    return a + b")
    bench.replies |= {"tester-tests": code("tests/test_calc.py", RENAMED), "coder-code": good}
    return bench


def test_a_test_that_only_got_another_name_does_not_live_twice_and_the_merge_is_on_record(resent):
    assert resent.run()["verdict"] == "merged"
    merged = resent.merged("tests/test_calc.py")
    assert "def test_sub():" in merged
    assert "def test_sum():" in merged
    assert "test_difference" not in merged
    (notice,) = resent.event_log.of("system")
    assert notice["summary"].startswith("tests/test_calc.py: merged: new tests were added; tests that exist stay")


def blamed(bench, cause):
    """Run a task whose coder blames a test in these words, while its own code is wrong."""
    good, wrong = bench.replies["coder-code"], bench.replies["coder-code"].replace("a + b", "a * b")
    blames, judged = DIAGNOSIS.format(cause=cause), "Verdict: code\nReason: 2 + 3 is 5"
    bench.replies |= {"coder-code": wrong, "coder-repair": blames, "tester-adjudicate": judged, "coder-code-a2": good}
    return bench.run()


def test_the_tester_is_shown_the_file_in_use_where_it_is_not_what_it_sent(resent):
    assert blamed(resent, "test_sum is wrong: FR-01 wants a product")["verdict"] == "merged"
    (prompt,) = resent.last_turns("adjudicate")
    shown = prompt.partition("\nThe test files as they are now:\n")[2]
    assert "… not shown: test_sub, test_sum …" in shown
    assert "test_difference" not in shown


@pytest.mark.parametrize(
    "cause",
    [
        "test_sum asks for more than the requirement",
        "tests/test_calc.py uses `add` without importing it",
        "test_sum fails in its own setup: it asks a host that is not there",
        "test_sum follows the redirect. The test has to be corrected.",
        "The fixture of test_sum makes the same user twice. The code is correct.",
        "test_sum makes the same user twice; there is nothing to change in the code.",
        "test_sum makes the same user twice. No changes to the code.",
    ],
)
def test_a_test_blamed_in_the_words_of_the_prompt_goes_to_the_tester(resent, cause):
    assert blamed(resent, cause)["verdict"] == "merged"
    assert not resent.event_log.of("error")


def test_a_fence_without_a_path_is_the_only_file_of_the_task_in_its_language(bench):
    bench.task["files"] = ["calc.py", "calc.pyi", "README.md", "tests/test_calc.py"]
    bare = {name: text.replace(" path=calc.py", "") for name, text in bench.replies.items()}
    bench.replies |= bare | {"tester-tests": bare["tester-tests"].replace(" path=tests/test_calc.py", "")}
    assert bench.run()["verdict"] == "merged"
    assert not bench.event_log.of("error")


def test_code_without_a_path_that_only_quotes_is_asked_for_with_the_path_of_the_tasks_file(bench):
    good = bench.replies["coder-code"]
    bench.replies |= {"coder-code": "It goes like this:\n\n```python\nadd(2, 3)\n```\n", "coder-again": good}
    assert bench.run()["verdict"] == "merged"
    (refused,) = bench.event_log.of("error")
    assert "no file was found in it; begin one with ```python path=calc.py" in refused["payload"]["message"]
