"""How many calls a model server answers at a time, and how many of them this process is making."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class ConcurrencyLimit:
    """Counts the calls in flight per server; safe across threads.

    It bounds nobody by itself: a call beyond the limit is made and queues at the server. Whoever wants several calls at
    the same time asks first how many are `free`.
    """

    def __init__(self, parallel: Callable[[str], int]) -> None:
        """`parallel` gives the number of calls that a server (a provider's `server`) answers at a time."""
        self._parallel, self._in_flight, self._lock = parallel, Counter[str](), threading.Lock()

    def free(self, server: str) -> int:
        """How many more calls the server answers now without queueing; never less than one."""
        with self._lock:
            return max(1, self._parallel(server) - self._in_flight[server])

    @contextmanager
    def call(self, server: str) -> Iterator[None]:
        """Count a call to the server while it lasts."""
        with self._lock:
            self._in_flight[server] += 1
        try:
            yield
        finally:
            with self._lock:
                self._in_flight[server] -= 1
