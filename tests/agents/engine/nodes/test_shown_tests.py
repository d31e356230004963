"""What the coder is shown of tests in a file that is there."""

import pytest

from agents.engine.nodes.shown_tests import what_is_new
from tests.agents.engine.nodes.support import APPROVED, Bench, code, task

pytestmark = pytest.mark.usefixtures("quiet_sandbox")
OLD = "from calc import sub\n\n\n" + "".join(
    f"def test_sub_{number}():\n    # {'why ' * 40}\n    assert sub({number}, 0) == {number}\n\n\n"
    for number in range(30)
)
CALC = "def sub(a, b):\n    return a - b\n"
NEW = "from calc import add\n\n\ndef test_sum():\n    assert add(2, 3) == 5\n"


def test_of_a_long_test_file_the_coder_sees_what_is_new_and_how_many_others_there_are(tmp_path) -> None:
    both = code("calc.py", f"{CALC}\n\ndef add(a, b):\n    return a + b")
    bench = Bench(
        tmp_path,
        {"tester-tests": code("tests/test_calc.py", NEW), "coder-code": both, "reviewer-review": APPROVED},
        task(files=["calc.py", "tests/test_calc.py"]),
    )
    bench.start_with({"calc.py": CALC, "tests/test_calc.py": OLD})
    assert bench.run()["verdict"] == "merged"
    (_, told) = bench.last_turns("code")[0].split("The tests that your code must pass")
    assert "def test_sum():\n    assert add(2, 3) == 5" in told
    assert "from calc import sub" in told
    assert "not shown: 30 definitions" in told
    assert "assert sub(" not in told
    assert "def test_sub_29" in bench.merged("tests/test_calc.py")


def test_of_tests_that_are_calls_none_is_left_out() -> None:
    head = 'import { test } from "node:test";\n\nfunction called() {\n  return 1;\n}\n\n'
    tests = "".join(f'test("case {number}", () => {{\n  called({number});\n}});\n' for number in range(80))
    assert what_is_new("tests/cli.test.ts", head + tests, head, "") == head + tests
