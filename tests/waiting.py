"""Waiting for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable

MOST_S = 60.0  # only a test that fails waits so long: a busy machine decides nothing


def eventually(holds: Callable[[], bool]) -> bool:
    """Whether that comes about."""
    end = time.monotonic() + MOST_S
    while not (held := holds()) and time.monotonic() < end:
        time.sleep(0.02)
    return held
