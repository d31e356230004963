"""Questions about installed libraries, asked of a script in the sandbox: JSON in, one marked line of JSON out."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from sandbox.base import ExecResult

SECONDS = 20.0


def ask(run: Callable[[bytes], ExecResult], asked: Mapping[str, Any], amount: int) -> tuple[ExecResult, list[Any]]:
    """Run the script; as many answers as there were questions, None for what could not be told.

    `run` gives the request to the script's stdin. Other output of the script, before the mark, does not count.
    """
    mark = secrets.token_hex(16)
    done = run(json.dumps({"mark": mark, **asked}).encode())
    _, there, rest = done.out.rpartition(mark)
    try:
        answers = json.loads(rest.splitlines()[0]) if there and rest else None
    except (ValueError, RecursionError):
        answers = None
    return done, answers if isinstance(answers, list) and len(answers) == amount else [None] * amount
