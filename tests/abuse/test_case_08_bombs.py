"""Case 8: a fork bomb, a memory bomb, an endless loop and millions of files end at their limits; the worker and the
next task go on.

The same inside a whole task: tests/faults/test_untrusted_code.py.
"""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from sandbox import bubblewrap
from sandbox.base import Backend, Sandbox
from sandbox.cgroups import Group
from tests.needs import missing
from tests.sandbox.conftest import SMALL

BOMBS = {
    "processes": "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass",
    "threads": "import threading, time\nwhile True:\n    threading.Thread(target=time.sleep, args=(60,)).start()",
    "memory": "kept = []\nwhile True: kept.append(bytearray(1 << 24))",
    "memory in many processes": "import os\nfor _ in range(20):\n    if not os.fork():\n        break\nkept = "
    "bytearray(40 << 20)\nwhile True: pass",
    "processor": "while True: pass",
    "a processor that ignores signals": "import signal\nfor n in range(1, 65):\n    try: signal.signal(n, "
    "signal.SIG_IGN)\n    except (OSError, ValueError): pass\nwhile True: pass",
    "files": "n = 0\nwhile True:\n    open(f'/workspace/{n}', 'w').close(); n += 1",
    "files in /tmp": "n = 0\nwhile True:\n    open(f'/tmp/{n}', 'w').close(); n += 1",
    "folders in shared memory": "import os\nn = 0\nwhile True:\n    os.mkdir(f'/dev/shm/{n}'); n += 1",
    "open files": "kept = []\nwhile True: kept.append(open('/dev/null'))",
}


@pytest.mark.parametrize("source", BOMBS.values(), ids=BOMBS)
def test_a_bomb_ends_and_the_next_task_starts_at_once(backend: Backend, source: str) -> None:
    limits = replace(SMALL, inodes=5_000)
    with backend.open(limits=limits) as box:
        done = box.exec(["python", "-c", source], seconds=1)
        assert not done.ok
        assert box.exec(["true"], seconds=5).ok
        # What was killed may still be on its way out on a busy machine.
        assert any(
            box.exec(["sh", "-c", "sleep 0.2; ls /proc | grep -c '^[0-9]'"], seconds=5).out.strip() in ("4", "3")
            for _ in range(20)
        )
    with backend.open(limits=SMALL) as fresh:
        assert fresh.exec(["python", "-c", "print('next')"], seconds=5).out == "next\n"


@pytest.mark.parametrize("place", ["/workspace", "/tmp", "/dev/shm"])
def test_too_many_files_are_named_as_such_and_can_be_removed(backend: Backend, place: str) -> None:
    with backend.open(limits=replace(SMALL, inodes=3_000)) as box:
        done = box.exec(["python", "-c", f"for n in range(10**7): open(f'{place}/{{n}}', 'w').close()"], seconds=25)
        assert "No space left on device" in done.err
        assert not done.timed_out
        left = box.exec(["sh", "-c", f"rm -rf {place}/*; ls -A {place}"], seconds=25).out.split()
        assert not [name for name in left if name.isdigit()]
        assert box.exec(["touch", f"{place}/again"]).ok


def test_commands_are_never_root(box: Sandbox) -> None:
    assert box.exec(["id", "-u"]).out.strip() != "0"
    assert "Uid:\t0" not in box.exec(["sh", "-c", "cat /proc/*/status"]).out


SPIN = "import os, time\nend = time.monotonic() + 2\nfor _ in range(3): os.fork()\nwhile time.monotonic() < end: pass"


def test_many_processes_share_one_limit_of_processor_time(backend: Backend) -> None:
    with backend.open(limits=replace(SMALL, cpus=0.25, seconds=90)) as box:
        probe = bubblewrap.make_group(f"4194304001-{os.getpid()}-1", SMALL)
        probe.remove(1.0)
        if backend.name == "bubblewrap" and not probe.folders:
            missing("no control group may be made here, so processor time has a limit per process only")
        words = ["sh", "-c", f"python -c '{SPIN}'; cat /proc/self/stat >/dev/null; times"]
        done = box.exec(words, seconds=90)
        user, system = done.out.splitlines()[-1].split()
        used = sum(60 * float(part.split("m")[0]) + float(part.split("m")[1].rstrip("s")) for part in (user, system))
        assert 0 < used < 1.5, done.out  # eight processes for two seconds on a quarter of a processor


HIDDEN = {
    "memory without a process (memfd)": "import os\nkept = [os.memfd_create('x') for _ in range(40)]\nfor fd in "
    "kept: os.write(fd, b'x' * (1 << 25))",
    "memory without a process (shm)": "import ctypes\nlibc = ctypes.CDLL(None)\nif libc.shmget(0, 1 << 30, 0o1600) "
    "< 0: raise OSError",
}


@pytest.mark.bubblewrap
@pytest.mark.parametrize("source", HIDDEN.values(), ids=HIDDEN)
def test_memory_that_nobody_counts_cannot_be_had(monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    """Where no control group can be made, what belongs to no process would belong to no limit."""
    monkeypatch.setattr(bubblewrap, "make_group", lambda name, limits: Group())
    with bubblewrap.BubblewrapBackend().open(limits=SMALL) as box:
        done = box.exec(["python", "-c", source], seconds=20)
        assert not done.ok
        assert "Error" in done.err
