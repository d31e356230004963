"""Wrong answers to a task that really fail its tests, found once and kept."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from pathlib import Path

from agents.languages.python.mutants import wrongs
from measure.trials.datasets import TrialTask
from measure.trials.simulated import Mistake
from sandbox.base import Backend
from sandbox.pytest_run import run_pytest
from sandbox.test_report import TestReport

WANTED, TRIED = 5, 24
SECONDS = 8.0  # a mistake that loops for ever is left out: each try with it would last until the time limit
MIN_WORDS = 12
VERSION = 3


def find_mistakes(backend: Backend, task: TrialTask, *, seed: int, kept: Path | None = None) -> list[Mistake]:
    """Up to WANTED failing variants of the reference; fewer, or none, when its tests notice too little.

    `kept` is a folder where the answer is looked up and stored. Raises SandboxUnavailable.
    """
    digest = hashlib.sha256(
        json.dumps([VERSION, seed, task.id, dict(task.tests), dict(task.reference)]).encode()
    ).hexdigest()
    place = kept / f"{digest[:32]}.json" if kept else None
    if place and place.is_file():
        rows = json.loads(place.read_text(encoding="utf-8"))
        return [Mistake(row["files"], tuple(row["words"]), row["kind"]) for row in rows]
    found: list[Mistake] = []
    with backend.open(label="trial-mistakes") as sandbox:
        for files, kind in _variants(task, seed):
            sandbox.put({path: text.encode() for path, text in {**task.start, **files, **task.tests}.items()})
            report = run_pytest(sandbox, (), seconds=SECONDS, coverage_of=())
            if not report.ok and not report.timed_out:
                found.append(Mistake(files, words_of(report), kind))
            if len(found) == WANTED:
                break
    if place:
        place.parent.mkdir(parents=True, exist_ok=True)
        rows = [{"files": one.files, "words": one.words, "kind": one.kind} for one in found]
        # Whole or not at all: several sessions may share the folder.
        part = place.with_name(f"{place.name}.{os.getpid()}.{threading.get_ident()}")
        part.write_text(json.dumps(rows), encoding="utf-8")
        part.replace(place)
    return found


def _variants(task: TrialTask, seed: int) -> list[tuple[dict[str, str], str]]:
    found: list[tuple[dict[str, str], str]] = []
    for path, text in sorted(task.reference.items()):
        if path.endswith(".py"):
            try:
                found += [
                    ({**task.reference, path: one.text}, one.kind) for one in wrongs(text, seed=seed, limit=TRIED)
                ]
            except (SyntaxError, ValueError, RecursionError):
                continue
    return found[:TRIED]


def words_of(report: TestReport) -> tuple[str, ...]:
    """What only a prompt that holds this failure would say: its messages, without addresses, on one line."""
    lines = [failure.message.strip().split("\n")[0] for failure in report.failures]
    squeezed = [" ".join(line.split("0x")[0].split())[:120] for line in lines]
    told = [line for line in squeezed if len(line) >= MIN_WORDS]
    short = [line for line in squeezed if line and len(line) < MIN_WORDS]
    return tuple(dict.fromkeys(told or short or [report.problem[:40] or "No test ran"]))
