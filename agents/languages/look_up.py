"""Questions about installed libraries, asked of a script in the sandbox."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sandbox.base import ExecResult
from sandbox.marked_answer import marked_answer

SECONDS = 20.0


def ask(run: Callable[[bytes], ExecResult], asked: Mapping[str, Any], amount: int) -> tuple[ExecResult, list[Any]]:
    """Run the script as marked_answer() does; as many answers as there were questions.

    None stands for what could not be told.
    """
    done, answers = marked_answer(run, asked)
    return done, answers if isinstance(answers, list) and len(answers) == amount else [None] * amount
