"""The health checks the site offers; the pages ask here and need not know who checks what."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from typing import Protocol, TypedDict


class HealthCheck(TypedDict):
    """One check: `ok` is None when it could not be judged; `hint` is what a person can do about it."""

    name: str
    ok: bool | None
    detail: str
    hint: str
    seconds: float


class Checks(Protocol):
    """Runs all checks; with names, those that no task can do without and the named ones."""

    def __call__(self, awaited: Collection[str] | None = None) -> list[HealthCheck]: ...


_FRESH_SECONDS = 30.0
_lock = threading.Lock()
_registered: Checks | None = None
_last: tuple[float, list[HealthCheck]] | None = None


def register(checks: Checks) -> None:
    """Name the callable that runs every check; the site does it once at start."""
    global _registered, _last
    _registered, _last = checks, None


def run_checks(*, fresh: bool = False) -> list[HealthCheck]:
    """Every check's answer, at most 30 s old unless `fresh`; [] when the site registered none.

    Raises nothing of its own: what the registered callable raises goes through.
    """
    global _last
    with _lock:
        if _registered is None:
            return []
        if fresh or _last is None or time.monotonic() - _last[0] > _FRESH_SECONDS:
            _last = (time.monotonic(), _registered())
        return _last[1]


def needed_checks(awaited: Collection[str]) -> list[HealthCheck]:
    """The answers, as of now, of the checks that every task needs and of those that are waited for."""
    return [] if _registered is None else _registered(awaited)
