"""What the model is told about a failing run."""

from agents.repair.feedback import summary_text, trace_text


def test_the_stack_of_a_stopped_run_is_shown_without_the_runner_s_frames():
    stack = (
        "Current thread 0x1 (most recent call first):\n"
        '  File "/workspace/shop/till.py", line 9 in count\n'
        '  File "/workspace/tests/test_till.py", line 3 in test_count\n'
        '  File "/usr/lib/python3.11/unittest/case.py", line 623 in run\n'
        '  File "<aiswe>", line 525 in main\n'
    )
    shown = trace_text({"output": stack, "problem": "the tests did not end within 120 s"})
    assert '  File "/workspace/tests/test_till.py", line 3 in test_count' in shown
    assert "unittest" not in shown
    assert "<aiswe>" not in shown


def test_a_run_in_one_line_says_why_it_could_not_be_judged_and_leaves_paths_as_they_are():
    assert summary_text({"problem": "no JSON from pytest"}) == "No JSON from pytest"
    assert summary_text({"problem": "tests/test_MRU.py::test_A did not run"}) == "tests/test_MRU.py::test_A did not run"
    assert summary_text({"passed": 2, "failed": 1}) == "2 passed, 1 failed"


def trace(month: str, line: int = 275) -> str:
    body = "".join(f"        step_{n}()\n" for n in range(60))
    return (
        f"    def test_months(month):\n>       convert(month)\n\ntests/test_a.py:9: \n_ _ _ _\n\n"
        f"    def convert(m):\n{body}"
        f">       return MONTHS[m]\nE       KeyError: '{month}'\n\nmonths.py:{line}: KeyError\n"
    )


def failure(month: str, line: int = 275) -> dict[str, str]:
    nodeid = f"tests/test_a.py::test_months[{month}]"
    return {"nodeid": nodeid, "message": f"KeyError: '{month}'", "traceback": trace(month, line)}


def test_of_failures_that_one_line_raises_the_first_is_shown_and_what_the_others_say():
    shown = trace_text({"failures": [failure(month) for month in ("NOV", "JAN", "MAY")], "failed": 3})
    assert shown.count("return MONTHS[m]") == 1
    assert "tests/test_a.py::test_months[MAY]: KeyError: 'MAY'" in shown
    assert "more failures" not in shown
    assert trace_text({"failures": [failure("NOV"), failure("NOV", 9)]}).count("return MONTHS[m]") == 2


def test_of_many_alike_some_are_named_and_the_others_counted():
    shown = trace_text({"failures": [failure(str(n)) for n in range(20)], "failed": 20})
    assert shown.count("KeyError: '") == 7
    assert shown.endswith("… and 13 more failures")


def test_of_a_long_function_the_beginning_and_the_lines_before_the_failing_one_are_shown():
    shown = trace_text({"failures": [failure("NOV")]})
    assert "def convert(m):" in shown
    assert "step_59()" in shown
    assert "step_30()" not in shown
    assert "KeyError: 'NOV'" in shown
