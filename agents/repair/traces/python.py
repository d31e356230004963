"""Tracebacks as Python prints them, alone or in the report of unittest."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agents.repair.traces.base import Frame, Problem, problem, relative

ERROR = re.compile(
    r"^(?P<kind>(?:[A-Za-z_]\w*\.){0,8}(?:[A-Za-z_]\w*(?:Error|Exception|Warning|Exit|Interrupt|Iteration|Group|Failed|Timeout|Refused|Missing|NotFound)"
    r"|[A-Z]\w*))(?:: (?P<message>.*))?$"
)
_FILE = re.compile(r'^\s*File "([^"\n]{1,4096})", line (\d{1,9})(?:, in (.{1,300}))?$')
_HEAD = "Traceback (most recent call last):"
_GROUP_HEAD = "Exception Group Traceback (most recent call last):"
_MARGIN = re.compile(r"^[\s|+]*(?:\+-+ ?\d* ?-*)?")
_DIRECT = "The above exception was the direct cause of the following exception:"
_DURING = "During handling of the above exception, another exception occurred:"
_TESTCASE = re.compile(r"^(?:FAIL|ERROR): (\S+)(?: \(([^)\n]{1,400})\))?")
_KILLED = re.compile(r"\b(Killed|Segmentation fault|Aborted|Bus error|Illegal instruction)\b(?:\s+\(core dumped\))?")


def frame_of(line: str, root: str) -> Frame | None:
    """The frame that a `File "…", line N` line names."""
    found = _FILE.match(line)
    return Frame(relative(found[1], root), int(found[2]), found[3] or "") if found else None


def tracebacks(text: str, root: str) -> Iterator[Problem]:
    """Every exception that was printed, the last of a chain with the kind of the one behind it."""
    frames: list[Frame] = []
    inside, chained, earlier, code = False, "", "", ""
    for raw in text.splitlines():
        line = _MARGIN.sub("", raw, count=1) if "|" in raw[:40] or raw.lstrip().startswith("+") else raw
        bare = line.strip()
        if bare.endswith((_HEAD, _GROUP_HEAD)):
            frames, inside = [], True
        elif bare in (_DIRECT, _DURING):
            chained = earlier
        elif (frame := frame_of(line, root)) is not None:
            frames.append(frame)
            inside, code = True, ""
        elif inside and (found := ERROR.match(bare)) and not line.startswith("    "):
            if found["kind"].rpartition(".")[2].endswith("ExceptionGroup"):
                earlier, frames, inside = found["kind"], [], True  # its members follow, each with a trace of its own
                continue
            earlier = found["kind"]
            message = with_code(found["kind"], found["message"] or "", code)
            yield problem("python", found["kind"], message, frames, cause=chained)
            frames, inside, chained = [], False, ""
        elif inside and not code:
            code = bare


def with_code(kind: str, message: str, code: str) -> str:
    """Of a syntax error the line too: "invalid syntax" alone is the same for every slip."""
    return f"{message}: {code}" if code and kind in ("SyntaxError", "IndentationError", "TabError") else message


def outermost(problems: list[Problem]) -> list[Problem]:
    """Without the exceptions that another one of the list was raised from."""
    kept: list[Problem] = []
    for one in problems:
        if one.cause and kept and kept[-1].kind == one.cause:
            kept.pop()
        kept.append(one)
    return kept


def read_python(text: str, root: str) -> list[Problem]:
    """Uncaught exceptions and syntax errors of a Python program; a program that was killed."""
    found = outermost(list(tracebacks(text, root)))
    if not found and (killed := _KILLED.search(text[-2_000:])):
        found = [Problem("python", killed[1], killed[1])]
    return found


def read_unittest(text: str, root: str) -> list[Problem]:
    """Failures in the report of unittest."""
    found = []
    for block in re.split(r"^={20,}$", text, flags=re.M)[1:]:
        head = _TESTCASE.match(block.lstrip("\n"))
        if head is None:
            continue
        raised = outermost(list(tracebacks(re.split(r"^-{20,}\nRan \d", block, maxsplit=1, flags=re.M)[0], root)))
        name = head[1] if "_FailedTest" in (head[2] or "") else head[2] or head[1]
        last = raised[-1] if raised else Problem("unittest", "Failure", "")
        found.append(Problem("unittest", last.kind, last.message, last.file, last.line, name, last.cause, last.frames))
    return found
