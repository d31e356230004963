"""What the agent does to processes: becoming nobody, watching memory, ending everything."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import time

from sandbox.inside.files import ROOT

PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 4, 24, 38
CAPABILITY_VERSION = 0x20080522

libc = ctypes.CDLL(None, use_errno=True)


def drop_privileges(uid: int, gid: int) -> None:
    """Leave root for good: only used where the sandbox was set up without a user namespace."""
    if os.getuid() == 0 and uid:
        for folder in (ROOT, "/tmp"):  # noqa: S108 - a private tmpfs, not the host's
            os.chown(folder, uid, gid)
        for capability in range(64):
            libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
        libc.capset((ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)())  # the inheritable ones
    if os.getuid() == 0 or os.geteuid() == 0:
        os._exit(3)  # never run anything as root
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    # Commands share our uid: without this they could open /proc/1/fd and answer in our place.
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def oom_kills() -> int:
    """How often the kernel ended a process of this container for memory, where its control group can be seen."""
    for path in ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"):
        try:
            with open(path) as lines:
                return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
        except (OSError, ValueError, IndexError):
            continue
    return 0


def resident_bytes() -> int:
    """Memory held by all processes but this one (shared pages are counted once per process)."""
    total, page = 0, resource.getpagesize()
    for name in os.listdir("/proc"):
        if name.isdigit() and name != "1":
            try:
                with open(f"/proc/{name}/statm") as text:
                    total += int(text.read().split()[1]) * page
            except (OSError, ValueError, IndexError):
                continue
    return total


class CpuClock:
    """The time of a command without what a busy machine took from it: ready to run, but given no CPU."""

    def __init__(self) -> None:
        self.began = self._at = time.monotonic()
        self.waited, self.used, self._seen = 0.0, 0.0, dict[str, tuple[int, int]]()

    def seconds(self, cpus: float) -> float:
        """What counts for a limit: never less than the CPU time that was used, never more than the time itself."""
        now = time.monotonic()
        if now - self._at >= 0.1:
            self._look(now)
        return max(now - self.began - self.waited, min(now - self.began, self.used / cpus))

    def _look(self, now: float) -> None:
        longest, seen = 0, dict[str, tuple[int, int]]()
        for pid in os.listdir("/proc"):
            if pid.isdigit() and pid != "1":
                try:
                    for task in os.listdir(f"/proc/{pid}/task"):
                        with open(f"/proc/{pid}/task/{task}/schedstat") as text:
                            ran, waited = (int(word) for word in text.read().split()[:2])
                        ran_before, waited_before = self._seen.get(task, (0, 0))
                        seen[task] = ran, waited
                        self.used += max(0, ran - ran_before) / 1e9
                        longest = max(longest, waited - waited_before)
                except (OSError, ValueError):  # it has ended, or the kernel does not count this
                    continue
        self.waited += min(now - self._at, longest / 1e9)  # of several that waited side by side the longest
        self._at, self._seen = now, seen


def collect(status: dict[int, int]) -> bool:
    """Note the exit status of every child that has ended; True when there is none left."""
    try:
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            status[ended[0]] = ended[1]
    except ChildProcessError:
        return True
    return False


def kill_everything(status: dict[int, int], seconds: float = 5.0) -> bool:
    """End every other process here and collect them; False when some would not go."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            pass
        except PermissionError:
            pass
        if collect(status):
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
