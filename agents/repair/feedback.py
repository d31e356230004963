"""What the model is told about a failing run: the whole trace as far as it fits (SWE-FR-07), head and tail kept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# pytest's marks below the characters that differ: the lines above them say it.
_GUIDES = re.compile(r"^E +\?[ +^-]*\n", re.M)
# Lines of marks alone: below the part of a line that failed, and between frames.
_MARKS = re.compile(r"^ *[~^]+ *\n|^_(?: _)+ *\n", re.M)
# Frames of the test runner and of the interpreter in the stacks of a run that was stopped.
_RUNNERS = re.compile(r'^ *File "(?!/workspace/)[^"\n]+", line \d+ in .*\n?', re.M)
_RAISED = re.compile(r"^(\S[^\n:]*:\d+: \w[\w.]*)\s*\Z", re.M)  # pytest's last line: where, and which error
_SOURCE = re.compile(r"(?:^(?:    [^\n]*)?\n)+", re.M)  # lines of a frame's function above the one that failed
TEST_LINES, FRAME_LINES = 24, 8  # of the test's own frame, and of each other
ALIKE = 6  # messages of failures at a place that is shown already: a line each
MOST = 30  # traces of different errors
TRACE_CHARS = 9_000  # about 3,000 tokens: a tenth of the window


def clip(text: str, limit: int) -> str:
    """The text, or its head and tail with a line that says how much is missing."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"


def summary_text(report: Mapping[str, Any]) -> str:
    """A test run in one line: why it could not be judged, else its counts."""
    problem = str(report.get("problem") or "")
    if not problem:
        return counts_text(report).rstrip(".")
    is_path = not {"/", "."}.isdisjoint(problem.partition(" ")[0])
    return problem if is_path else problem[:1].upper() + problem[1:]


def counts_text(report: Mapping[str, Any]) -> str:
    """ "3 passed, 1 failed" in words; says so when nothing ran."""
    names = ("passed", "failed", "errors", "skipped")
    parts = [f"{report.get(name, 0)} {name}" for name in names if report.get(name)]
    text = ", ".join(parts) or "No test ran"
    if report.get("timed_out"):
        text += "; the run was stopped at its time limit"
    return text + "."


def trace_text(report: Mapping[str, Any]) -> str:
    """Every failure's trace under its test's id; the raw output when no failure could be read from it.

    Of failures that one line raises the first is shown, of the others what they say. An id is left out when the trace
    itself has the test's function and file.
    """
    failures, places = list(report.get("failures") or []), set[str]()
    shown, alike, blocks = list[Any](), dict[str, list[str]](), list[str]()
    for failure in failures:
        place = _place(failure)
        if place in places:
            said = str(failure.get("message") or "").partition("\n")[0][:120]
            alike.setdefault(said, []).append(str(failure.get("nodeid")))
        else:
            places.add(place)
            shown.append(failure)
    del shown[MOST:]
    share = TRACE_CHARS // max(1, len(shown))
    for failure in shown:
        text = str(failure.get("traceback") or failure.get("message") or "")
        nodeid = str(failure.get("nodeid") or "collection")
        path, _, name = nodeid.partition("::")
        trace = clip(_without_long_frames(_MARKS.sub("", _GUIDES.sub("", text))), share).strip()
        blocks.append(trace if f"def {name}(" in trace and f"{path}:" in trace else f"{nodeid}\n{trace}")
    total = max(len(failures), int(report.get("failed") or 0) + int(report.get("errors") or 0))
    told = dict(list(alike.items())[:ALIKE])
    if told:
        blocks.append("\n".join(["At lines shown above:", *(f"{_tests(ids)}: {said}" for said, ids in told.items())]))
    if (rest := total - len(shown) - sum(map(len, told.values()))) > 0:
        blocks.append(f"… and {rest} more failures")
    if report.get("problem"):
        blocks.insert(0, f"There is no valid result: {report['problem']}.")
    if not failures:
        blocks.append(clip(_RUNNERS.sub("", str(report.get("output", ""))), TRACE_CHARS).strip())
    return "\n\n".join(blocks)


def _tests(ids: list[str]) -> str:
    """Tests that say the same, the first two by name: of one test with several values the last is the one to tell."""
    names = list({one.partition("[")[0]: one for one in ids}.values())[:2]
    return ", ".join(names) + (f" and {len(ids) - len(names)} more" if len(ids) > len(names) else "")


def _place(failure: Mapping[str, Any]) -> str:
    """The line that raised the error; without one, the message."""
    raised = _RAISED.search(str(failure.get("traceback") or "").rstrip())
    return raised[1] if raised else str(failure.get("message") or failure.get("nodeid"))


def _without_long_frames(trace: str) -> str:
    """The trace with how each function begins and the lines before the one that failed; tests are shown longer."""
    first = True

    def cut(found: re.Match[str]) -> str:
        nonlocal first
        lines, most = found[0].splitlines(keepends=True), TEST_LINES if first else FRAME_LINES
        first = False
        if len(lines) <= most:
            return found[0]
        return "".join([*lines[:2], "    …\n", *lines[2 - most :]])

    return _SOURCE.sub(cut, trace)


def whole_trace(report: Mapping[str, Any]) -> str:
    """All that a run said, uncut: what evidence is looked for in."""
    failures = report.get("failures") or []
    parts = [str(failure.get(part, "")) for failure in failures for part in ("nodeid", "message", "traceback")]
    return "\n".join([*parts, str(report.get("output", ""))])
