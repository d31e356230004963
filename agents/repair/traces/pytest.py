"""The report of pytest in any of its styles (`--tb=long`, `short`, `line`, `native`)."""

from __future__ import annotations

import re
from itertools import pairwise

from agents.repair.traces.base import WORKSPACE, Frame, Problem, problem, relative
from agents.repair.traces.python import ERROR, frame_of, outermost, tracebacks, with_code

MAX_BLOCK = 200_000  # characters of one failure
MAX_LINE = 2_000
_TITLE = re.compile(r"^_{3,} (.{1,600}?) _{3,}$")
_SECTION = re.compile(r"^={3,} (.{1,200}?) ={3,}$")
_PLACE = re.compile(r"^(?:E\s+)?(?P<file>[^\s:][^:\n]{0,1024}):(?P<line>\d{1,9}): ?(?P<rest>.*)$")
_SUMMARY = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - (.*))?$")
_FIXTURE = re.compile(r"^file (.{1,1024}), line (\d{1,9})$")
_CONFTEST = re.compile(r"^(?:ImportError while loading conftest|Exception: .*conftest) ?'?([^'\n]*)'?")
_FIXTURE_MISSING = re.compile(r"fixture '([^'\n]{1,200})' not found")
_INTERNAL = re.compile(r"^INTERNALERROR> ?", re.M)


def is_pytest(text: str) -> bool:
    """Whether this looks like pytest's own words."""
    return bool(
        re.search(r"^=+ (?:FAILURES|ERRORS|short test summary info|test session starts) =+$", text, re.M)
        or re.search(r"^(?:ImportError while loading conftest|INTERNALERROR> )", text, re.M)
    )


def read_pytest(text: str, root: str) -> list[Problem]:
    """Failures and errors, one for each titled block; of a run that broke before its first test, the reason."""
    if _INTERNAL.search(text):
        inner = "\n".join(_INTERNAL.sub("", line) for line in text.splitlines() if line.startswith("INTERNALERROR>"))
        return [_renamed(one, "pytest") for one in outermost(list(tracebacks(inner, root)))[-1:]]
    blocks, names = _blocks(text)
    if not blocks and (conftest := re.search(_CONFTEST.pattern, text, re.M)):
        return [_problem("conftest", text[conftest.start() :].splitlines()[1:], root)]
    found = []
    for title, lines in blocks:
        bare = re.sub(r"^ERROR (?:collecting|at (?:setup|teardown) of) ", "", title)
        test = next((name for name in names if name.endswith(("::" + bare.replace(".", "::"), bare))), bare)
        found.append(_problem(test, lines, root))
    return found


def read_block(test: str, text: str, root: str = WORKSPACE) -> Problem:
    """The problem in one failure's own text, as a report keeps it; kind "Failure" when it names no error. Never raises."""
    lines = [line[:MAX_LINE] for line in text[:MAX_BLOCK].splitlines()]
    return _problem(test, lines, root)


def _blocks(text: str) -> tuple[list[tuple[str, list[str]]], list[str]]:
    """The titled blocks of the failure sections, and the names in the summary."""
    blocks: list[tuple[str, list[str]]] = []
    names: list[str] = []
    section, loose = "", []
    for line in text.splitlines():
        if head := _SECTION.match(line):
            section = head[1]
        elif section in ("FAILURES", "ERRORS"):
            if title := _TITLE.match(line):
                blocks.append((title[1], []))
            elif blocks:
                blocks[-1][1].append(line)
            else:
                loose.append(line)
        elif section == "short test summary info" and (entry := _SUMMARY.match(line)):
            names.append(entry[1])
    if not blocks and loose:  # --tb=line: an error and its place, nothing else
        blocks = [(name, loose) for name in names[:1]] or [("", loose)]
    return blocks, names


def _problem(test: str, lines: list[str], root: str) -> Problem:
    frames: list[Frame] = []
    said: list[str] = []
    for line in lines:
        body = line[1:] if line.startswith("E ") else line
        if (frame := frame_of(body, root)) is not None:
            frames.append(frame)
        if line.startswith("E "):
            said.append(body.strip())
        elif found := (_PLACE.match(line) or _FIXTURE.match(line)):
            file, number = found.group(1), found.group(2)
            rest = found.groupdict().get("rest") or ""
            function = rest[3:] if rest.startswith("in ") else ""
            frames.append(Frame(relative(file, root), int(number), function))
    kind, message, cause = _error(said)
    code = next((after for line, after in pairwise(said) if frame_of(line, root)), "")
    message = with_code(kind, message, code)
    if not kind:
        native = outermost(list(tracebacks("\n".join(lines), root)))
        if native:
            last = native[-1]
            return problem("pytest", last.kind, last.message, last.frames, test=test, cause=last.cause)
        kind, message = "Failure", " ".join(said[:2])
    return problem("pytest", kind, message, frames, test=test, cause=cause)


def _error(said: list[str]) -> tuple[str, str, str]:
    """Kind, message and cause from the marked lines: the last error named is the one that came through."""
    kinds: list[tuple[str, str]] = []
    for line in said:
        if missing := _FIXTURE_MISSING.search(line):
            return "FixtureNotFound", f"fixture '{missing[1]}' not found", ""
        found = ERROR.match(line)
        if found and (found["message"] is not None or len(said) == 1 or "Error" in found["kind"]):
            kinds.append((found["kind"], found["message"] or ""))
    if kinds:
        return kinds[-1][0], kinds[-1][1], kinds[-2][0] if len(kinds) > 1 else ""
    if said and said[0].startswith("assert"):
        return "AssertionError", said[0], ""
    if said and said[0].startswith("Failed"):
        return "Failed", said[0], ""
    return "", "", ""


def _renamed(one: Problem, tool: str) -> Problem:
    return Problem(tool, one.kind, one.message, one.file, one.line, one.test, one.cause, one.frames)
