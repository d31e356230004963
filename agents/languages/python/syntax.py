"""Python source as a tree, read by one thread at a time.

Python 3.11 counts how deep it is in a tree for the whole process: when another thread, or a finaliser, parses in the
middle of it, the count is off and a sound file ends in SystemError ("AST constructor recursion depth mismatch",
github.com/python/cpython/issues/106905). Tasks run side by side in one worker, so everything here parses through this
door.
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable
from typing import TypeVar

Read = TypeVar("Read")
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)  # what `parse` raises for text that is no Python
TRIES = 5
# Held by whatever parses, Bandit included. A finaliser may want it in the thread that holds it.
TURN = threading.RLock()


def parse(source: str | bytes) -> ast.Module:
    """The module. Raises one of UNREADABLE; a file that Python lost count in every time counts as nested too deep."""
    return _again(lambda: ast.parse(source))


def module(source: str | bytes) -> ast.Module:
    """The module; an empty one for text that is no Python."""
    try:
        return parse(source)
    except UNREADABLE:
        return ast.Module([], [])


def literal(source: str) -> object:
    """The plain value of a literal expression. Raises one of UNREADABLE, and TypeError for a dict with list keys."""
    return _again(lambda: ast.literal_eval(source))


def _again(read: Callable[[], Read]) -> Read:
    for _ in range(TRIES):
        try:
            with TURN:
                return read()
        except SystemError:
            continue
    raise RecursionError("Python lost count of how deep this is nested")
