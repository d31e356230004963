"""Reads what failed from the output of any command.

Test runners and tools first, then programs that ended in an error.
"""

from __future__ import annotations

import re
from dataclasses import replace

from agents.languages.problems import MAX_PROBLEMS, WORKSPACE, Problem
from agents.languages.registry import languages

ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
MAX_CHARS = 200_000  # of each end: a trace can be megabytes, what matters stands at its head or its tail
MAX_LINE = 2_000


def read_problems(output: str, *, root: str = WORKSPACE) -> tuple[Problem, ...]:
    """What failed, in the order of the output; () when nothing in it looks like a failure. Never raises.

    `root` is the folder the command ran in: paths below it are told relative to it.
    """
    text = _bounded(output)
    known = languages()
    readers = [*(one.read_tools for one in known), *(one.read_program for one in known)]
    found = next(filter(None, (reader(text, root) for reader in readers)), [])
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
