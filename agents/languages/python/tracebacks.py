"""Tracebacks as Python prints them, alone or in the report of unittest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from agents.languages.problems import Frame, Problem, problem, relative
from agents.languages.python.dumps import read_doctest, read_fatal

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
_TESTCASE = re.compile(r"^(FAIL|ERROR|UNEXPECTED SUCCESS): (\S+)(?: \(([^)\n]{1,400})\))?")
_AT_ONCE = re.compile(r"Exception Group Traceback|^Exception in thread |^Task exception was never retrieved$", re.M)
_IGNORED = "Exception ignored "
_NOT_STARTED = (
    (
        "SyntaxError",
        re.compile(r"^SyntaxError: (?P<what>.{1,300}?) in file (?P<file>.{1,1024}?) on line (?P<line>\d{1,9})\b", re.M),
    ),
    ("FileNotFoundError", re.compile(r"^\S*python[\d.]*: (?P<what>can't open file '[^'\n]{1,1024}')", re.M)),
    ("ModuleNotFoundError", re.compile(r"^\S*python[\d.]*: (?P<what>No module named \S{1,200})", re.M)),
    ("ModuleNotFoundError", re.compile(r"\(ModuleNotFoundError: (?P<what>No module named '[^'\n]{1,200}')\)$", re.M)),
)
_KILLED = re.compile(r"\b(Killed|Segmentation fault|Aborted|Bus error|Illegal instruction)\b(?:\s+\(core dumped\))?")


def frame_of(line: str, root: str) -> Frame | None:
    """The frame that a `File "…", line N` line names."""
    found = _FILE.match(line)
    return Frame(relative(found[1], root), int(found[2]), found[3] or "") if found else None


def tracebacks(text: str, root: str) -> Iterator[Problem]:
    """Every exception that was printed, the last of a chain with the kind of the one behind it."""
    frames: list[Frame] = []
    group: list[Frame] = []
    inside, chained, earlier, code, before, ignored = False, "", "", "", "", False
    for raw in text.splitlines():
        line = _MARGIN.sub("", raw, count=1) if "|" in raw[:40] or raw.lstrip().startswith("+") else raw
        bare = line.strip()
        if bare.endswith((_HEAD, _GROUP_HEAD)):
            frames, inside = [], True
            ignored = before.startswith(_IGNORED)  # in __del__ and the like: the program went on
        elif bare in (_DIRECT, _DURING):
            chained = earlier
        elif (frame := frame_of(line, root)) is not None:
            frames.append(frame)
            inside, code = True, ""
        elif inside and (found := ERROR.match(bare)) and not line.startswith("    "):
            if found["kind"].rpartition(".")[2].endswith("ExceptionGroup"):
                # Its members follow: those that were raised have a trace of their own, the others only its.
                earlier, group, frames, inside = found["kind"], frames or group, [], True
                continue
            earlier = found["kind"]
            if not ignored:
                message = with_code(found["kind"], found["message"] or "", code)
                yield problem("python", found["kind"], message, frames or group, cause=chained)
            frames, chained, ignored = [], "", False
            inside = bool(group) and raw.lstrip()[:1] in "|+"
        elif inside and not code:
            code = bare
        if bare:
            before = bare


def with_code(kind: str, message: str, code: str) -> str:
    """Of a syntax error the line too: "invalid syntax" alone is the same for every slip."""
    return f"{message}: {code}" if code and kind in ("SyntaxError", "IndentationError", "TabError") else message


def outermost(problems: list[Problem]) -> list[Problem]:
    """Without the exceptions that another one of the list was raised from.

    One that is only passed on, as from another process, stays where it was raised first.
    """
    kept: list[Problem] = []
    for one in problems:
        if one.cause and kept and kept[-1].kind == one.cause:
            first = kept.pop()
            if (first.kind, first.message) == (one.kind, one.message) and first.file:
                one = replace(one, file=first.file, line=first.line, frames=first.frames)
        kept.append(one)
    return kept


def read_python(text: str, root: str) -> list[Problem]:
    """Uncaught exceptions and syntax errors of a Python program; a program that was killed."""
    if fatal := read_fatal(text, root):
        return [fatal]
    found = outermost(list(tracebacks(text, root)))
    if len(found) > 1 and not _AT_ONCE.search(text) and _ended_by(text, found[-1]):
        found = found[-1:]  # the program went on after the others: it had caught and printed them
    found = found or _not_started(text, root) or read_doctest(text, root)
    if not found and (killed := _KILLED.search(text[-2_000:])):
        found = [Problem("python", killed[1], killed[1])]
    return found


def _ended_by(text: str, last: Problem) -> bool:
    """Whether nothing was printed after this error."""
    found = ERROR.match(text.rstrip().rpartition("\n")[2])
    return found is not None and found["kind"] == last.kind


def _not_started(text: str, root: str) -> list[Problem]:
    """What the interpreter says of a program that it could not begin."""
    for kind, pattern in _NOT_STARTED:
        if found := pattern.search(text):
            named = found.groupdict()
            frames = [Frame(relative(named["file"], root), int(named["line"]))] if "file" in named else []
            return [problem("python", kind, found["what"], frames)]
    return []


def read_unittest(text: str, root: str) -> list[Problem]:
    """Failures in the report of unittest."""
    found = []
    for block in re.split(r"^={20,}$", text, flags=re.M)[1:]:
        head = _TESTCASE.match(block.lstrip("\n"))
        if head is None:
            continue
        raised = outermost(list(tracebacks(re.split(r"^-{20,}\nRan \d", block, maxsplit=1, flags=re.M)[0], root)))
        name = head[2] if "_FailedTest" in (head[3] or "") else head[3] or head[2]
        last = raised[-1] if raised else _told(head[1], block)
        found.append(Problem("unittest", last.kind, last.message, last.file, last.line, name, last.cause, last.frames))
    return found


def _told(outcome: str, block: str) -> Problem:
    """A failure without a traceback: a test that should have failed, or one that could not be loaded."""
    if outcome == "UNEXPECTED SUCCESS":
        return Problem("unittest", "UnexpectedSuccess", "The test is expected to fail and passed.")
    for line in block.lstrip().splitlines()[1:]:
        if (found := ERROR.match(line)) and found["message"]:
            return Problem("unittest", found["kind"], found["message"])
    return Problem("unittest", "Failure", "")
