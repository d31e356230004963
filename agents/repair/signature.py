"""A failure's signature: equal for equal causes, whatever the paths, addresses, times and sizes in its text."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from agents.languages.problems import Problem
from agents.languages.registry import languages
from agents.repair.traces import read_problems

_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\x1b\[[0-9;]*[A-Za-z]"), ""),
    (re.compile(r"0x[0-9a-fA-F]{4,16}"), "0x…"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "uuid"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?"), "time"),
    (re.compile(r"\b\d+(\.\d+)?\s?(s|ms|us|µs|seconds?)\b"), "duration"),
    (re.compile(r"(?<![\w/])/(?:[\w.@+-]{1,80}/){1,20}"), ""),
    (re.compile(r"\bline \d+\b|:\d+(?=:|\b)"), ""),
    (re.compile(r"(?<=[\w)])\(\d+,\d+\)(?=:)"), ""),  # a place as the TypeScript compiler writes it
    (re.compile(r"\b[0-9a-f]{32,64}\b"), "hash"),
    (re.compile(r"\b\d{10,}\b"), "number"),  # ids of objects, time stamps
    (re.compile(r"(?<=\b127\.0\.0\.1:)\d+|(?<=\blocalhost:)\d+|(?<=\bport )\d+"), "port"),
)
_SPACES = re.compile(r"\s+")
_ERROR_KIND = re.compile(
    r"^(?:E\s+)?((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Exit|Interrupt|Failed))\b", re.M
)


_CAPTURED = re.compile(r"^-{3,} Captured .{1,60} -{3,}$", re.M)
_DETAIL = re.compile(r"^\s*(?:E\s+)?((?:Expected|Actual|Obtained)\b.*)$", re.M)


def normalise(text: str) -> str:
    """The text without what changes from run to run; bounded, because a trace can be megabytes."""
    text = text[:8_000]
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    for language in languages():
        if language.temporary:
            text = re.sub(language.temporary, "temp", text)
    return _SPACES.sub(" ", text).strip()


def error_kind(text: str) -> str:
    """The exception's name in a trace ("AssertionError" where an assert is all there is).

    What the program itself wrote, quoted by pytest below the trace, does not count.
    """
    text = _CAPTURED.split(text, maxsplit=1)[0]
    kinds = _ERROR_KIND.findall(text)
    if kinds:
        return str(kinds[-1])
    return "AssertionError" if "assert" in text else "Failure"


def signature_of(report: Mapping[str, Any]) -> str:
    """Hash of the failures of a test report ({failures: [{nodeid, message, traceback}], output}); "" when none."""
    failures: Sequence[Mapping[str, Any]] = report.get("failures") or []
    if failures:
        parts = sorted(
            f"{failure.get('nodeid', '')}|{error_kind(str(failure.get('traceback') or failure.get('message', '')))}|"
            f"{normalise(_said(str(failure.get('message', ''))))}"
            for failure in failures
        )
    else:
        output = str(report.get("output", ""))
        found = read_problems(output)
        parts = sorted(map(_part, found)) or [normalise(output[-2_000:])]
    return _hashed(parts)


def _said(message: str) -> str:
    """The first line, and what it announces: "Regex pattern did not match." alone is the same for every pattern."""
    return " ".join([message.split("\n", maxsplit=1)[0], *_DETAIL.findall(message[:8_000])[:3]])


def signature_of_problems(problems: Sequence[Problem]) -> str:
    """Hash of failures read from a tool's own words, wherever the tool ran; "" when there are none."""
    return _hashed(sorted(map(_part, problems))) if problems else ""


def _part(one: Problem) -> str:
    return "|".join((one.tool, one.test, one.kind, one.cause, normalise(one.message), one.file))


def _hashed(parts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
