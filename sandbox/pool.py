"""Sandboxes that stand ready before a task asks: opened, test tools imported, nothing run in them.

One is handed over once and closed by who got it; none is ever given back, so no task meets another's leftovers.
"""

from __future__ import annotations

import atexit
import queue
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Self, Unpack

from sandbox.base import Availability, Backend, PackageSet, Sandbox, SandboxError, SandboxLimits, SandboxWish
from sandbox.node_env import find_node_modules

MAX_AGE_SECONDS = 600.0  # an idle worker holds no memory for ever
WARM_SECONDS = 60.0
END_SECONDS = 5.0  # a process that ends waits no longer for what is just being made ready
MAX_KINDS = 2  # without packages, and with the set that was asked for last


@dataclass(frozen=True)
class PoolKey:
    """What makes two fresh sandboxes interchangeable."""

    limits: SandboxLimits
    folder: str
    node_modules: str = ""  # where the tools of Node are, which may be installed meanwhile


@dataclass(frozen=True)
class _Ready:
    sandbox: Sandbox
    since: float


class ReadyPool:
    """A backend that hands over ready sandboxes and opens others on request. Safe for many threads of one process."""

    def __init__(self, backend: Backend, *, size: int = 1, max_age: float = MAX_AGE_SECONDS) -> None:
        """`size` sandboxes of each kind stand ready, none for 0; one older than `max_age` seconds is closed unused."""
        self.name, self._backend, self._size, self._max_age = backend.name, backend, size, max_age
        self._ready: OrderedDict[PoolKey, list[_Ready]] = OrderedDict()
        self._packages: dict[PoolKey, PackageSet | None] = {}
        self._lock = threading.Lock()
        self._orders: queue.SimpleQueue[PoolKey | None] = queue.SimpleQueue()
        self._filler: threading.Thread | None = None
        self._closed = False
        atexit.register(self.close)

    def availability(self) -> Availability:
        return self._backend.availability()

    def open(self, **wanted: Unpack[SandboxWish]) -> Sandbox:
        """A ready sandbox, else a fresh one; another is prepared meanwhile. Raises SandboxUnavailable."""
        kind = self._wanted(wanted)
        found = self._take(kind)
        self._orders.put(kind)
        return found or self._backend.open(**wanted)

    def prepare(self, limits: SandboxLimits | None = None) -> None:
        """Make sandboxes without packages ready, without waiting for them."""
        self._orders.put(self._wanted({"limits": limits or SandboxLimits()}))

    def _wanted(self, wanted: SandboxWish) -> PoolKey:
        packages = wanted.get("packages")
        folder = str(packages.folder) if packages is not None and packages.names else ""
        kind = PoolKey(wanted.get("limits", SandboxLimits()), folder, str(find_node_modules() or ""))
        with self._lock:
            self._packages[kind] = packages
            self._ready.setdefault(kind, [])
            self._ready.move_to_end(kind)
            forgotten = [self._ready.popitem(last=False) for _ in range(len(self._ready) - MAX_KINDS)]
            for old, _ in forgotten:
                del self._packages[old]
            if self._filler is None and not self._closed and self._size:
                self._filler = threading.Thread(target=self._fill, name="sandbox-pool", daemon=True)
                self._filler.start()
        for _, unused in forgotten:
            _close(unused)
        return kind

    def _take(self, kind: PoolKey) -> Sandbox | None:
        while True:
            with self._lock:
                standing = self._ready.get(kind)
                if not standing:
                    return None
                first = standing.pop(0)
            if not self._fresh(first):
                first.sandbox.close()
            elif _answers(first.sandbox):
                return first.sandbox

    def _fresh(self, ready: _Ready) -> bool:
        return time.monotonic() - ready.since < self._max_age

    def _fill(self) -> None:
        while (kind := self._orders.get()) is not None:
            while self._lacks(kind):
                try:
                    made = self._backend.open(limits=kind.limits, packages=self._packages.get(kind), label="ready")
                    made.warm_up()
                    if not _answers(made, WARM_SECONDS):  # the answer comes when its tools are loaded
                        break
                except SandboxError:  # the next task opens one itself, and hears why it cannot
                    break
                with self._lock:
                    kept = not self._closed and kind in self._ready
                    if kept:
                        self._ready[kind].append(_Ready(made, time.monotonic()))
                if not kept:
                    made.close()

    def _lacks(self, kind: PoolKey) -> bool:
        with self._lock:
            return not self._closed and kind in self._ready and len(self._ready[kind]) < self._size

    def standing(self) -> int:
        """How many stand ready now."""
        with self._lock:
            return sum(map(len, self._ready.values()))

    def tend(self) -> None:
        """Close what has stood too long; new ones are made when a task asks again."""
        with self._lock:
            old = [ready for standing in self._ready.values() for ready in standing if not self._fresh(ready)]
            for standing in self._ready.values():
                standing[:] = [ready for ready in standing if ready not in old]
        _close(old)

    def reap(self) -> int:
        return self._backend.reap()

    def close(self) -> None:
        """Close all that stand ready or are being made so; what was handed over is its owner's. May be called twice."""
        with self._lock:
            self._closed = True
            unused = [ready for standing in self._ready.values() for ready in standing]
            self._ready.clear()
        _close(unused)
        self._orders.put(None)
        if self._filler is not None:
            self._filler.join(END_SECONDS)
        atexit.unregister(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class Fitted:
    """A backend with the limits of one project: they hold wherever nobody names others."""

    def __init__(self, backend: Backend, limits: SandboxLimits) -> None:
        self.name, self._backend, self.limits = backend.name, backend, limits

    def availability(self) -> Availability:
        return self._backend.availability()

    def open(self, **wanted: Unpack[SandboxWish]) -> Sandbox:
        """A sandbox with these limits; raises SandboxUnavailable."""
        wanted.setdefault("limits", self.limits)
        return self._backend.open(**wanted)

    def reap(self) -> int:
        return self._backend.reap()


def _answers(sandbox: Sandbox, seconds: float = 5.0) -> bool:
    ask = getattr(sandbox, "answers", None)
    if ask is None or ask(seconds):
        return True
    sandbox.close()
    return False


def _close(unused: list[_Ready]) -> None:
    for ready in unused:
        ready.sandbox.close()
