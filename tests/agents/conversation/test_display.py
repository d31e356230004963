"""Plans, TODOs, tool calls, results and errors read alike everywhere."""

from agents.conversation.display import MARKS, call_lines, plan_lines, result_lines, todo_lines, todo_markdown
from agents.conversation.state import ChatPlan, Command, PlanStep, ToolResult

STEP = PlanStep(1, "Write hello.py", "It prints a greeting", "pending")


def test_a_todo_shows_description_expected_result_and_its_state_in_words() -> None:
    for state, (_, word) in MARKS.items():
        step = PlanStep(2, "Write hello.py", "It prints a greeting", state)
        for text in ("\n".join(todo_lines(step)), todo_markdown(step)):
            assert "TODO 2: Write hello.py" in text
            assert "Expected: It prints a greeting" in text
            assert word in text


def test_a_todo_without_an_expectation_says_so() -> None:
    assert "(no expected result given)" in todo_markdown(PlanStep(1, "Write it"))


def test_a_plan_says_what_each_answer_means_until_it_is_followed() -> None:
    plan = ChatPlan("Greet", [STEP])
    assert plan_lines(plan)[-1] == "Yes: follow it. No, with words: plan it again with these words. No: leave it."
    plan.approved = True
    assert "Yes:" not in "".join(plan_lines(plan))
    plan.question, plan.choices = "TODO 1 failed.", ["retry", "adjust", "skip"]
    assert plan_lines(plan)[-2:] == ["TODO 1 failed.", "Yes: retry. No, with words: adjust. No: skip."]


def test_a_call_shows_the_tool_its_input_and_its_content() -> None:
    command = Command("write", "hello.py", "print('hi')\n")
    assert call_lines(command) == ["Tool: write file", "  Input: hello.py", "  Content: print('hi')"]


def test_an_error_shows_the_tool_its_context_and_the_next_steps() -> None:
    result = ToolResult("exec", "exec python x", False, "ERROR: it broke", next_steps=["retry", "skip"])
    expected = ["Failed: terminal (exec python x)", "  Error: it broke", "  Next: retry · skip"]
    assert result_lines(result) == expected


def test_foreign_text_cannot_steer_a_terminal() -> None:
    result = ToolResult("read", "read a", True, "\x1b[2J```\nout\r\nof it")
    assert "\x1b" not in "".join(result_lines(result))
    assert "\x1b" not in todo_markdown(PlanStep(1, "\x1b[31mred\nTODO 9: x"))
    assert len(todo_lines(PlanStep(1, "a\nb"))) == 2


def test_long_output_is_cut_and_says_so() -> None:
    assert result_lines(ToolResult("exec", "exec x", True, "row\n" * 100))[11] == "    … 60 more lines …"
