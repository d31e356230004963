"""What can go wrong with a model server, to order."""

import threading
from dataclasses import dataclass
from typing import Any, Literal

FaultKind = Literal[
    "hang",
    "stall",
    "drip",
    "close",
    "cut",
    "garbage",
    "half_json",
    "half_char",
    "error_line",
    "flood",
    "status",
    "keep_alive",
    "no_end",
    "silent_end",
]


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong with a call to `path`.

    hang: no answer at all · stall: silence after `after` pieces · drip: `seconds` between pieces · close: hang up
    after `after` pieces · garbage: bytes that are no JSON · half_json: hang up in the middle of a line · error_line:
    an error after `after` pieces · flood: `size` bytes of text · status: HTTP `status` with `retry_after`, `words` and
    `reason` · cut: a proper end after `after` pieces, without the mark of one · half_char: every byte in a chunk of its
    own · keep_alive: comments between the pieces · no_end: all of the text, but no mark of its end · silent_end:
    silence after the reason of the end.
    """

    kind: FaultKind
    path: str = "/api/chat"
    after: int = 3
    seconds: float = 60.0
    size: int = 2_500_000
    status: int = 503
    retry_after: float | None = None
    words: str = ""
    reason: str = ""


class Faults:
    """The faults waiting to happen, oldest first; each is used up by one call."""

    def __init__(self) -> None:
        self._waiting: list[Fault] = []
        self._lock = threading.Lock()

    def add(self, kind: FaultKind, *, times: int = 1, **details: Any) -> None:
        """Order a fault for the next `times` calls; details as in `Fault`."""
        with self._lock:
            self._waiting += [Fault(kind, **details)] * times

    def take(self, path: str) -> Fault | None:
        """The next fault for a path, if any; it is used up."""
        with self._lock:
            for index, fault in enumerate(self._waiting):
                if fault.path == path:
                    return self._waiting.pop(index)
        return None

    def clear(self) -> None:
        """Forget all faults still waiting."""
        with self._lock:
            self._waiting.clear()
