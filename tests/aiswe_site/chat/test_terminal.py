"""What a person sees in the terminal: the model's words once, what was done in one line each, every change once."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from agents.conversation.contracts import PermissionRequest
from agents.conversation.permission import diff_of
from agents.conversation.state import Command, FileChange, ToolResult
from agents.workspace.git import GitError
from aiswe_site.chat.loop import ChatLoop, percentiles
from aiswe_site.chat.terminal import Terminal

CHANGE = FileChange("hello.py", None, "print('Hello')\n")
WRITE = Command("write", "hello.py", CHANGE.new or "")


@pytest.fixture
def shown() -> StringIO:
    return StringIO()


@pytest.fixture
def terminal(shown: StringIO) -> Terminal:
    return Terminal(Console(file=shown, width=100), attended=True)


def written(**more: Any) -> ToolResult:
    return ToolResult("write", "write hello.py", True, "OK: created hello.py, 1 lines.", changes=[CHANGE], **more)


def test_a_change_is_shown_with_the_question_about_it_or_after_it_was_made_without_one(
    terminal: Terminal, shown: StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", lambda _: "y")
    for asked in (True, False):
        terminal.started(WRITE)
        if asked:
            wish = PermissionRequest("write", "create hello.py", detail=diff_of(CHANGE), changes=(CHANGE,))
            assert terminal.permit(wish) == "once"
        terminal.finished(WRITE, written())
        assert shown.getvalue().count("+print('Hello')") == 1
        shown.truncate(shown.seek(0))


def test_somebody_who_said_no_is_not_told_what_the_model_is_told(terminal: Terminal, shown: StringIO) -> None:
    told = "ERROR: The person said no. Do not try it again; ask what is wanted, or go on without."
    terminal.finished(WRITE, ToolResult("write", "write hello.py", False, told, next_steps=["skip"], refused=True))
    assert shown.getvalue() == "✕ write hello.py: you said no\n"


def test_a_failure_is_named_once_with_its_reason_and_what_can_be_done(terminal: Terminal, shown: StringIO) -> None:
    result = ToolResult("read", "read cart.py", False, "ERROR: File not found at 'cart.py'.", next_steps=["skip"])
    terminal.finished(Command("read", "cart.py"), result)
    rows = [row.strip() for row in shown.getvalue().splitlines()]
    assert rows == ["✕ read cart.py (0.0 s)", "Error: File not found at 'cart.py'.", "Next: skip"]


def test_the_median_of_two_answers_is_the_lower_one() -> None:
    assert percentiles([3.0, 1.0]) == "P50 1.0 s · P95 3.0 s of 2 answers"


def test_a_command_that_fails_has_its_sentence_and_the_session_goes_on(terminal: Terminal, shown: StringIO) -> None:
    class Broken:
        def diff(self) -> str:
            raise GitError("the repository cannot be read")

    ChatLoop(Broken(), terminal, Path("log")).run(iter(["/diff", "/mode x"]))  # type: ignore[arg-type]
    assert shown.getvalue().splitlines() == ["✕ the repository cannot be read", "The modes are chat, todo and review."]
