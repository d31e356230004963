"""What a change takes away is never lost unseen."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agents.engine.nodes.removals import free_name, removal_words
from agents.engine.nodes.tester import write_tests
from agents.engine.state import start_state
from agents.engine.waiting import Waiting
from agents.languages.registry import language
from agents.languages.suites import test_changes as changes_of
from sandbox.test_setup import TestSetup
from tests.agents.engine.nodes.support import APPROVED, DIAGNOSIS, TESTS, Bench, code, task

LONG = "".join(f"def helper_{number}(value):\n    return value + {number}\n\n\n" for number in range(300))
MODULE = f"import math\n\n\n{LONG}def add(a, b):\n    return a - b\n"


@pytest.fixture
def bench(tmp_path: Path, quiet_sandbox: None) -> Bench:
    replies = {"tester-tests": TESTS, "coder-code": "", "reviewer-review": APPROVED}
    return Bench(tmp_path, replies, task())


@pytest.mark.parametrize("files", [["calc.py"], []])
def test_one_function_of_a_long_module_leaves_the_others_where_they_are(bench: Bench, files: list[str]) -> None:
    bench.start_with({"calc.py": MODULE})
    bench.task = task(files=files)
    bench.replies["coder-code"] = code("calc.py", "def add(a, b):\n    return a + b")
    assert bench.run()["verdict"] == "merged"
    assert bench.merged("calc.py") == MODULE.replace("a - b", "a + b")
    assert any("calc.py: merged" in event["summary"] for event in bench.event_log.of("system"))


def words(**changes: Any) -> Any:
    return removal_words(task(**changes))


def test_a_task_removes_what_it_names_in_a_sentence_about_removing():
    assert words(description="Rename total to total_price. Keep taxed.")("Cart.total")
    assert not words(description="Rename total to total_price. Keep taxed.")("taxed")
    assert not words(description="Fix total; it returns None.")("total")
    assert not words(description="Remove the total_price function.")("total")


THREE = "".join(f"def {name}(a, b):\n    return a - b\n\n\n" for name in ("add", "sub", "mul")).rstrip() + "\n"
WITHOUT = THREE.replace("a - b", "a + b", 1).partition("\n\n\ndef mul")[0]


def test_a_public_name_that_the_coder_insists_on_taking_away_is_asked_about(bench: Bench) -> None:
    bench.start_with({"calc.py": THREE})
    fixed = code("calc.py", WITHOUT)
    bench.replies |= {"coder-code": fixed, "coder-again": fixed}
    question = bench.waits(r"change_consent: calc\.py: mul")
    assert question["kind"] == "removal"
    assert question["payload"]["removed"] == ["calc.py: mul"]
    bench.answer("approved")
    assert bench.run()["verdict"] == "merged"
    assert "def mul" not in bench.merged("calc.py")
    prompts = [event["blobs"]["prompt"][-1] for event in bench.event_log.of("thought") if event["role"] == "reviewer"]
    assert "calc.py: mul" in prompts[-1]


def test_a_name_that_the_task_removes_is_not_asked_about(bench: Bench) -> None:
    bench.start_with({"calc.py": THREE})
    bench.task = task(description="Fix add. Remove mul.")
    bench.replies["coder-code"] = code("calc.py", WITHOUT)
    assert bench.run()["verdict"] == "merged"
    assert bench.task_store.asked == []


def test_a_definition_that_the_task_removes_goes_by_its_name_out_of_a_file_sent_in_part(bench: Bench) -> None:
    bench.start_with({"calc.py": f"{MODULE}\n\ndef mul(a, b):\n    return a\n"})
    bench.task = task(description="Fix add instead of helper_2; drop blanks in helper_3. Remove the function `mul`.")
    fixed = code("calc.py", "def add(a, b):\n    return a + b", "Remove: `calc.py`: `mul`, helper_1\n")
    bench.replies["coder-code"] = fixed
    assert bench.run()["verdict"] == "merged"
    assert bench.merged("calc.py") == MODULE.replace("a - b", "a + b")
    assert "What may go for it: calc.py: mul\nTo remove a definition whole" in bench.prompts("code")[0][1]
    assert "may go" not in bench.prompts("tests")[0][1]


def test_the_tester_is_told_the_tests_of_an_altered_requirement_with_its_old_words(bench: Bench) -> None:
    bench.start_with({"calc.py": CALC})
    bench.start_with({"tests/test_calc.py": OLD_TESTS}, {"Requirement": "FR-01"})
    row = task()["requirements"][0] | {"before": "Subtracts numbers"}
    bench.task = task(requirements=[row])
    kept = "def two():\n    return 2\n\n\n"
    new = code(
        "tests/test_calc.py", f"from calc import add\n\n\n{kept}{NEW_TEST}", "Remove: tests/test_calc.py: test_sub\n"
    )
    bench.replies |= {"tester-tests": new, "coder-code": BOTH}
    bench.waits(r"test_sub is removed")
    bench.answer("approved")
    assert bench.run()["verdict"] == "merged"
    assert "def test_sub" not in bench.merged("tests/test_calc.py")
    told = bench.prompts("tests")[0][1]
    assert "What may go for it: tests/test_calc.py: two, test_sub\n" in told
    assert "Adds numbers\n  Built so far is its earlier wording: Subtracts numbers\n" in told


@pytest.mark.parametrize("served", ["R9", "R9 (LOGIN-7)", "R9, FR-02"])
def test_code_that_came_with_a_dropped_requirement_alone_goes_without_a_question(bench: Bench, served: str) -> None:
    bench.start_with({"calc.py": THREE.partition("\n\n\ndef mul")[0] + "\n"}, {"Requirement": "FR-02"})
    bench.start_with({"calc.py": THREE}, {"Requirement": served})
    row = {"key": "R9", "text": "No longer wanted.\nProducts are shown.", "kind": "functional", "dropped": True}
    bench.task = task(requirements=[*task()["requirements"], row])
    bench.replies |= dict.fromkeys(("coder-code", "coder-again"), code("calc.py", WITHOUT))
    if "FR-02" in served:
        bench.waits(r"change_consent: calc\.py: mul")
        return
    assert bench.run()["verdict"] == "merged"
    assert bench.task_store.asked == []


def test_tests_that_came_with_a_dropped_requirement_are_named_before_they_go(bench: Bench) -> None:
    bench.start_with({"calc.py": CALC, "tests/test_calc.py": OLD_TESTS}, {"Requirement": "R9"})
    row = {"key": "R9", "text": "No longer wanted.\nDifferences are shown.", "kind": "functional", "dropped": True}
    bench.task = task(requirements=[*task()["requirements"], row])
    answer = f"from calc import add\n\n\n{NEW_TEST}"
    bench.replies |= {"tester-tests": code("tests/test_calc.py", answer), "coder-code": BOTH}
    question = bench.waits("two is removed")
    assert "tests/test_calc.py: test_sub is removed" in question["payload"]["reasons"]
    told = "tests/test_calc.py: merged: of the existing tests removed: two, test_sub"
    assert told in [event["summary"] for event in bench.event_log.of("system")]
    bench.answer("approved")
    assert bench.run()["verdict"] == "merged"
    assert "test_sub" not in bench.merged("tests/test_calc.py")


OLD_TESTS = (
    "import pytest\n\nfrom calc import sub\n\n\ndef two():\n    return 2\n\n\n"
    "def test_sub():\n    assert sub(3, two()) == 1\n"
)
CALC = "def sub(a, b):\n    return a - b\n"
BOTH = code("calc.py", f"{CALC}\n\ndef add(a, b):\n    return a + b")


def with_tests(bench: Bench, answer: str) -> dict[str, Any]:
    bench.start_with({"calc.py": CALC, "tests/test_calc.py": OLD_TESTS})
    bench.replies |= {"tester-tests": code("tests/test_calc.py", answer), "coder-code": BOTH}
    return bench.run()


NEW_TEST = "def test_add():\n    assert add(2, 3) == 5\n"


@pytest.mark.parametrize(
    "answer",
    [
        f"from calc import add\n\n\n{NEW_TEST}",
        f"from calc import add\n\n\ndef test_sub():\n    assert True\n\n\n{NEW_TEST}",
    ],
)
def test_a_tester_who_writes_over_a_test_file_adds_to_it(bench: Bench, answer: str) -> None:
    assert with_tests(bench, answer)["verdict"] == "merged"
    made = bench.merged("tests/test_calc.py")
    assert NEW_TEST in made
    assert "from calc import add\n" in made
    assert OLD_TESTS.partition("def two")[2] in made
    assert "assert True" not in made
    assert bench.task_store.asked == []


def test_new_tests_with_other_helpers_get_a_file_of_their_own(bench: Bench) -> None:
    answer = f"from calc import add, sub\n\n\ndef two():\n    return 5\n\n\n{NEW_TEST.replace('5', 'two()')}"
    assert with_tests(bench, answer)["verdict"] == "merged"
    assert bench.merged("tests/test_calc.py") == OLD_TESTS
    assert "def two():\n    return 5" in bench.merged("tests/test_calc_2.py")


def test_a_complaint_about_a_file_that_the_tester_did_not_name_says_which_tests_went_there(bench: Bench) -> None:
    answer = f"from calc import add\n\n\ndef two():\n    return 5\n\n\n{NEW_TEST.replace('5', 'two()')}"
    bench.replies["tester-again"] = code("tests/test_calc.py", answer)
    assert with_tests(bench, answer.replace("== two()", "== two() + three()"))["verdict"] == "merged"
    said = {text for event in bench.event_log.of("thought") for text in event["blobs"]["prompt"]}
    (prompt,) = [text for text in said if text.startswith("Your answer could not be used")]
    assert "- tests/test_calc_2.py:9: three is neither defined nor imported\n" in prompt
    assert "- your tests for tests/test_calc.py went into tests/test_calc_2.py: tests/test_calc.py stays" in prompt


@pytest.mark.parametrize("served", ["FR-01", "FR-01 (LOGIN-7)", "FR-02"])
def test_a_test_changes_when_the_requirement_it_was_written_for_does(bench: Bench, served: str) -> None:
    bench.start_with({"calc.py": CALC, "tests/test_calc.py": OLD_TESTS}, {"Requirement": served})
    other = OLD_TESTS.replace("== 1", "== 1.0").replace("import sub", "import add, sub")
    replies = {"tester-tests": code("tests/test_calc.py", f"{other}\n\n{NEW_TEST}"), "coder-code": BOTH}
    bench.replies |= replies
    if served != "FR-02":
        bench.waits("test_sub is changed")
        bench.answer("approved")
    assert bench.run()["verdict"] == "merged"
    assert ("== 1.0" in bench.merged("tests/test_calc.py")) is (served != "FR-02")


def test_tests_of_its_requirement_that_the_answer_leaves_out_stay(bench: Bench) -> None:
    others = "".join(f"\n\ndef test_sub_{number}():\n    assert sub({number}, 0) == {number}\n" for number in range(4))
    bench.start_with({"calc.py": CALC, "tests/test_calc.py": OLD_TESTS + others}, {"Requirement": "FR-01"})
    answer = OLD_TESTS.replace("== 1", "== 1.0").replace("import sub", "import add, sub")
    bench.replies |= {"tester-tests": code("tests/test_calc.py", f"{answer}\n\n{NEW_TEST}"), "coder-code": BOTH}
    bench.waits("test_sub is changed")
    assert bench.task_store.questions[-1]["title"] == "T-01: may it change 1 existing test?"


def test_a_tester_who_only_changes_a_test_is_asked_again(bench: Bench) -> None:
    bench.replies["tester-again"] = code("tests/test_add.py", f"from calc import add\n\n\n{NEW_TEST}")
    assert with_tests(bench, OLD_TESTS.replace("== 1", "!= 1"))["verdict"] == "merged"
    assert bench.merged("tests/test_calc.py") == OLD_TESTS


def test_a_test_that_the_task_changes_is_shown_and_asked_about(bench: Bench) -> None:
    bench.task = task(description="add(a, b) returns the sum. Rename test_sub.")
    with pytest.raises(Waiting, match="change_consent"):
        with_tests(bench, OLD_TESTS.replace("test_sub", "test_less"))
    question = bench.task_store.questions[-1]
    assert question["kind"] == "test_change"
    assert "def test_sub" in question["payload"]["changes"][0]["old"]
    bench.answer("rejected")
    assert bench.run()["verdict"] == "escalated"


def test_tests_of_a_file_that_the_task_names_may_change_and_none_goes(bench: Bench) -> None:
    bench.task = task(description="add(a, b) returns the sum. tests/test_calc.py learns of it.")
    answer = f"from calc import add, sub\n\n\ndef test_sub():\n    assert sub(3, 1) == 2\n\n\n{NEW_TEST}"
    with pytest.raises(Waiting, match="change_consent"):
        with_tests(bench, answer)
    (change,) = bench.task_store.questions[-1]["payload"]["changes"]
    assert "sub(3, 1) == 2" in change["new"]
    bench.answer("approved")
    assert bench.run()["verdict"] == "merged"
    made = bench.merged("tests/test_calc.py")
    assert "def two():" in made
    assert "sub(3, 1) == 2" in made
    assert NEW_TEST in made


def test_a_mark_that_would_skip_a_whole_file_changes_its_tests() -> None:
    python = language()
    assert changes_of(python, "tests/test_a.py", OLD_TESTS, f"{OLD_TESTS}\npytestmark = pytest.mark.skip\n")
    assert not changes_of(python, "tests/test_a.py", OLD_TESTS, f"{OLD_TESTS}\n\n{NEW_TEST}")
    twice = f"{OLD_TESTS}\n\ndef test_sub():\n    pass\n"
    assert changes_of(python, "tests/test_a.py", OLD_TESTS, twice)
    assert changes_of(language("node"), "tests/a.test.js", "test('a', f)\n", "test('b', f)\n")


@pytest.mark.parametrize(("module", "asked"), [(MODULE, True), ("def add(a, b):\n    return 0\n", False)])
def test_of_a_long_file_only_what_changes_is_asked_for(bench: Bench, module: str, asked: bool) -> None:
    bench.start_with({"calc.py": module})
    bench.replies["coder-code"] = code("calc.py", "def add(a, b):\n    return a + b")
    bench.run()
    coder = [event["blobs"]["prompt"][-1] for event in bench.event_log.of("thought") if event["role"] == "coder"]
    assert ("calc.py: long; send only what changes" in coder[0]) is asked


def test_a_tester_is_told_of_a_module_that_nothing_brings(bench: Bench) -> None:
    bench.replies |= {
        "tester-tests": code("tests/test_calc.py", f"from shop.calc import add\n\n\n{NEW_TEST}"),
        "tester-again": code("tests/test_calc.py", f"from calc import add\n\n\n{NEW_TEST}"),
        "coder-code": code("calc.py", "def add(a, b):\n    return a + b"),
    }
    assert bench.run()["verdict"] == "merged"
    assert any("there is no module shop here" in event["summary"] for event in bench.event_log.of("error"))


def test_new_tests_go_where_the_test_runner_looks(bench: Bench) -> None:
    bench.test_setup = TestSetup(arguments=("--override-ini=addopts=-q", "test"))
    data = {f"test/data/valid/{number}.toml": "" for number in range(5)}
    bench.start_with({"calc.py": CALC, "test/test_calc.py": OLD_TESTS, **data})
    bench.replies |= {
        "tester-tests": code("tests/sums/test_add.py", f"from calc import add\n\n\n{NEW_TEST}"),
        "coder-code": BOTH,
    }
    assert bench.run()["verdict"] == "merged"
    assert NEW_TEST in bench.merged("test/test_add.py")


def test_a_tester_is_told_where_tests_go_and_what_they_may_import(bench: Bench) -> None:
    bench.test_setup = TestSetup(arguments=("calc",))
    imports = "from freezegun import freeze_time\n"
    bench.start_with({"calc/__init__.py": CALC, "calc/tests/test_calc.py": imports + OLD_TESTS, "tests/notes.py": ""})
    bench.replies["tester-tests"] = code("tests/test_add.py", f"{imports}from calc import add\n\n\n{NEW_TEST}")
    with bench.context() as context:
        context.test_packages = ("freezegun==1.4.0",)
        made = write_tests(
            start_state(bench.task) | {"base": bench.repository.head()}, SimpleNamespace(context=context)
        )
    told = "New test files go into: calc/tests/\nInstalled packages that tests may use: freezegun\n"
    assert told in last_prompt(bench, "tester", 0)
    rules = bench.event_log.of("thought")[0]["blobs"]["prompt"][0]
    assert "hypothesis" not in rules, "the project does not have it"
    assert list(made["candidate"]["tests"]) == ["calc/tests/test_add.py"]


def last_prompt(bench: Bench, role: str, number: int) -> str:
    """The newest turn of a persona's question."""
    thoughts = [event for event in bench.event_log.of("thought") if event["role"] == role]
    return str(thoughts[number]["blobs"]["prompt"][-1])


def test_of_a_long_file_a_tester_who_judges_is_shown_what_its_tests_call(bench: Bench) -> None:
    bench.start_with({"calc.py": MODULE})
    wrong = "def add(a, b):\n    return a * b"
    bench.replies |= {
        "coder-code": code("calc.py", wrong),
        "coder-repair": DIAGNOSIS.format(cause="?") + code("calc.py", wrong.replace("a * b", "b * a")),
        "tester-adjudicate": "Verdict: code\nReason: 2 + 3 is 5",
        "coder-code-a2": code("calc.py", wrong.replace("*", "+")),
    }
    assert bench.run()["verdict"] == "merged"
    judged = last_prompt(bench, "tester", -1)
    assert "  def add(a, b)" in judged
    assert "helper_7" not in judged


def test_a_refusal_quotes_the_lines_of_the_file_as_they_are(bench: Bench) -> None:
    bench.start_with({"calc.py": MODULE})
    edit = "<<<<<<< SEARCH\n)\ndef add(a, b, c):\n    return a - b\n=======\npass\n>>>>>>> REPLACE"
    fixed = code("calc.py", "def add(a, b):\n    return a + b")
    bench.replies |= {"coder-code": code("calc.py", edit), "coder-again": fixed}
    assert bench.run()["verdict"] == "merged"
    again = last_prompt(bench, "coder", 1)
    assert "The SEARCH lines ('def add(a, b, c):') are not in the file" in again
    assert "\n1204: def add(a, b):\n1205:     return a - b\n" in again
    assert "whole" not in again


def test_a_tester_corrects_an_existing_test_with_a_block(bench: Bench) -> None:
    wrong = OLD_TESTS.replace("== 1", "== 6")
    edit = "<<<<<<< SEARCH\n    assert sub(3, two()) == 6\n=======\n    assert sub(3, two()) == 1\n>>>>>>> REPLACE"
    bench.start_with({"calc.py": CALC, "tests/test_calc.py": wrong})
    bench.replies |= {
        "tester-tests": code("tests/test_add.py", f"from calc import add\n\n\n{NEW_TEST}"),
        "coder-code": code("calc.py", f"{CALC}\n\ndef add(a, b):\n    return a * b"),
        "coder-repair": DIAGNOSIS.format(cause="?") + code("calc.py", f"{CALC}\n\ndef add(a, b):\n    return b * a"),
        "tester-adjudicate": "Verdict: test\nReason: test_sub contradicts FR-01\n\n" + code("tests/test_calc.py", edit),
        "coder-repair-2": DIAGNOSIS.format(cause="?") + BOTH,
    }
    question = bench.waits("change_consent")
    assert question["kind"] == "test_change"
    assert "== 1" in question["payload"]["changes"][0]["new"]
    assert "the reason names the test" in last_prompt(bench, "tester", -1).replace("\n", " ")


def test_a_tester_is_shown_the_tests_that_are_called_like_the_file(bench: Bench) -> None:
    with_tests(bench, f"from calc import add\n\n\n{NEW_TEST}")
    assert "path=tests/test_calc.py from=repository" in last_prompt(bench, "tester", 0)
    assert "from=repository" not in last_prompt(bench, "coder", 0).partition("The tests that your code must pass")[2]


@pytest.mark.parametrize("less", ["sub(3, 2) == 1", "sub(4, 2) == 2"], ids=["removed", "removed and another altered"])
def test_a_test_that_the_task_removes_goes_whatever_else_its_file_changes(bench: Any, less: str) -> None:
    bench.task = task(description="add(a, b) returns the sum. Remove test_gone from tests/test_calc.py.")
    kept = f"def test_less():\n    assert {less}\n\n\ndef test_same():\n    assert sub(3, 3) == 0\n"
    gone = "from calc import sub\n\n\ndef test_gone():\n    assert sub(3, 2) == 7\n\n\n"
    bench.start_with({"calc.py": CALC, "tests/test_calc.py": gone + kept.replace(less, "sub(3, 2) == 1")})
    added = "\n\ndef test_add():\n    assert add(2, 3) == 5\n"
    answer = f"from calc import add, sub\n\n\n{kept}{added}"
    bench.replies |= {"tester-tests": code("tests/test_calc.py", answer), "coder-code": BOTH}
    bench.waits()
    assert "test_gone is removed" in str(bench.task_store.questions[-1]["payload"]["reasons"])


@pytest.mark.parametrize(
    ("path", "free"), [("tests/App.test.tsx", "tests/App_2.test.tsx"), ("tests/test_calc.py", "tests/test_calc_2.py")]
)
def test_a_new_file_of_tests_has_a_name_by_which_runners_find_it(path, free):
    assert free_name(path, {path}) == free
