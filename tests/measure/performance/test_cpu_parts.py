"""Processor time is counted to the part that took it, and processes of git are counted by verb."""

from __future__ import annotations

import threading

from agents.llm.tokens import count_tokens
from agents.secrets.redaction import redact
from agents.workspace.git import git
from measure.performance.cpu_parts import Gits, Parts
from measure.performance.prefix import CODEX_MS, breakdown


def work():
    count_tokens("some words and marks, (a + b) " * 20_000)


def test_time_is_counted_to_the_part_that_took_it_in_threads_too():
    parts = Parts()
    with parts.watching():
        work()
        thread = threading.Thread(target=redact, args=("key = value\n" * 200,))
        thread.start()
        thread.join()
    assert max(parts.own, key=parts.own.__getitem__) == "prompts and tokens"
    assert parts.own["firewall and screening"] > 0


def test_processes_of_git_are_counted_by_what_they_were_asked_and_the_watch_ends(tmp_path):
    gits = Gits()
    with gits.watching():
        git(tmp_path, "init", "-q")
        git(tmp_path, "log", "-1", check=False)
        git(tmp_path, "log", "-1", check=False)
    git(tmp_path, "log", check=False)
    assert gits.count == {"init": 1, "log": 2}
    assert gits.seconds["init"] > 0


def test_the_parts_add_up_to_the_engines_own_time():
    where = {"engine": [0.5, 0.7, 0.6], "own": [0.4, 0.6, 0.5], "sandbox": [1.0, 1.0, 1.0]}
    where |= {"git": {"diff": 0.1}, "gits": 3, "parts": {"mutants": 2.0, "model client": 6.0}}
    engine, *rows, whole = breakdown(where)
    assert (engine.measured.median, whole.measured.median) == (600, 1600)
    assert engine.ratio == 600 / CODEX_MS
    assert [(row.name.strip(), round(row.measured.median)) for row in rows] == [
        ("own: model client", 375),
        ("own: mutants", 125),
        ("git: diff", 100),
    ]
