"""How much is tried: a part in `make test`, everything in the stage of `.ci/run` after it (`-m whole`)."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable

WHOLE = os.environ.get("AISWE_WHOLE_TESTS") == "1"


def scaled(whole: int, part: int = 10) -> int:
    """A number of examples, or a size: whole in the whole stage, else a `part`th of it."""
    return whole if WHOLE else max(whole // part, 1)


def growth(work: Callable[[int], object], small: int) -> float:
    """How many times the CPU of `work(small)` does `work(8 * small)` take? 8 if it is linear, 64 if it is quadratic.

    A busy machine makes single measurements long, never short: the least of five of each size counts; two with a
    low ratio end them.
    """
    work(small)  # what is made once is no part of it
    first = large = float("inf")
    for measured in range(5):
        first = min(first, max(_cpu(work, small), 1e-4))
        large = min(large, _cpu(work, 8 * small))
        if measured and large < 16 * first:
            break
    return large / first


def _cpu(work: Callable[[int], object], size: int) -> float:
    gc.disable()  # a collection looks at all that the tests before left in memory, the more often the larger the input
    try:
        began = time.thread_time()
        work(size)
        return time.thread_time() - began
    finally:
        gc.enable()
