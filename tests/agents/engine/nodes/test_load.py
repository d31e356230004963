"""A machine with twenty busy processes gives the verdicts of a quiet one."""

import subprocess
import sys
from contextlib import contextmanager

import pytest

from sandbox.test_setup import TestSetup
from tests.agents.engine.nodes.support import APPROVED, DIAGNOSIS, TESTS, Bench, code, task

# It ends with whoever started it, also where that is killed.
BUSY = "import os\nos.nice(5)\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
# Half a second of CPU, within a limit of one second that the load alone would take it over.
WORKS = code(
    "calc.py",
    "import time\n\n\ndef add(a: int, b: int) -> int:\n    end = time.process_time() + 0.5\n"
    "    while time.process_time() < end:\n        pass\n    return a + b",
)
SPINS = code("calc.py", "def add(a: int, b: int) -> int:\n    while True:\n        a = b\n    return a")
WAITS = code(
    "calc.py",
    "import threading\n\n\ndef add(a: int, b: int) -> int:\n    lock = threading.Lock()\n    lock.acquire()\n"
    "    lock.acquire()\n    return a + b",
)

pytestmark = [pytest.mark.bubblewrap, pytest.mark.slow, pytest.mark.timeout(900)]


@contextmanager
def busy(count):
    """So many processes that take what CPU they get."""
    running = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.wait()


def verdicts(folder, first, processes):
    replies = {"tester-tests": TESTS, "coder-code": first, "reviewer-review": APPROVED}
    replies["coder-repair"] = DIAGNOSIS.format(cause="it does not end") + code(
        "calc.py", "def add(a: int, b: int) -> int:\n    return a + b"
    )
    bench = Bench(folder, replies, task(), test_setup=TestSetup(test_seconds=1, suite_seconds=10))
    bench.switched_off = frozenset({"mutation"})
    with busy(processes):
        final = bench.run()
    outcomes = [attempt["outcome"] for attempt in bench.task_store.attempts.values()]
    failed = [failure["nodeid"] for one in bench.task_store.attempts.values() for failure in one["tests"]["failures"]]
    return final["verdict"], outcomes, failed, final["counters"]["repairs"], final["history"]["signatures"]


@pytest.mark.parametrize(
    ("first", "outcomes"),
    [
        pytest.param(WORKS, ["passed"], id="work within the limit"),
        pytest.param(SPINS, ["failed", "passed"], id="a loop without end"),
        pytest.param(WAITS, ["failed", "passed"], id="a lock that never opens"),
    ],
)
def test_twenty_busy_processes_change_no_verdict(tmp_path, first, outcomes):
    quiet = verdicts(tmp_path / "quiet", first, 0)
    assert quiet[:2] == ("merged", outcomes)
    assert verdicts(tmp_path / "loaded", first, 20) == quiet
