"""What the model is told about a failing run."""

from agents.repair.feedback import trace_text


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
