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
