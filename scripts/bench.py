"""What people wait for, measured on this machine: `make bench`. Prints numbers with what they mean, judges nothing."""

from __future__ import annotations

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

AISWE = [sys.executable, "-m", "aiswe_site.cli"]
REPOSITORY = Path(__file__).resolve().parent.parent
TIMES = 7


def environment(home: str) -> dict[str, str]:
    """A data folder of its own; everything else as it is."""
    return {**os.environ, "AISWE_HOME": home, "PYTHONPATH": str(REPOSITORY)}


def help_seconds(home: str) -> float:
    """Median of `aiswe --help`."""
    taken = []
    for _ in range(TIMES):
        started = time.perf_counter()
        subprocess.run([*AISWE, "--help"], env=environment(home), stdout=subprocess.DEVNULL, check=True)
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def server_seconds(home: str) -> dict[str, float]:
    """First start on an empty folder, a page, the gap after `kill -9`, memory, and the stop."""
    started = time.perf_counter()
    server = subprocess.Popen(
        [*AISWE, "up", "--port", "0"],
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        found = re.search(r"http://\S+", server.stdout.readline() if server.stdout else "")
        if found is None:
            raise SystemExit("aiswe up did not start; run it by hand to see why")
        first = time.perf_counter() - started
        address, worker = found[0], int(Path(home, "run", "worker.pid").read_text())
        page = [seconds(address + "sign-in") for _ in range(TIMES)]
        status = Path(f"/proc/{worker}/status").read_text()
        os.kill(worker, signal.SIGKILL)
        gap = seconds(address + "alive")
    finally:
        stopping = time.perf_counter()
        server.terminate()
        server.wait()
    memory = re.search(r"VmRSS:\s+(\d+)", status)
    return {
        "up_first_start_s": first,
        "page_sign_in_s": statistics.median(page),
        "memory_mb": int(memory[1]) / 1024 if memory else 0.0,
        "answer_after_kill_s": gap,
        "stop_s": time.perf_counter() - stopping,
    }


def seconds(address: str) -> float:
    """How long one request takes."""
    started = time.perf_counter()
    with urllib.request.urlopen(address, timeout=60) as reply:  # noqa: S310  our own server
        reply.read()
    return time.perf_counter() - started


def demo(home: str) -> dict[str, Any]:
    """The recorded demo without the model's waiting: what is left is sandbox, tests, gates, git, database."""
    words = ["demo", "--headless", "--json", "--home", home, "--tokens-per-s", "100000"]
    result = subprocess.run([*AISWE, *words], env=environment(home), stdout=subprocess.PIPE, text=True, check=False)
    done: dict[str, Any] = json.loads(result.stdout)
    return {"demo_without_model_s": done["seconds"], "demo_merged": done["tasks"]["merged"]}


def main() -> None:
    """Measure and print; with --json as one document."""
    with tempfile.TemporaryDirectory() as home:
        numbers: dict[str, Any] = {"help_s": help_seconds(home), **server_seconds(f"{home}/up"), **demo(f"{home}/demo")}
    if "--json" in sys.argv:
        sys.stdout.write(json.dumps(numbers, indent=2) + "\n")
        return
    for name, value in numbers.items():
        sys.stdout.write(f"{name:<24} {value:10.3f}\n" if isinstance(value, float) else f"{name:<24} {value:>6}\n")


if __name__ == "__main__":
    main()
