"""What is known of one failure, whatever tool reported it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

WORKSPACE = "/workspace"
MAX_FRAMES = 60
MAX_PROBLEMS = 50
_LIBRARY = re.compile(
    r"(^|/)(site-packages|dist-packages|node_modules)/|/lib(?:64)?/python\d|^node:|^<|^internal/|/\.pyenv/|^/usr/lib/|\.asar/"
)
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Frame:
    """One step of a trace. `file` is relative to the workspace where it lies in it."""

    file: str
    line: int
    function: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """One failure: the tool that reported it, the kind of error (an exception's name or an error code) and where.

    `file` and `line` are the deepest place inside the workspace, "" and 0 when the trace names none; `test` is the name
    of the failed test, `cause` the kind of the exception behind this one.
    """

    tool: str
    kind: str
    message: str
    file: str = ""
    line: int = 0
    test: str = ""
    cause: str = ""
    frames: tuple[Frame, ...] = ()

    @property
    def place(self) -> str:
        """`file:line`, or what of it is known."""
        return f"{self.file}:{self.line}" if self.line else self.file


def relative(path: str, root: str = WORKSPACE) -> str:
    """The path as the workspace knows it; a path outside of it stays as it is."""
    path = path.removeprefix("file://").replace("\\", "/")
    prefix = root.rstrip("/") + "/"
    return path.removeprefix(prefix).removeprefix("./")


def is_library(path: str) -> bool:
    """True for files that came with the language or an installed package."""
    return bool(_LIBRARY.search(path))


def own_place(frames: Sequence[Frame]) -> Frame | None:
    """The deepest frame in code of the workspace; None when there is none."""
    return next((frame for frame in reversed(frames) if not is_library(frame.file)), None)


def one_line(text: str, limit: int = 400) -> str:
    """The text on one line, bounded."""
    return _SPACE.sub(" ", text[: 4 * limit]).strip()[:limit]


def problem(
    tool: str, kind: str, message: str, frames: Sequence[Frame] = (), *, test: str = "", cause: str = ""
) -> Problem:
    """A problem at the deepest own frame."""
    place = own_place(frames)
    where = (place.file, place.line) if place else ("", 0)
    return Problem(tool, kind, one_line(message), *where, test, cause, tuple(frames)[-MAX_FRAMES:])
