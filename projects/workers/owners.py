"""Who holds a lease, and whether that process still lives."""

from __future__ import annotations

import os
import socket
from functools import cache
from pathlib import Path


def _started(pid: int) -> str:
    """The start time of a process, in clock ticks after boot; "" when it is gone. Tells a reused pid apart."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in ("Z", "X") else fields[19]


@cache
def _name_of(pid: int) -> str:
    return f"worker:{socket.gethostname()}:{pid}:{_started(pid)}"


def this_worker() -> str:
    """This process's name in leases."""
    return _name_of(os.getpid())


def is_alive(owner: str) -> bool:
    """False only for a process of this machine that is certainly gone; for others the lease's time decides."""
    parts = owner.split(":")
    if len(parts) != 4 or parts[0] != "worker" or parts[1] != socket.gethostname() or not parts[2].isdigit():
        return True
    return _started(int(parts[2])) == parts[3] != ""
