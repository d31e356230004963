"""Asks a Python in the sandbox about its libraries: what does not exist, and what a module offers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agents.languages import look_up
from agents.languages.base import Question
from sandbox.base import ExecResult, Sandbox
from sandbox.test_script import RunsScripts

INSIDE = Path(__file__).parent / "inside" / "look_up.py"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,120}")
_PARAMETERS = re.compile(r"\([A-Za-z0-9_, *=…]{0,300}\)")


def missing_names(sandbox: Sandbox, questions: Sequence[Question]) -> list[str]:
    """A sentence about each name that is not there, "" for the others."""
    return [_in_words(answer) for answer in _asked(sandbox, {"uses": questions}, len(questions))]


def public_names_of(sandbox: Sandbox, names: Sequence[str]) -> list[Any]:
    """For each module rows of name, signature and first line of its documentation."""
    return _asked(sandbox, {"modules": names}, len(names))


def _asked(sandbox: Sandbox, asked: Mapping[str, Any], amount: int) -> list[Any]:
    source = INSIDE.read_text(encoding="utf-8")

    def run(request: bytes) -> ExecResult:
        if isinstance(sandbox, RunsScripts):
            return sandbox.run_script(source, seconds=look_up.SECONDS, stdin=request)
        return sandbox.exec(["python", "-c", source], seconds=look_up.SECONDS, stdin=request)

    return look_up.ask(run, asked, amount)[1]


def _in_words(answer: Any) -> str:
    """The answer as a sentence made of names alone; empty when it is not of the shape it should have."""
    if not isinstance(answer, dict):
        return ""
    name, keyword = answer.get("missing"), answer.get("keyword")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return ""
    shown = []
    given = answer.get("close")
    for pair in given if isinstance(given, list) else []:
        if isinstance(pair, list) and len(pair) == 2 and _NAME.fullmatch(str(pair[0])):
            taken = str(pair[1])
            shown.append(str(pair[0]) + (taken if _PARAMETERS.fullmatch(taken) else ""))
    if isinstance(keyword, str):
        if not _NAME.fullmatch(keyword):
            return ""
        return f"{name} takes no argument {keyword}." + (f" It is {shown[0]}." if shown else "")
    return f"{name} does not exist in the installed library." + (f" Close: {', '.join(shown)}." if shown else "")
