"""What is printed where no exception was raised: an interpreter that died, a test that hung, a failed doctest."""

from __future__ import annotations

import re

from agents.languages.problems import Frame, Problem, problem, relative

_FATAL = re.compile(r"Fatal Python error: ([^\n]{1,200})")
_STACK = re.compile(r'^\s*File "([^"\n]{1,4096})", line (\d{1,9}),? in (.{1,300})$')
_THREAD = re.compile(r"^(?:Current thread|Thread) 0x[0-9a-f]+\b.*:$")
_HUNG = re.compile(r"^\++ Timeout \++$|\+{10,} Timeout \+{10,}", re.M)
_STACK_OF = re.compile(r"^~+ Stack of (.{1,200}?) \(\d+\) ~+$", re.M)
_DOCTEST = re.compile(
    r'^File "(?P<file>[^"\n]{1,4096})", line (?P<line>\d{1,9}), in (?P<name>.{1,300})\nFailed example:\n(?P<said>(?:'
    r"(?!\*{20}).{0,300}\n){1,60})",
    re.M,
)
_RAISED = re.compile(r"^Exception raised:\n(?:.*\n)*?\s+(?P<kind>[A-Za-z_][\w.]*)(?:: .*)?$", re.M)


def read_fatal(text: str, root: str) -> Problem | None:
    """The interpreter's last words, of the thread that died (`Fatal Python error: …`); None when there are none."""
    fatal = _FATAL.search(text)
    if fatal is None:
        return None
    frames: list[Frame] = []
    current = False
    for line in text[fatal.end() :].splitlines():
        if _THREAD.match(line):
            if frames:
                break
            current = True
        elif current and (found := _STACK.match(line)):
            frames.append(Frame(relative(found[1], root), int(found[2]), found[3]))
        elif frames:
            break
    return problem("python", fatal[1].strip(), fatal[1], frames[::-1])


def read_hung(text: str, root: str) -> Problem | None:
    """The stack that pytest-timeout prints before it ends the process; None when it did not."""
    hung = _HUNG.search(text)
    if hung is None:
        return None
    heads = list(_STACK_OF.finditer(text, hung.end()))
    head = next((one for one in heads if one[1] == "MainThread"), heads[0] if heads else None)
    frames: list[Frame] = []
    for line in text[head.end() :].splitlines()[1:] if head else []:
        if line.startswith(("~~~", "+++")):
            break
        if found := _STACK.match(line):
            frames.append(Frame(relative(found[1], root), int(found[2]), found[3]))
    return problem("pytest", "Timeout", "The test did not end in time.", frames)


def read_doctest(text: str, root: str) -> list[Problem]:
    """Failed examples in the report of `python -m doctest`."""
    found = []
    for one in _DOCTEST.finditer(text):
        raised = _RAISED.search(one["said"])
        place = Frame(relative(one["file"], root), int(one["line"]), one["name"])
        kind = raised["kind"] if raised else "DocTestFailure"
        found.append(problem("doctest", kind, one["said"], [place], test=one["name"]))
    return found
