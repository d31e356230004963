"""How much is tried: a part in `make test`, everything in the stage of `.ci/run` after it (`-m whole`)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

WHOLE = os.environ.get("AISWE_WHOLE_TESTS") == "1"


def scaled(whole: int, part: int = 10) -> int:
    """A number of examples, or a size: whole in the whole stage, else a `part`th of it."""
    return whole if WHOLE else max(whole // part, 1)


def growth(work: Callable[[int], object], small: int) -> float:
    """How many times the CPU of `work(small)` does `work(8 * small)` take? 8 if it is linear, 64 if it is quadratic.

    No load of the machine changes that. The least of three measurements counts; a low one ends them.
    """
    work(small)  # what is made once is no part of it
    first = max(min(_cpu(work, small) for _ in range(2)), 1e-4)
    least = float("inf")
    for _ in range(3):
        least = min(least, _cpu(work, 8 * small) / first)
        if least < 16:
            break
    return least


def _cpu(work: Callable[[int], object], size: int) -> float:
    began = time.thread_time()
    work(size)
    return time.thread_time() - began
