"""Energy as this machine measures it: RAPL counters of the processors, NVML counters of the graphics cards.

A model call gets what the whole machine took while it lasted, each joule once: of calls at the same time the one that
ends first gets what they shared. Tried on files like those of the kernel and on a stand-in for the NVML library only.
"""

from __future__ import annotations

import ctypes
import re
import threading
from collections import deque
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any

from django.conf import settings

POWERCAP = Path("/sys/class/powercap")
PACKAGE = re.compile(r"intel-rapl:\d+")  # a processor; its parts have one more number
REST_S = 0.5  # between two readings
KEPT = 4_000


def nvml() -> Any:
    """The NVML library of the driver; None without one."""
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    return library if library.nvmlInit_v2() == 0 else None


class EnergyMeter:
    """Counts joules since it began; knows nothing where neither counter can be read."""

    def __init__(self, root: Path = POWERCAP, library: Any = None) -> None:
        self._packages = [path for path in sorted(root.glob("*")) if PACKAGE.fullmatch(path.name)]
        self._library, self._last, self._total = library, dict[str, int](), 0.0
        self._points: deque[tuple[float, float]] = deque(maxlen=KEPT)
        self._claimed = float("-inf")
        self._lock = threading.Lock()

    def _counters(self) -> dict[str, tuple[int, int]]:
        """Each counter in microjoules, and where it starts again from zero (0: nowhere)."""
        found = {}
        for path in self._packages:
            try:
                now, most = (int((path / name).read_text()) for name in ("energy_uj", "max_energy_range_uj"))
            except (OSError, ValueError):  # only root may read it on many systems
                continue
            found[path.name] = (now, most)
        if self._library is not None:
            number = ctypes.c_uint()
            self._library.nvmlDeviceGetCount_v2(ctypes.byref(number))
            for place in range(number.value):
                card, millijoules = ctypes.c_void_p(), ctypes.c_ulonglong()
                self._library.nvmlDeviceGetHandleByIndex_v2(place, ctypes.byref(card))
                if self._library.nvmlDeviceGetTotalEnergyConsumption(card, ctypes.byref(millijoules)) == 0:
                    found[f"nvml:{place}"] = (millijoules.value * 1_000, 0)
        return found

    def read(self, now: float, *, at_once: bool = False) -> None:
        """Take a reading, unless the last one is fresh."""
        with self._lock:
            if not at_once and self._points and now - self._points[-1][0] < REST_S:
                return
            counters = self._counters()
            for name, (value, most) in counters.items():
                before = self._last.get(name, value)
                self._total += (value - before if value >= before else value + most - before) / 1_000_000
                self._last[name] = value
            if counters:
                self._points.append((now, self._total))

    def take(self, seconds: float, now: float) -> float | None:
        """The joules of the last `seconds` that no call has taken yet; None when they were not measured."""
        self.read(now, at_once=True)
        with self._lock:
            start = max(now - seconds, self._claimed)
            if not self._points or self._points[0][0] > start or self._points[-1][0] < now:
                return None
            self._claimed = max(now, self._claimed)
            return max(0.0, self._points[-1][1] - self._at(start))

    def _at(self, moment: float) -> float:
        """The count at a moment, between the readings around it."""
        before = self._points[0]
        for point in self._points:
            if point[0] > moment:
                share = (moment - before[0]) / (point[0] - before[0])
                return before[1] + share * (point[1] - before[1])
            before = point
        return before[1]


@cache
def meter() -> EnergyMeter | None:
    """The meter of this process; None unless it was asked for."""
    return EnergyMeter(library=nvml()) if settings.MEASURE_ENERGY else None


def note_reading() -> None:
    """Take a reading where energy is measured: called at each event, so that one is there before a model is asked."""
    if (here := meter()) is not None:
        here.read(monotonic())


def joules_of(seconds: float) -> float | None:
    """What a call that has just ended after so many seconds took; None when it was not measured."""
    here = meter()
    return None if here is None else here.take(seconds, monotonic())
