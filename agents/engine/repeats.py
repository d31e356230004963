"""Have I done this and failed? A candidate is known again by what it does, not by its spaces and comments."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from agents.engine.state import TaskState
from agents.languages.registry import language_of


def candidate_hash(state: TaskState) -> str:
    """Equal for candidates that the same tests would judge alike: files, tests, packages and base, normalised."""
    candidate = state["candidate"]
    parts = {
        "base": state["base"],
        "packages": sorted(candidate["packages"]),
        "tests": {path: normal(path, text) for path, text in candidate["tests"].items()},
        "files": {path: normal(path, text) for path, text in candidate["files"].items()},
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("utf-8", "replace")).hexdigest()


def normal(path: str, text: str) -> str:
    """Source without comments and layout; of other files and of what does not parse, the lines without their ends."""
    language = language_of(path)
    if language is not None and (found := language.normal(text)) is not None:
        return found
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")


def already_tried(state: TaskState) -> dict[str, Any] | None:
    """The failed try whose candidate this is: {hash, attempt, failure, signature, tests, compiles}; None for a new one.

    After a run that passed (a gate or a reviewer sent the code back) nothing counts as known: the last report is not
    that of a failure, so the tests must speak again.
    """
    report = state["candidate"]["report"]
    if not report or report.get("ok"):
        return None
    tried = state["history"]["tried"]
    if not tried:
        return None
    mark = candidate_hash(state)
    return next((one for one in tried if one["hash"] == mark), None)


def remembered(state: TaskState, report: Mapping[str, Any], failure: str) -> list[dict[str, Any]]:
    """The failed tries with this one added.

    A run that an outside limit ended says nothing of the candidate, and neither does one that was refused a package.
    """
    tried = state["history"]["tried"]
    if report.get("timed_out") or report.get("out_of_memory") or report.get("problem"):
        return tried
    if report.get("compiles") and report.get("exit_code") is None:
        return tried
    return [
        *tried,
        {
            "hash": candidate_hash(state),
            "attempt": state["counters"]["attempt"],
            "failure": failure,
            "signature": report["signature"],
            "tests": {part: report.get(part, 0) for part in ("passed", "failed", "errors", "skipped")},
            "compiles": bool(report.get("compiles")),
        },
    ]
