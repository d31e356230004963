"""The worker is killed again and again in the middle of the demo: nothing is lost, nothing happens twice."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
KILLS = 20
FAST = "400"  # tokens/s: the words are the same, only sooner

pytestmark = [pytest.mark.stage, pytest.mark.slow, pytest.mark.bubblewrap, pytest.mark.timeout(900)]


def start_demo(home: Path, out: Path) -> subprocess.Popen[bytes]:
    """`aiswe demo` in a data folder of its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AISWE_")}
    with out.open("wb") as stdout, out.with_suffix(".err").open("wb") as stderr:
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "aiswe_site.cli", "demo", "--headless", "--json"),
                *("--home", str(home), "--tokens-per-s", FAST, "--timeout", "800"),
            ],
            cwd=REPOSITORY,
            env=environment | {"AISWE_SANDBOX": "bubblewrap"},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
        )


def document_of(out: Path) -> dict[str, Any]:
    text = out.read_text()
    assert text, out.with_suffix(".err").read_text()[-3000:]
    return json.loads(text)


def tree_of(repository: str) -> str:
    shown = subprocess.run(
        ["git", "rev-parse", "main^{tree}"], cwd=repository, capture_output=True, text=True, check=True
    )
    return shown.stdout.strip()


def kill_worker(home: Path, last: int) -> int:
    """Kill the worker by the pid it wrote; returns that pid, or `last` when there was nobody to kill."""
    with contextlib.suppress(OSError, ValueError):
        pid = int((home / "run" / "worker.pid").read_text())
        if pid != last:
            os.kill(pid, signal.SIGKILL)
            return pid
    return last


@contextlib.contextmanager
def ended(*demos: subprocess.Popen[bytes]) -> Iterator[None]:
    """Whatever happens, none of them goes on."""
    try:
        yield
    finally:
        for demo in demos:
            if demo.poll() is None:
                demo.terminate()
        for demo in demos:
            demo.wait(60)


def test_twenty_kills_at_random_points_end_in_the_same_repository(tmp_path):
    chance = random.Random()
    seed = chance.randrange(10**6)
    chance.seed(seed)
    home, out = tmp_path / "killed", tmp_path / "killed.json"
    # Side by side: the one that is killed mostly waits to be.
    whole = start_demo(tmp_path / "whole", tmp_path / "whole.json")
    demo, kills, last = start_demo(home, out), 0, 0
    deadline = time.monotonic() + 700
    with ended(whole, demo):
        # A worker that dies before it ever served is given up after a few starts, and rightly so.
        while "run.started" not in out.with_suffix(".err").read_text() and demo.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        while demo.poll() is None and time.monotonic() < deadline:
            time.sleep(chance.uniform(1.0, 9.0) if kills < KILLS else 1.0)
            if kills < KILLS and demo.poll() is None:
                pid = kill_worker(home, last)
                kills += pid != last
                last = pid
        assert whole.wait(100) == 0, document_of(tmp_path / "whole.json")
    expected = tree_of(document_of(tmp_path / "whole.json")["repository"])
    document = document_of(out)
    print(f"seed {seed}: {kills} kills")  # noqa: T201  a failure must be repeatable
    assert demo.returncode == 0, (seed, kills, document)
    assert kills >= KILLS // 2, "the demo ended before it was killed often enough to mean something"
    assert document["tasks"]["escalated"] == 0
    assert document["audit"]["verified"] is True
    assert tree_of(document["repository"]) == expected
