"""Names that Node or an installed package does not have, found before a test run is spent on them.

Node is asked inside of the sandbox, as Python is for its libraries (agents.context.apis). Only names come back.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from agents.context.apis import KEPT, MOST, SECONDS
from agents.context.js_uses import JsUse, js_uses_of
from agents.imports import BROWSER, SCRIPTS
from sandbox.base import Sandbox

INSIDE = Path(__file__).parent / "inside" / "look_up.js"
_NAME = re.compile(r"[A-Za-z_$][\w$]{0,80}|node:[a-z0-9_/]{1,60}")
_PLACE = re.compile(r"(?:node:)?@?[A-Za-z0-9][\w.@/$-]{0,200}")

_Question = tuple[str, bool, tuple[str, ...]]


@dataclass
class JsCheck:
    """Asks a sandbox about names, each only once for the same packages."""

    _known: dict[tuple[str, _Question], Mapping[str, Any] | None] = field(default_factory=dict)
    _without: set[str] = field(default_factory=set)  # scopes whose sandbox has no Node

    def problems(
        self, files: Mapping[str, str], *, sandbox: Callable[[], Sandbox], scope: str
    ) -> tuple[list[str], bool]:
        """One line for each use of something that is not there, and whether it could be looked up at all.

        False means that there is no Node in the sandbox. Scripts for browsers are left alone. Raises SandboxError.
        """
        uses = [
            (path, use) for path, text in sorted(files.items()) if _for_node(path) for use in js_uses_of(path, text)
        ]
        questions = sorted({_question(use) for _, use in uses})
        if scope in self._without and questions:
            return [], False
        new = [question for question in questions if (scope, question) not in self._known]
        if new:
            answers = _asked(sandbox(), new)
            if answers is None:
                self._without.add(scope)
                return [], False
            if len(self._known) > KEPT:
                self._known.clear()
            for question, answer in zip(new, answers, strict=True):
                self._known[(scope, question)] = answer
        found: dict[str, str] = {}
        for path, use in uses:
            words = _in_words(self._known.get((scope, _question(use))))
            if words:
                found.setdefault(words, f"{path}:{use.line}: {words}")
        return list(found.values())[:MOST], True


def _for_node(path: str) -> bool:
    return path.endswith(SCRIPTS) and not BROWSER & set(PurePosixPath(path).parts[:-1])


def _question(use: JsUse) -> _Question:
    return use.module, use.esm, use.attributes


def _asked(sandbox: Sandbox, questions: Sequence[_Question]) -> list[Mapping[str, Any] | None] | None:
    """An answer for each question, None for what could not be told; None instead of all when there is no Node."""
    mark = secrets.token_hex(16)
    request = json.dumps({"mark": mark, "uses": questions}).encode()
    done = sandbox.exec(["node", "-e", INSIDE.read_text(encoding="utf-8")], seconds=SECONDS, stdin=request)
    _, there, rest = done.out.rpartition(mark)
    if not there and done.exit_code in (126, 127):
        return None
    try:
        answers = json.loads(rest.splitlines()[0]) if there and rest else None
    except (ValueError, RecursionError):
        answers = None
    if not isinstance(answers, list) or len(answers) != len(questions):
        return [None] * len(questions)
    return [answer if isinstance(answer, dict) else None for answer in answers]


def _in_words(answer: Mapping[str, Any] | None) -> str:
    """The answer as a sentence made of names alone; empty when it is not of the shape it should have."""
    if answer is None:
        return ""
    name, place, given = answer.get("missing"), answer.get("of"), answer.get("close")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return ""
    if not isinstance(place, str) or (place and not _PLACE.fullmatch(place)):
        return ""
    near = (
        [each for each in given if isinstance(each, str) and _NAME.fullmatch(each)] if isinstance(given, list) else []
    )
    what = f"{name} of {place} does not exist in what is installed." if place else f"{name} does not exist."
    return what + (f" Close: {', '.join(near[:3])}." if near else "")


shared = JsCheck()
