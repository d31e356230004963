"""The door: any output of a failed command in, what is known of its failures out."""

from __future__ import annotations

import re
from dataclasses import replace

from agents.repair.traces.base import MAX_PROBLEMS, WORKSPACE, Problem
from agents.repair.traces.javascript import ANSI, read_node, read_runner, read_tsc
from agents.repair.traces.packages import read_npm, read_pip
from agents.repair.traces.pytest import is_pytest, read_pytest
from agents.repair.traces.python import read_python, read_unittest

MAX_CHARS = 200_000  # of each end: a trace can be megabytes, what matters stands at its head or its tail
MAX_LINE = 2_000


def read_problems(output: str, *, root: str = WORKSPACE) -> tuple[Problem, ...]:
    """What failed, in the order of the output; () when nothing in it looks like a failure. Never raises.

    `root` is the folder the command ran in: paths below it are told relative to it.
    """
    text = _bounded(output)
    if is_pytest(text):
        found = read_pytest(text, root) or read_python(text, root)
    else:
        found = (
            read_unittest(text, root)
            or read_runner(text, root)
            or read_tsc(text, root)
            or read_npm(text)
            or read_python(text, root)
            or read_node(text, root)
            or read_pip(text)
        )
    inside = re.compile(rf"(?:file://)?{re.escape(root.rstrip('/'))}(?:/|(?![\w.-]))") if root.strip("/") else None
    if inside is None:
        return tuple(found[:MAX_PROBLEMS])
    return tuple(replace(one, message=inside.sub("", one.message)) for one in found[:MAX_PROBLEMS])


def _bounded(output: str) -> str:
    text = ANSI.sub("", output if len(output) <= 2 * MAX_CHARS else output[:MAX_CHARS] + "\n" + output[-MAX_CHARS:])
    text = text.replace("\r\n", "\n")
    if len(text) > MAX_LINE:  # one endless line must not make a pattern slow
        text = "\n".join(line[:MAX_LINE] for line in text.split("\n"))
    return text
