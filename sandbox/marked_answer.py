"""One question to a script in a sandbox: JSON on its standard input, one marked line of JSON on its standard output."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from sandbox.base import ExecResult


def marked_answer(run: Callable[[bytes], ExecResult], asked: Mapping[str, Any]) -> tuple[ExecResult, Any]:
    """Run the script; what it answered, None when that cannot be told.

    `run` gives the request to the script's stdin; its `mark` stands before the answer. Other output does not count.
    """
    mark = secrets.token_hex(16)
    done = run(json.dumps({"mark": mark, **asked}).encode())
    _, there, rest = done.out.rpartition(mark)
    try:
        return done, json.loads(rest.splitlines()[0]) if there and rest else None
    except (ValueError, RecursionError):
        return done, None
