"""A repair sees the code as it is now, where the conversation holds another version of it."""

from pathlib import Path

import pytest

from agents.context.parts import CODE_NOW
from agents.engine.nodes.current_code import add_code
from agents.prompts.provenance import as_turn
from tests.agents.engine.nodes.support import APPROVED, DIAGNOSIS, Bench, code, task
from tests.agents.engine.states import state_with

# 20 kB in which one function is wrong, with what a careless rewrite would lose: form feeds, tabs, odd spacing.
LONG = "".join(f"def helper_{number}( value ):\n\treturn value+{number}  # {'y' * 40}\n\n\n" for number in range(140))
WRONG, RIGHT = "def add(a, b):\n    return half(a) - b\n", "def add(a, b):\n    return a + b\n"
HALF = "def half(a):\n    return a / 2\n"
MODULE = f'"""Sums."""\n\x0c\nRATE  =  3\n\n\n{LONG}{WRONG}\n\n{HALF}\n\n{LONG.replace("helper", "more")}'
TESTS = code("tests/test_sums.py", "from calc import add\n\n\ndef test_sum():\n    assert add(2, 3) == 5")
EDIT = "<<<<<<< SEARCH\n    return {0}\n=======\n    return {1}\n>>>>>>> REPLACE"


@pytest.fixture
def bench(tmp_path: Path, quiet_sandbox: None) -> Bench:
    replies = {"tester-tests": TESTS, "coder-code": "", "reviewer-review": APPROVED}
    return Bench(tmp_path, replies, task(description="`add` returns the sum"))


@pytest.mark.parametrize("reply", [RIGHT, EDIT.format("half(a) - b", "a + b")])
def test_one_function_of_a_long_file_is_changed_and_the_rest_stays_byte_for_byte(bench: Bench, reply: str) -> None:
    bench.start_with({"calc.py": MODULE})
    bench.replies["coder-code"] = code("calc.py", reply)
    assert bench.run()["verdict"] == "merged"
    assert bench.merged("calc.py").encode() == MODULE.replace(WRONG, RIGHT).encode()
    (told,) = bench.last_turns("code")
    assert "calc.py: long; send only what changes" in told
    assert "Parts of calc.py, a file of " in told
    assert WRONG in told
    assert HALF in told


def test_a_repair_of_a_long_file_shows_the_function_as_edits_left_it(bench: Bench) -> None:
    bench.start_with({"calc.py": MODULE})
    first = EDIT.format("half(a) - b", "half(a) * b")
    bench.replies["coder-code"] = code("calc.py", first)
    bench.replies["coder-repair"] = DIAGNOSIS.format(cause="times") + code("calc.py", RIGHT)
    assert bench.run()["verdict"] == "merged"
    (told,) = bench.last_turns("repair")
    shown = told.partition(CODE_NOW)[2]
    assert "def add(a, b):\n    return half(a) * b\n```" in shown
    assert "helper_" not in shown


def test_a_repair_shows_a_short_file_whole_where_a_reply_held_a_part_of_it(bench: Bench) -> None:
    short = f"{WRONG}\n\n{HALF}"
    bench.start_with({"calc.py": short})
    bench.replies["coder-code"] = code("calc.py", EDIT.format("half(a) - b", "half(a) * b"))
    bench.replies["coder-repair"] = DIAGNOSIS.format(cause="times") + code("calc.py", short.replace(WRONG, RIGHT))
    assert bench.run()["verdict"] == "merged"
    (told,) = bench.last_turns("repair")
    assert short.replace("- b", "* b") in told.partition(CODE_NOW)[2]


def test_a_repair_does_not_repeat_a_file_that_the_reply_wrote_whole(bench: Bench) -> None:
    bench.replies["coder-code"] = code("calc.py", WRONG.replace("half(a)", "a"))
    bench.replies["coder-repair"] = DIAGNOSIS.format(cause="minus") + code("calc.py", RIGHT)
    assert bench.run()["verdict"] == "merged"
    assert CODE_NOW not in bench.last_turns("repair")[0]


def test_of_a_long_function_a_repair_shows_the_lines_around_what_changed(bench: Bench) -> None:
    rows = "".join(f"    a = a + {number} - {number}\n" for number in range(60))
    bench.start_with({"calc.py": LONG + WRONG.replace("    return half(a) - b\n", f"{rows}    return a - b\n")})
    bench.replies["coder-code"] = code("calc.py", EDIT.format("a - b", "a * b"))
    bench.replies["coder-repair"] = DIAGNOSIS.format(cause="times") + code("calc.py", EDIT.format("a * b", "a + b"))
    assert bench.run()["verdict"] == "merged"
    shown = bench.last_turns("repair")[0].partition(CODE_NOW)[2]
    assert "def add(a, b):\n    a = a + 0 - 0\n" in shown
    assert "\n…\n    a = a + 54 - 54\n" in shown
    assert "    return a * b\n" in shown
    assert "a + 30 - 30" not in shown


def test_a_repair_shows_no_test_as_it_was_and_says_whose_a_file_is(bench: Bench) -> None:
    there = {"calc.py": WRONG, "rates.py": "RATE = 3\n", "tests/test_sums.py": "OLD = 1\n"}
    bench.start_with(there)
    with bench.context() as context:
        base = context.repository.head()
        state = state_with(task(files=[*there]), base=base, files={"calc.py": RIGHT})
        shown = add_code(state, context, [as_turn("user", "Repair it.")])[-1]["content"]
    assert "path=calc.py from=model" in shown
    assert "path=rates.py from=repository" in shown
    assert "test_sums.py" not in shown
