"""What the output and the traffic of a deployment say went wrong: data in, signs out."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from agents.languages.problems import Problem, is_library
from agents.repair.traces import read_problems
from projects.models import BadRequest, Incident
from projects.services.operations.traffic import SLOW_MS, Metrics

Kind = Incident.Kind
_BEGIN = "Traceback (most recent call last):"
ENOUGH_REQUESTS = 10  # below that a share or a quantile says nothing
SLOWER = 4.0  # a spike is at least SLOW_MS long, and so many times what was usual
MOST_FRAMES, MOST_MESSAGE = 12, 300
# Causes outside of the code: no change of it cures them.
_OUTSIDE = (
    (
        re.compile(r"No space left on device|ENOSPC|disk (?:is )?full|database or disk is full", re.I),
        "its disk is full",
    ),
    (
        re.compile(r"Cannot allocate memory|ENOMEM|\bMemoryError\b|OutOfMemory|out of memory", re.I),
        "its memory is used up",
    ),
    (re.compile(r"Too many open files|EMFILE", re.I), "it has no more files to open"),
    (re.compile(r"Read-only file system|EROFS", re.I), "its file system cannot be written"),
    (
        re.compile(
            r"Name or service not known|Temporary failure in name resolution|ENOTFOUND|Network is unreachable", re.I
        ),
        "what it calls cannot be reached from where it runs",
    ),
    (re.compile(r"Connection refused|ECONNREFUSED", re.I), "a server that it needs does not answer"),
)


@dataclass(frozen=True)
class Sign:
    """Something that went wrong, with what is known of it. Texts of the program are cut, and order nothing."""

    kind: str
    signature: str
    title: str
    evidence: str = ""
    cause: str = ""  # where the sign itself tells it
    files: tuple[str, ...] = ()  # of the project, the deepest first
    request: BadRequest | None = None


def outside_cause(text: str) -> str:
    """Why no code can cure it, in words; "" when that is not known."""
    return next((words for pattern, words in _OUTSIDE if pattern.search(text)), "")


def with_begun(log: str, fresh: str) -> str:
    """What was printed last (`fresh` is the end of `log`), with the beginning of a traceback that it goes on with."""
    before = log.removesuffix(fresh)
    begun = before.rfind(_BEGIN)
    rest = before[begun:].splitlines()[1:] if begun >= 0 else ["over"]
    return before[begun:] + fresh if all(line.startswith(" ") or not line for line in rest) else fresh


def problems_in(log: str) -> list[Problem]:
    """Failures that a program printed, in their order."""
    return [one for one in read_problems(log) if one.kind]


def of_problem(problem: Problem, *, crash: bool, request: BadRequest | None) -> Sign:
    """The sign of an exception: grouped by its kind and the function that it came from, whatever its message says."""
    frames = [frame for frame in problem.frames if not is_library(frame.file)]
    deepest = frames[-1] if frames else None
    where = f"{deepest.file}:{deepest.function}" if deepest else problem.file
    files = tuple(dict.fromkeys(frame.file for frame in reversed(frames)))
    message = " ".join(problem.message.split())[:MOST_MESSAGE]
    told = [f'  File "{frame.file}", line {frame.line}, in {frame.function}' for frame in frames[-MOST_FRAMES:]]
    evidence = "\n".join(["Traceback (most recent call last):", *told, f"{problem.kind}: {message}"])
    kind, outside = (Kind.CRASH if crash else Kind.ERROR), outside_cause(f"{problem.kind}: {message}")
    at = f" in {deepest.file}" if deepest else ""
    return Sign(
        kind=Kind.ENVIRONMENT if outside else kind,
        signature=_hash(problem.kind, where),
        title=f"{problem.kind}{at}" + (f" at {_request(request)}" if request else ""),
        evidence=evidence,
        cause=outside,
        files=files,
        request=request,
    )


def of_exit(exit_code: int | None, log: str, request: BadRequest | None) -> Sign:
    """The sign of a process that ended without a traceback."""
    last = "\n".join(log.splitlines()[-20:])
    outside = outside_cause(last)
    return Sign(
        kind=Kind.ENVIRONMENT if outside else Kind.CRASH,
        signature=_hash("exit", str(exit_code), request.path.partition("?")[0] if request else ""),
        title=f"It ended with exit code {exit_code}" + (f" at {_request(request)}" if request else ""),
        evidence=last,
        cause=outside,
        request=request,
    )


def of_answer(request: BadRequest) -> Sign:
    """The sign of a request that was answered with an error, or not at all, while nothing was printed."""
    path = request.path.partition("?")[0]
    said = f"answered {request.status}" if request.status else "no answer"
    return Sign(
        kind=Kind.ERROR,
        signature=_hash("answer", request.method, path, str(request.status)),
        title=f"{_request(request)}: {said}",
        request=request,
    )


def of_health(answer: str) -> Sign:
    """The sign of a process that is there and does not pass its health check."""
    return Sign(kind=Kind.DOWN, signature=_hash("down"), title=f"Its health check fails: {answer}"[:200])


def of_latency(now: Metrics, usual: Metrics | None, slow: Sequence[BadRequest]) -> Sign | None:
    """The sign of answers that take much longer than they used to; None for no spike, or too few requests to tell."""
    if now.requests < ENOUGH_REQUESTS or now.p95_ms is None or now.p95_ms < SLOW_MS:
        return None
    before = usual.p95_ms if usual is not None and usual.requests >= ENOUGH_REQUESTS else None
    if before is not None and now.p95_ms < SLOWER * before:
        return None
    paths = Counter((one.method, one.path.partition("?")[0]) for one in slow)
    (method, path), _ = paths.most_common(1)[0] if paths else (("", ""), 0)
    worst = next((one for one in slow if (one.method, one.path.partition("?")[0]) == (method, path)), None)
    usually = f", usually {before} ms" if before is not None else ""
    named = f"; mostly {method} {path}" if path else ""
    return Sign(
        kind=Kind.SLOW,
        signature=_hash("slow", method, path),
        title=f"Slow answers: 95 % within {now.p95_ms} ms{usually}{named}"[:200],
        request=worst,
    )


def _request(request: BadRequest) -> str:
    return f"{request.method} {request.path.partition('?')[0]}"[:100]


def _hash(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
