"""Who made a sandbox, and whether they still live: process ids alone are reused."""

from __future__ import annotations

import os
from pathlib import Path


def start_time(pid: int) -> str:
    """When a process started, in clock ticks since boot; empty when there is no such process, or a zombie."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if words[0] in "ZX" else words[19]
    except (OSError, IndexError):
        return ""


def me() -> str:
    """This process as `pid-starttime`."""
    return f"{os.getpid()}-{start_time(os.getpid())}"


def lives(owner: str) -> bool:
    """Whether the process described by `me()` of another process still runs on this machine."""
    pid, _, started = owner.partition("-")
    return pid.isdigit() and bool(started) and start_time(int(pid)) == started
