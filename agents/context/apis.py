"""Names that the installed libraries do not have, found before a test run is spent on them.

The libraries are looked at where the code will run, inside of the sandbox: the engine imports none of them. What comes
back is text from packages, so only names go on from it: no docstring and no default value reaches a prompt from here.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agents.context.uses import Use, uses_of
from sandbox.base import ExecResult, Sandbox
from sandbox.pytest_run import RunsScripts

INSIDE = Path(__file__).parent / "inside" / "look_up.py"
SECONDS = 20.0
MOST = 8  # problems told at once
KEPT = 20_000  # answers remembered in this process
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,120}")
_PARAMETERS = re.compile(r"\([A-Za-z0-9_, *=…]{0,300}\)")

Question = tuple[str, tuple[str, ...], tuple[str, ...] | None]


class ApiCheck:
    """Asks a sandbox about names, each only once for the same packages. Safe to share among threads."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Question], dict[str, Any] | None] = {}

    def problems(
        self, files: Mapping[str, str], *, local: Iterable[str], sandbox: Callable[[], Sandbox], scope: str
    ) -> list[str]:
        """One line for each use of something that is not there; nothing when that cannot be told.

        `local` are the repository's own modules, `scope` names the packages that the sandbox has. The sandbox is made
        only when there is something to ask. Raises SandboxError when it broke.
        """
        own = frozenset(local)
        uses = [
            (path, use) for path, text in sorted(files.items()) if path.endswith(".py") for use in uses_of(text, own)
        ]
        questions = sorted({_question(use) for _, use in uses}, key=repr)
        new = [question for question in questions if (scope, question) not in self._known]
        if new:
            if len(self._known) > KEPT:
                self._known.clear()
            for question, answer in zip(new, _asked(sandbox(), new), strict=True):
                self._known[(scope, question)] = answer
        found: list[str] = []
        for path, use in uses:
            answer = self._known.get((scope, _question(use)))
            words = _in_words(answer) if answer is not None else ""
            line = f"{path}:{use.line}: {words}"
            if words and not any(words in earlier for earlier in found):
                found.append(line)
        return found[:MOST]


def _question(use: Use) -> Question:
    return use.module, use.attributes, use.keywords


def _asked(sandbox: Sandbox, questions: Sequence[Question]) -> list[dict[str, Any] | None]:
    answers = look_up(sandbox, {"uses": questions}, len(questions))
    return [answer if isinstance(answer, dict) else None for answer in answers]


def look_up(sandbox: Sandbox, asked: Mapping[str, Any], amount: int) -> list[Any]:
    """Ask inside/look_up.py; as many answers as there were questions, None for what could not be told.

    Raises SandboxUnavailable when the sandbox broke.
    """
    mark = secrets.token_hex(16)
    request = json.dumps({"mark": mark, **asked}).encode()
    source = INSIDE.read_text(encoding="utf-8")
    if isinstance(sandbox, RunsScripts):
        done: ExecResult = sandbox.run_script(source, seconds=SECONDS, stdin=request)
    else:
        done = sandbox.exec(["python", "-c", source], seconds=SECONDS, stdin=request)
    _, there, rest = done.out.rpartition(mark)
    try:
        answers = json.loads(rest.splitlines()[0]) if there and rest else None
    except (ValueError, RecursionError):
        answers = None
    return answers if isinstance(answers, list) and len(answers) == amount else [None] * amount


def _in_words(answer: Mapping[str, Any]) -> str:
    """The answer as a sentence made of names alone; empty when it is not of the shape it should have."""
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


shared = ApiCheck()
