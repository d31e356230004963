"""What git has on disk, read without starting it: objects that lie loose, and the head of a branch.

Next to a process for each file this is a hundred times cheaper. Whatever does not lie there in the plain way (packed, a
symbolic reference, damaged) is None here, and git's to read.
"""

from __future__ import annotations

import hashlib
import re
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

V = TypeVar("V")
NAME = re.compile(r"[0-9a-f]{40}")
MOST_BYTES = 64_000_000  # of one object; more is git's to read


def loose_blob(repository: Path, name: str) -> bytes | None:
    """The content of a file by its hash; what is found is checked against it."""
    if not NAME.fullmatch(name):
        return None
    try:
        packed = (repository / ".git" / "objects" / name[:2] / name[2:]).read_bytes()
        unpacking = zlib.decompressobj()
        whole = unpacking.decompress(packed, MOST_BYTES)
    except (OSError, zlib.error):
        return None
    if not unpacking.eof or hashlib.sha1(whole, usedforsecurity=False).hexdigest() != name:
        return None
    head, _, content = whole.partition(b"\0")
    return content if head.startswith(b"blob ") else None


def loose_head(repository: Path, branch: str) -> str | None:
    """The commit that a branch stands at."""
    try:
        text = (repository / ".git" / "refs" / "heads" / branch).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    return text if NAME.fullmatch(text) else None


class Remembered(Generic[V]):
    """Values that can never change, by key: the ones used last, up to `most` in weight. For many threads."""

    def __init__(self, most: int, weight: Callable[[V], int]) -> None:
        self._most, self._weight = most, weight
        self._held: OrderedDict[tuple[str, str], V] = OrderedDict()
        self._total, self._lock = 0, threading.Lock()

    def get(self, key: tuple[str, str], make: Callable[[], V]) -> V:
        """The value; made, and kept unless it is too heavy, when it is not there. What `make` raises is not kept."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        value = make()
        weight = self._weight(value)
        with self._lock:
            if key not in self._held and weight <= self._most // 4:
                self._held[key] = value
                self._total += weight
                while self._total > self._most:
                    self._total -= self._weight(self._held.popitem(last=False)[1])
        return value
