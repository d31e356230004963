"""Each row of the stepwise requirements, at a real terminal, with their own examples as prompts."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.aiswe_site.chat.conftest import ChatTerminal
from tests.replying_model import ReplyingModel

pytestmark = [pytest.mark.bubblewrap, pytest.mark.timeout(300), pytest.mark.slow]
TEST = "from adder import add\n\n\ndef test_add() -> None:\n    assert add(1, 2) == 3\n"
FACTORIAL = "```python\ndef factorial(n: int) -> int:\n    return 1 if n < 2 else n * factorial(n - 1)\n```"


@pytest.fixture(autouse=True)
def afresh(chat: ChatTerminal) -> None:
    """Each test begins without leave, and without what was said in others."""
    chat.say("/revoke")
    chat.say("/clear")


def test_a_prompt_is_answered_in_rendered_markdown_and_logged(chat: ChatTerminal) -> None:
    shown = chat.say("Write a Python function for factorial", f"Here it is, **recursive**:\n\n{FACTORIAL}")
    assert "def factorial(n: int) -> int:" in shown
    assert "**recursive**" not in shown
    assert "```" not in shown
    assert "the model reads and thinks" in shown
    assert "Nothing was written or run: this code is only shown." in shown
    assert "P50" in shown
    assert "P95" in shown
    row = chat.log()[-1]
    assert sorted(row) == ["prompt_text", "response_text", "timestamp"]
    assert row["prompt_text"] == "Write a Python function for factorial"
    assert "def factorial" in row["response_text"]
    assert time.strptime(row["timestamp"], "%Y-%m-%dT%H:%M:%SZ")
    assert chat.model.options["temperature"] == 0.2


def test_the_conversation_is_remembered_until_it_is_cleared(chat: ChatTerminal) -> None:
    chat.say("Write a Python function for factorial", FACTORIAL)
    question = "Now use that function to calculate the factorial of 5."
    chat.say(question, "120")
    assert "def factorial" in str(chat.model.prompts[-1])
    assert "History cleared." in chat.say("/clear")
    chat.say(question, "I do not have that function.")
    assert "def factorial" not in str(chat.model.prompts[-1])
    assert chat.log()[-1]["prompt_text"] == question, "only the prompt and the final reply are logged"


def test_a_file_is_written_after_a_yes_and_read_again(chat: ChatTerminal) -> None:
    write = "<<WRITE: hello.py>>\nprint('Hello, World!')\n<</WRITE>>"
    asked = chat.say(
        "Create a file named hello.py in my workspace that prints 'Hello, World!'", write, "It is there.", until="[n] "
    )
    assert "+print('Hello, World!')" in asked
    assert "Create hello.py? (y = yes, n = no, s = yes to every write of this session)" in asked
    assert "<<WRITE" not in asked
    chat.child.sendline("y")
    assert "write hello.py" in chat.until()
    chat.say("What is in the hello.py file?", "<<READ: hello.py>>", "It prints a greeting.")
    assert "print('Hello, World!')" in chat.model.last()


def test_what_is_pasted_is_one_prompt_and_answers_no_question(chat: ChatTerminal) -> None:
    pasted = "\n".join(["What went wrong?", *(f"row {number} of a log" for number in range(300)), "y"])
    asked = chat.say(f"\x1b[200~{pasted}\x1b[201~", "<<DELETE: README.md>>", "Never mind.", until="[n] ")
    assert "Delete README.md?" in asked
    chat.child.sendline("n")
    chat.until()
    assert chat.log()[-1]["prompt_text"] == pasted
    chat.model.answer(["<<DELETE: README.md>>", "Never mind."])
    chat.child.send("Take it away\ry\r")
    assert "you said no" not in chat.until("[n] ")
    chat.child.sendline("")
    assert "you said no" in chat.until()


def test_what_lies_outside_of_the_workspace_is_denied(chat: ChatTerminal) -> None:
    shown = chat.say("Read the file ../../my_secrets.txt", "<<READ: ../../my_secrets.txt>>", "Access is denied.")
    assert "Access denied" in shown
    assert "Access denied" in chat.model.last()


def test_code_is_run_in_a_sandbox_and_its_error_mended(chat: ChatTerminal) -> None:
    chat.say("/allow write")
    chat.say("/allow exec")
    shown = chat.say(
        "Write a Python script in fibonacci.py to print the first 10 Fibonacci numbers, then run it.",
        "<<WRITE: fibonacci.py>>\na, b = 0, 1\nfor _ in range(10):\n    print(a)\n    a, b = b, a + b\n<</WRITE>>\n"
        "<<EXEC: python workspace/fibonacci.py>>",
        "These are the numbers.",
    )
    assert "34" in shown
    assert "34" in chat.model.last()
    shown = chat.say(
        "Write a Python script in error.py that divides by zero, then run it.",
        "<<WRITE: error.py>>\nprint(1 / 0)\n<</WRITE>>\n<<EXEC: python error.py>>",
        "It divides by zero.",
    )
    assert "+print(1 / 0)" in shown, "what is written without a question is shown too"
    assert "ZeroDivisionError" in shown
    assert "Not mended: exec python error.py: exit code: 1" in shown
    shown = chat.say(
        "Okay, fix the bug in error.py and run it again.",
        "<<EDIT: error.py>>\n<<<<<<< SEARCH\nprint(1 / 0)\n=======\nprint(1 / 4)\n>>>>>>> REPLACE\n<</EDIT>>"
        "<<EXEC: python error.py>>",
        "Fixed.",
    )
    assert "0.25" in shown


def test_a_search_without_a_key_says_so_and_the_session_goes_on(chat: ChatTerminal) -> None:
    shown = chat.say("What is the latest Flask?", '<<SEARCH: "latest stable Flask version">>', "I cannot search.")
    assert "Web search is off" in shown
    assert "120" in chat.say("Still there?", "120")


def test_a_destructive_step_asks_first_and_no_is_the_default(chat: ChatTerminal) -> None:
    question = '<<CONFIRM: "This will delete all files. Are you absolutely sure? [y/n]">>'
    asked = chat.say("Delete the workspace.", question, "I leave them.", until="[n] ")
    assert "The model asks: This will delete all files." in asked
    chat.child.sendline("")
    chat.until()
    assert "The person answered: no." in chat.model.last()


def test_a_goal_is_planned_approved_and_worked_off(chat: ChatTerminal) -> None:
    asked = chat.say(
        "/plan Create a Python package that has a function to add two numbers and include a simple test for it.",
        "1. Write adder.py\n2. Write test_adder.py and run it",
        "<<WRITE: adder.py>>\ndef add(a: int, b: int) -> int:\n    return a + b\n<</WRITE>>",
        "The function is there.",
        f"<<WRITE: test_adder.py>>\n{TEST}<</WRITE>>\n<<EXEC: python -m pytest -q>>",
        "All tests pass.",
        until="[n] ",
    )
    assert "[ ] 1. Write adder.py" in asked
    chat.child.sendline("yes")
    shown = chat.until()
    assert "[0/2]: 1. Write adder.py" in shown
    assert "1 passed" in shown
    assert "The plan is done." in shown
    assert "Tests: 1 passed" in chat.say("/check")
    assert "Merged" in chat.say("/merge")


def test_what_is_wrong_has_its_sentence_and_the_session_stays_usable(chat: ChatTerminal) -> None:
    assert "There is no command /foo; /help lists them." in chat.say("/foo")
    assert "/plan GOAL" in chat.say("/help")
    assert "There is nothing to go on with." in chat.say("/retry")
    assert "The model made no plan of it" in chat.say("/plan Something", "No.", "No.", "No.")
    assert "cut off" not in chat.say("/files")
    chat.model.fail = True
    broken = chat.say("Are you there?")
    assert "✕" in broken
    assert "/retry goes on with it" in broken
    chat.model.fail = False
    assert "Yes, I am." in chat.say("/retry", "Yes, I am.")


def test_a_killed_chat_comes_back_where_it_was(home: Path, model: ReplyingModel) -> None:
    killed = ChatTerminal(home, model, "--new", "--allow", "write")
    number = killed.until().split()[1]
    killed.say("Create config.py", "<<WRITE: config.py>>\nDEBUG = True\n<</WRITE>>", "Created config.py.")
    assert killed.child.pid is not None
    os.kill(killed.child.pid, signal.SIGKILL)
    killed.end()
    again = ChatTerminal(home, model, "--resume", number)
    assert f"Going on with chat {number}" in again.until()
    again.say("What was the file we created in our last session?", "config.py")
    assert "write config.py: ok" in str(model.prompts[-1])
    assert "config.py" in again.say("/files")
    assert f"aiswe chat --resume {number}" in again.leave()


def test_what_is_piped_in_is_answered_and_nothing_is_done_that_was_not_allowed(
    home: Path, model: ReplyingModel, piped: Any
) -> None:
    model.answer(["<<WRITE: piped.py>>\nx = 1\n<</WRITE>>", "Refused.", "Hello."])
    done = piped("Write piped.py\nHello?\n", "--new")
    assert done.returncode == 0
    assert "Refused: nobody is asked (--allow write)." in done.stdout
    assert "Hello." in done.stdout
    assert "\x1b" not in done.stdout
