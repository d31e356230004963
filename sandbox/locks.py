"""A lock file: of all processes of this machine, one owns what it stands for."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def owned(path: Path) -> Iterator[bool]:
    """Whether this process owns the lock file until the block ends. The kernel drops the lock of a killed process."""
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        try:
            yield True
        finally:
            # Closing is not enough: a child that was just forked holds the open file, and with it the lock, until exec.
            fcntl.flock(file, fcntl.LOCK_UN)
