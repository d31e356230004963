"""Stopwatches put around the engine's parts from outside; each part's time is its own, without what it called."""

from __future__ import annotations

import functools
import os
import resource
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Stopwatch:
    """Exclusive wall time by part and thread; sections nest."""

    def __init__(self) -> None:
        self.own: defaultdict[str, float] = defaultdict(float)
        self.calls: defaultdict[str, int] = defaultdict(int)
        self.samples: defaultdict[str, list[float]] = defaultdict(list)  # whole time of each call, seconds
        self._local = threading.local()
        self._lock = threading.Lock()

    @contextmanager
    def section(self, part: str) -> Iterator[None]:
        """Count what happens inside to `part`."""
        stack = self._local.__dict__.setdefault("stack", [])
        stack.append(0.0)
        began = time.perf_counter()
        try:
            yield
        finally:
            took = time.perf_counter() - began
            inner = stack.pop()
            if stack:
                stack[-1] += took
            with self._lock:
                self.own[part] += took - inner
                self.calls[part] += 1
                self.samples[part].append(took)

    def timed(self, part: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """The same callable, counted to `part`."""

        @functools.wraps(call)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self.section(part):
                return call(*args, **kwargs)

        return wrapper

    def watch(self, thing: Any, part: str, *, result: Callable[[Any], Any] = lambda value: value) -> Any:
        """Put a watch around each public method of one object; `result` may watch what they return."""
        for name in dir(type(thing)):
            method = getattr(thing, name, None)
            if name.startswith("_") or not callable(method) or isinstance(method, type):
                continue
            timed = self.timed(part, method)
            setattr(thing, name, functools.wraps(method)(lambda *a, _call=timed, **k: result(_call(*a, **k))))
        return thing


class Cpu:
    """CPU seconds of this process since the last look, and of its children that have ended."""

    def __init__(self) -> None:
        self._own, self._children = self._now()

    @staticmethod
    def _now() -> tuple[float, float]:
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.process_time(), ended.ru_utime + ended.ru_stime

    def look(self) -> tuple[float, float]:
        """(own, children) since the last look."""
        own, children = self._now()
        found = own - self._own, children - self._children
        self._own, self._children = own, children
        return found


class Walls:
    """CPU seconds of the bubblewraps this process started, read while they live.

    A sandbox is killed, not waited for from inside, so the kernel never adds its time to ours. Docker's containers are
    nobody's children and are not seen.
    """

    def __init__(self) -> None:
        self._most: dict[int, float] = {}
        self._lock = threading.Lock()

    def note(self) -> None:
        """Look at all that live now; call it before one is closed."""
        found = _trees(os.getpid(), "bwrap")
        with self._lock:
            for pid, seconds in found.items():
                self._most[pid] = max(seconds, self._most.get(pid, 0.0))

    def total(self) -> float:
        """Of all that were ever noted."""
        with self._lock:
            return sum(self._most.values())

    def watched(self, sandbox: Any) -> Any:
        """The same sandbox, noted before it is closed."""
        close = sandbox.close

        def noted() -> None:
            self.note()
            close()

        sandbox.close = noted
        return sandbox


def _trees(parent: int, name: str) -> dict[int, float]:
    """CPU seconds of each child of `parent` called `name`, with all below it, those that have ended included."""
    tick = os.sysconf("SC_CLK_TCK")
    below: defaultdict[int, list[int]] = defaultdict(list)
    names, seconds = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            head, _, rest = stat.read_text(errors="replace").rpartition(")")
        except OSError:  # it ended while we looked
            continue
        pid, fields = int(stat.parent.name), rest.split()
        names[pid] = head.partition("(")[2]
        below[int(fields[1])].append(pid)
        seconds[pid] = sum(map(int, fields[11:15])) / tick

    def whole(pid: int) -> float:
        return seconds[pid] + sum(map(whole, below[pid]))

    return {pid: whole(pid) for pid in below[parent] if names[pid] == name}
