"""What a person waits for before anything happens: the command line, the first start, every later start."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from measure.figures import CannotMeasure, Figure, Section, Spread
from measure.processes import ROOT, ended, environment, killed_after, scratch

TITLE = "the command line and the server, until they answer"
DEFAULT_N = 2
WITHIN = 60.0  # seconds for a start; beyond that something is wrong
WORD = "AI SWE is up"
IMPORTS = "import django, daphne.server, celery, langgraph.graph; django.setup()"


def measure(section: Section, options: Any) -> None:
    """Fill the section; raises CannotMeasure when a command fails or the server does not come up."""
    n = options.n or DEFAULT_N
    bare, imports, helped, stopped = [], [], [], []
    first: list[float] = []
    later: list[float] = []
    with scratch() as folder:
        for turn in range(n):
            home = folder / f"home-{turn}"
            bare.append(_took([sys.executable, "-c", "pass"], home))
            imports.append(_took([sys.executable, "-c", IMPORTS], home))
            helped.append(_took([sys.executable, "-m", "aiswe_site.cli", "--help"], home))
            for found in (first, later):
                up, down = _served(home)
                found.append(up)
                stopped.append(down)
    process = Spread.of(bare, "ms")
    loaded = Spread.of(imports, "ms")
    words = "a bare process that only imports Django, Daphne, Celery and LangGraph"
    section.figures = [
        Figure("aiswe --help", Spread.of(helped, "ms"), process, "a bare Python process that does nothing"),
        Figure("aiswe up in an empty folder, until it serves", Spread.of(first, "ms"), loaded, words),
        Figure("aiswe up in a used folder, until it serves", Spread.of(later, "ms"), loaded, words),
        Figure("SIGTERM until all of it has ended", Spread.of(stopped, "ms"), loaded, words),
    ]
    section.notes = ["the first start makes the database; serving includes the job worker and its recovery"]


def _took(argv: list[str], home: Path) -> float:
    start = time.perf_counter()
    done = subprocess.run(
        argv, cwd=ROOT, env=environment(home), capture_output=True, text=True, timeout=WITHIN, check=False
    )
    if done.returncode:
        raise CannotMeasure(f"{' '.join(argv[1:3])} failed: {done.stderr.strip()[-300:]}")
    return 1000 * (time.perf_counter() - start)


def _served(home: Path) -> tuple[float, float]:
    """Milliseconds until the server says that it serves, and from SIGTERM to its end."""
    argv = [sys.executable, "-m", "aiswe_site.cli", "up", "--port", "0"]
    start = time.perf_counter()
    process = subprocess.Popen(
        argv,
        cwd=ROOT,
        env=environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None  # noqa: S101
        said = []
        with killed_after(process, WITHIN):
            for line in process.stdout:  # a server that cannot start says why, and ends
                said.append(line)
                if WORD in line:
                    break
            else:
                raise CannotMeasure(f"the server did not come up: {''.join(said)[-500:]}")
        up = 1000 * (time.perf_counter() - start)
        start = time.perf_counter()
        ended(process, WITHIN)
        return up, 1000 * (time.perf_counter() - start)
    finally:
        ended(process)
