"""Each row of the TODO mode's requirements, at a real terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.aiswe_site.chat.conftest import ChatTerminal
from tests.replying_model import ReplyingModel

pytestmark = [pytest.mark.bubblewrap, pytest.mark.timeout(300), pytest.mark.slow]
ASKED = "[n] "


def said(message: str, **more: Any) -> str:
    return json.dumps({"message": message, **more})


def todo(description: str, expected: str) -> dict[str, str]:
    return {"description": description, "expected": expected, "status": "pending"}


def judged(accepted: bool, feedback: str) -> str:
    return said("I compare.", judgement={"accepted": accepted, "feedback": feedback})


PLAN = said("Two steps.", todos=[todo("Write greet.py", "It prints a greeting"), todo("Run it", "Hello is printed")])
WRITE = f'{said("I write it.")}\n<<WRITE: greet.py>>\nprint("Hello")\n<</WRITE>>'
RUN = said("I run it.", tool={"name": "run_command", "input": {"command": "python greet.py"}})
DONE = said("The result is there.", complete=True)
END = said("All of it is complete.", complete=True)


@pytest.fixture
def fresh(home: Path, model: ReplyingModel) -> Iterator[ChatTerminal]:
    terminal = ChatTerminal(home, model, "--new")
    terminal.until()
    yield terminal
    terminal.end()


def test_todos_are_shown_confirmed_worked_on_judged_and_the_mode_ends_with_the_task(fresh: ChatTerminal) -> None:
    """LEG-1: a no of the judge is a retry with its feedback."""
    replies = [PLAN, WRITE, DONE, judged(False, "It should greet in upper case"), DONE]
    replies += [judged(True, "As expected"), RUN, DONE, judged(True, "Hello is printed"), END]
    asked = fresh.say("/todo Greet everybody with a script and run it", *replies, until=ASKED)
    assert "[ ] pending: TODO 1: Write greet.py" in asked
    assert "Expected: It prints a greeting" in asked
    fresh.child.sendline("y")
    shown = fresh.until()
    assert "Not accepted:" in shown
    assert "It should greet in upper case" in shown
    assert sum("It should greet in upper case" in str(prompt) for prompt in fresh.model.prompts), "the model is told"
    assert "All of it is complete." in shown
    assert "Mode: todo." in asked


def test_half_a_json_becomes_placeholders_and_none_is_asked_for_again(fresh: ChatTerminal) -> None:
    """LEG-2."""
    before = len(fresh.model.prompts)
    half = "Sure! ```json\n{'message': 'One step', 'todos': [{'status': 'pending'},]}\n```"
    asked = fresh.say("/todo Do something", "I will think about it.", half, until=ASKED)
    assert "(no description given)" in asked
    assert "(no expected result given)" in asked
    assert len(fresh.model.prompts) == before + 2
    fresh.child.sendline("n")
    assert "{" not in fresh.until()


def test_each_tool_is_shown_with_input_and_output_and_an_error_with_what_can_be_done_next(fresh: ChatTerminal) -> None:
    """LEG-3 and LEG-4: search, read, edit and terminal; every call is shown the task, the TODOs and what was done."""
    tools = [
        said("I look.", tool={"name": "find_files", "input": {"words": "README"}}),
        said("I read.", tool={"name": "read_file", "input": {"path": "missing.md"}}),
        WRITE,
        said(
            "I edit.",
            tool={
                "name": "edit_file",
                "input": {"path": "greet.py", "search": 'print("Hello")', "replace": "print(1 / 0)"},
            },
        ),
        RUN,
        said(
            "I mend.",
            tool={"name": "edit_file", "input": {"path": "greet.py", "search": "print(1 / 0)", "replace": "print(7)"}},
        ),
        RUN,
    ]
    plan = said("One step.", todos=[todo("Write and run greet.py", "7 is printed")])
    fresh.say("/todo Print seven", plan, *tools, DONE, judged(True, "7 is printed"), END, until=ASKED)
    fresh.child.sendline("y")
    shown = fresh.until()
    assert "README.md" in shown
    assert "File not found at 'missing.md'" in shown
    assert "Next: adjust" in shown
    assert "ZeroDivisionError" in shown
    assert "exec python greet.py" in shown
    last = str(fresh.model.prompts[-3])
    assert "Print seven" in last
    assert "Write and run greet.py" in last
    assert "7" in last
