"""A circuit breaker: after some failures in a row a server is left alone for a while, then asked once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Literal

from agents.llm.base import ModelUnavailable

BreakerState = Literal["closed", "open", "half_open"]


class Breaker:
    """Shared by all calls to one server; safe across threads.

    Opens after `failures` in a row, for `cooldown` seconds (longer when the server named a longer time); then lets
    one probe through and opens again or closes by its outcome.
    """

    def __init__(
        self, server: str, *, failures: int = 5, cooldown: float = 15.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.server = server
        self._limit, self._cooldown, self._clock = failures, cooldown, clock
        self._failed = 0
        self._until: float | None = None  # None: closed
        self._probing = False
        self._lock = threading.Lock()

    @property
    def state(self) -> BreakerState:
        """Where the breaker stands now."""
        with self._lock:
            if self._until is None:
                return "closed"
            return "open" if self._clock() < self._until else "half_open"

    def enter(self) -> None:
        """Ask leave for one call; raises `ModelUnavailable` with the seconds to wait while the server is left alone."""
        with self._lock:
            if self._until is None:
                return
            left = self._until - self._clock()
            if left <= 0 and not self._probing:
                self._probing = True
                return
            wait = left if left > 0 else 1.0
            raise ModelUnavailable(
                f"The model server {self.server} failed {self._failed} times in a row; next try in {wait:.0f} s.", wait
            )

    def succeeded(self) -> None:
        """The server answered: close."""
        with self._lock:
            self._failed, self._until, self._probing = 0, None, False

    def failed(self, retry_after: float | None = None) -> None:
        """The server did not answer; opens at the limit, or at once when the probe failed."""
        with self._lock:
            self._failed += 1
            if self._probing or self._failed >= self._limit:
                self._until = self._clock() + max(self._cooldown, retry_after or 0.0)
            self._probing = False

    def left(self) -> None:
        """The call ended without saying anything about the server (somebody stopped it): give the probe back."""
        with self._lock:
            self._probing = False
