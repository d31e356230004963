"""Asks Node in the sandbox about its modules and packages: what does not exist."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agents.languages import look_up
from agents.languages.base import Question
from sandbox.base import ExecResult, Sandbox

INSIDE = Path(__file__).parent / "inside" / "look_up.js"
_NAME = re.compile(r"[A-Za-z_$][\w$]{0,80}|node:[a-z0-9_/]{1,60}")
_PARAMETERS = re.compile(r"\([\w$, .=\[\]{}:()\"'>-]{0,200}\)")
_PLACE = re.compile(r"(?:node:)?@?[A-Za-z0-9][\w.@/$-]{0,200}")


def missing_names(sandbox: Sandbox, questions: Sequence[Question]) -> list[str] | None:
    """A sentence about each name that is not there, "" for the others; None when the sandbox has no Node."""
    done, answers = _asked(sandbox, {"uses": questions}, len(questions))
    if done.exit_code in (126, 127) and not any(answers):
        return None
    return [_in_words(answer) for answer in answers]


def public_names_of(sandbox: Sandbox, names: Sequence[str]) -> list[Any]:
    """For each module rows of name, parameters and ""; None for one that is not there. Raises SandboxError."""
    return [_rows(answer) for answer in _asked(sandbox, {"modules": names}, len(names))[1]]


def _rows(answer: Any) -> list[list[str]] | None:
    """Names with their parameters: what else a package made of its own text is left out."""
    if not isinstance(answer, list):
        return None
    rows = [row for row in answer if isinstance(row, list) and len(row) == 3 and all(isinstance(x, str) for x in row)]
    return [
        [name, given if _PARAMETERS.fullmatch(given) else "(…)" if given else "", ""]
        for name, given, _ in rows
        if _NAME.fullmatch(name)
    ]


def _asked(sandbox: Sandbox, asked: Mapping[str, Any], amount: int) -> tuple[ExecResult, list[Any]]:
    source = INSIDE.read_text(encoding="utf-8")
    return look_up.ask(
        lambda request: sandbox.exec(["node", "-e", source], seconds=look_up.SECONDS, stdin=request), asked, amount
    )


def _in_words(answer: Any) -> str:
    """The answer as a sentence made of names alone; empty when it is not of the shape it should have."""
    if not isinstance(answer, dict):
        return ""
    name, place, given = answer.get("missing"), answer.get("of"), answer.get("close")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return ""
    if not isinstance(place, str) or (place and not _PLACE.fullmatch(place)):
        return ""
    listed = given if isinstance(given, list) else []
    near = [each for each in listed if isinstance(each, str) and _NAME.fullmatch(each)]
    what = f"{name} of {place} does not exist in what is installed." if place else f"{name} does not exist."
    return what + (f" Close: {', '.join(near[:3])}." if near else "")
