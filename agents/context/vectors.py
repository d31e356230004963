"""Vectors of an embedding model by the content they stand for, in one SQLite file.

Only an index: whoever deletes the file loses time and nothing else, and a file that cannot be read is begun anew.
"""

from __future__ import annotations

import hashlib
import math
import sqlite3
import threading
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import TypeAlias, TypeVar

KEPT = 40_000  # of 768 numbers each about 130 MB
_AT_ONCE = 500  # host parameters of one question to SQLite

T = TypeVar("T")
Vector: TypeAlias = "array[float]"  # of 32-bit floats, of length 1


def hash_of(model: str, text: str) -> str:
    """The name of a text's vector."""
    return hashlib.sha256(f"{model}\0{text}".encode("utf-8", "replace")).hexdigest()[:40]


def unit(numbers: Sequence[float]) -> Vector | None:
    """The vector at length 1; None for one that points nowhere."""
    length = math.sqrt(sum(number * number for number in numbers))
    if not math.isfinite(length) or length == 0.0:
        return None
    return array("f", [number / length for number in numbers])


class VectorStore:
    """At most `kept` vectors; those not asked for longest go first. Threads and processes may share a file."""

    def __init__(
        self, path: Path, kept: int = KEPT, today: Callable[[], int] = lambda: date.today().toordinal()
    ) -> None:
        self._path, self._kept, self._today = path, kept, today
        self._lock = threading.Lock()

    def get(self, names: Iterable[str]) -> dict[str, Vector]:
        """Those that are known; nothing while the file cannot be read."""
        wanted, day = list(dict.fromkeys(names)), self._today()

        def read(base: sqlite3.Connection) -> dict[str, Vector]:
            found: dict[str, Vector] = {}
            old = []
            for at in range(0, len(wanted), _AT_ONCE):
                part = wanted[at : at + _AT_ONCE]
                marks = ",".join("?" * len(part))
                for name, seen, numbers in base.execute(
                    f"SELECT name, seen, numbers FROM vectors WHERE name IN ({marks})",  # noqa: S608 - question marks
                    part,
                ):
                    if len(numbers) % 4 == 0:
                        found[name] = array("f", numbers)
                    if seen != day:
                        old.append((day, name))
            base.executemany("UPDATE vectors SET seen = ? WHERE name = ?", old)
            return found

        return self._done(read, {})

    def put(self, vectors: Mapping[str, Vector]) -> None:
        """Keep these; while the disk refuses, they are not kept."""
        rows = [(name, self._today(), vector.tobytes()) for name, vector in vectors.items()]

        def write(base: sqlite3.Connection) -> None:
            base.executemany("INSERT OR REPLACE INTO vectors (name, seen, numbers) VALUES (?, ?, ?)", rows)
            (many,) = base.execute("SELECT COUNT(*) FROM vectors").fetchone()
            if many > self._kept:
                # A tenth more than needed, so that not every vector costs a search for the oldest.
                base.execute(
                    "DELETE FROM vectors WHERE name IN (SELECT name FROM vectors ORDER BY seen, rowid LIMIT ?)",
                    (many - self._kept + self._kept // 10,),
                )

        self._done(write, None)

    def _done(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        with self._lock:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with closing(self._connected()) as base, base:
                    return work(base)
            except (sqlite3.Error, OSError):
                return otherwise

    def _connected(self) -> sqlite3.Connection:
        try:
            return _made(self._path)
        except sqlite3.OperationalError:
            raise  # busy, or the disk is full: the file itself may be sound
        except sqlite3.DatabaseError:
            self._path.unlink(missing_ok=True)
            return _made(self._path)


def _made(path: Path) -> sqlite3.Connection:
    base = sqlite3.connect(path, timeout=5.0)
    try:
        base.execute("CREATE TABLE IF NOT EXISTS vectors (name TEXT PRIMARY KEY, seen INTEGER, numbers BLOB)")
    except sqlite3.Error:
        base.close()
        raise
    return base
