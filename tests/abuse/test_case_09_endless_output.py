"""Case 9: ten gigabytes of output, without line ends, binary, with terminal codes or NULs: bounded, valid text, and the
worker stays small.

Ordinary long output and what is kept of it: tests/sandbox/test_contract.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from sandbox.base import Backend

FLOODS = {
    "10 GB of zeros": "head -c 10G /dev/zero",
    "endless lines": "yes",
    "endless noise": "cat /dev/urandom",
    "on the other stream": "yes >&2",
    "terminal codes": r"yes \"$(printf '\\033[31m\\033]0;x\\007')\"",
    "both at once": "yes & cat /dev/zero >&2",
    "one line that never ends": "yes x | tr -d '\\n'",
}
MOST_KB = 50_000
# In a process of its own, so that its memory is that of one worker; `grown` counts from before the first flood.
WORKER = """
import json, resource, sys
from sandbox.base import SandboxLimits
from sandbox.registry import load_backend
backend, before, seen = load_backend(sys.argv[1]), 0, []
for command in sys.argv[2:]:
    with backend.open(limits=SandboxLimits(memory_mb=256, seconds=40)) as box:
        box.exec(["true"])
        before = before or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        done = box.exec(["sh", "-c", command], seconds=35)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        after = box.exec(["echo", "alive"]).out
    valid = all(text.encode() is not None and chr(0) not in text for text in (done.out, done.err))
    seen.append({"grown": grown, "out": len(done.out), "err": len(done.err), "truncated": done.truncated,
                 "said": done.err[-60:], "code": done.exit_code,
                 "timed_out": done.timed_out, "after": after, "valid": valid})
print(json.dumps(seen))
"""


def test_a_flood_is_stopped_and_the_worker_stays_small(backend: Backend, subtests: pytest.Subtests) -> None:
    words = [sys.executable, "-c", WORKER, backend.name, *FLOODS.values()]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.getcwd()})
    assert done.returncode == 0, done.stderr
    for name, seen in zip(FLOODS, json.loads(done.stdout), strict=True):
        with subtests.test(name):
            assert seen["grown"] < MOST_KB, seen
            assert seen["truncated"]
            assert seen["valid"]
            assert max(seen["out"], seen["err"]) <= 2_000_200
            assert "more than 64 MB of output" in seen["said"]
            assert seen["code"] is None
            assert seen["after"] == "alive\n"
