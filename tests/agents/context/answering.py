"""A sandbox that answers questions about packages with what a test gives it."""

import json
from typing import Any

from sandbox.base import ExecResult
from tests.sandbox.fake_backend import FakeSandbox

# What no question is answered with.
SENSELESS = ["no json", "[]", "{}", "[[1]]", "[7]", '[{"missing": 3}]']


def answering(*answers: str, asked: str = "uses", exit_code: int = 0) -> tuple[FakeSandbox, list[Any]]:
    """Gives the sandbox, and the part `asked` of the questions that it gets."""
    calls: list[Any] = []

    class Box(FakeSandbox):
        def exec(self, argv: Any, *, stdin: Any = b"", **_: Any) -> ExecResult:
            question = json.loads(stdin)
            calls.append(question[asked])
            if exit_code:
                return ExecResult(tuple(argv), exit_code, "", "node: No such file or directory", 0.1)
            return ExecResult(tuple(argv), 0, f"noise\n{question['mark']}{answers[len(calls) - 1]}\n", "", 0.1)

    return Box(lambda argv: ExecResult(argv, 0, "", "", 0.0)), calls
