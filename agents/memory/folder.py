"""The folder of an embedded Chroma, owned by exactly one process.

Two processes on one directory see different records without an error (measured), so a lock file decides who owns it;
anybody else remembers nothing and says why. So does whoever finds the folder damaged, or the disk full: memory makes
work shorter and is never a reason for it to fail.
"""

from __future__ import annotations

import logging
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sandbox.locks import owned

RECORD = "embedding"  # a file in the folder: what it began with
log = logging.getLogger("aiswe.memory")
T = TypeVar("T")


class ChromaFolder:
    """Opened on first use; `problem` says why it cannot be used, "" while it can. Safe to share among threads."""

    def __init__(self, path: Path, embedding: str = "") -> None:
        self.path, self.problem = path, ""
        self._embedding = embedding
        self.taken = False  # another process owns it
        self._client: Any = None
        self._lock = threading.Lock()
        self._owner = ExitStack()

    def client(self) -> Any:
        """Chroma's client; None with a problem."""
        with self._lock:
            if self._client is not None or self.problem:
                return self._client
            try:
                if self._embedding and not self.path.exists():
                    self.path.mkdir(parents=True, exist_ok=True)
                    (self.path / RECORD).write_text(f"{self._embedding}\n", "utf-8")
                self.path.mkdir(parents=True, exist_ok=True)
                mine = self._owner.enter_context(owned(self.path / "owner.lock"))
            except OSError as error:
                self._give_up(error)
                return None
            if not mine:
                self.taken = True
                self.problem = f"Another process owns the memory in {self.path.name}; this one remembers nothing."
                return None
            try:
                self._client = _opened(self.path)
            except BaseException as error:  # noqa: BLE001 - sorted out there
                self._give_up(error)
            return self._client

    def attempt(self, action: Callable[[Any], T], otherwise: T) -> T:
        """Do something with the client; `otherwise` while there is none, and from the first failure on."""
        client = self.client()
        if client is None:
            return otherwise
        try:
            return action(client)
        except BaseException as error:  # noqa: BLE001 - sorted out there
            self._give_up(error)
            return otherwise

    def scrub(self, statement: str, values: Sequence[str]) -> None:
        """Take what was deleted out of the file: Chroma keeps what was written in a queue, SQLite in free pages.

        Else each backup would have it too.
        """
        with closing(sqlite3.connect(self.path / "chroma.sqlite3", timeout=30)) as file:
            with file:
                file.executemany(statement, [(value,) for value in values])
            file.execute("VACUUM")

    def _give_up(self, error: BaseException) -> None:
        """Remember nothing more, and say why. What is no failure of the store (an interrupt) goes on its way."""
        # Chroma's own core ends in a BaseException of this name when it meets a damaged file.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise error
        log.error("the memory in %s cannot be used", self.path, exc_info=error)
        said = error.strerror if isinstance(error, OSError) else str(error)
        what = " ".join(str(said).split())[:200]
        self._client = None
        self.problem = (
            f"The memory in {self.path.name} cannot be used ({type(error).__name__}: {what}), so nothing is "
            "remembered. Mend or move "
            "the folder, then start aiswe again; what was learned is in the audit trail too."
        )

    def close(self) -> None:
        """Give the directory back."""
        with self._lock:
            self._client = None
            self._owner.close()


def _opened(path: Path) -> Any:
    # Imported here: 0.6 s and 60 MB that a command which remembers nothing need not pay.
    import chromadb
    from chromadb.config import Settings

    return chromadb.PersistentClient(str(path), settings=Settings(anonymized_telemetry=False))


@contextmanager
def copied(path: Path) -> Iterator[ChromaFolder]:
    """A copy of a folder that another process owns, to read from; it is removed afterwards. Raises OSError.

    The database is copied as of one moment. Should an index file change meanwhile, the copy reports a problem.
    """
    with tempfile.TemporaryDirectory(prefix="aiswe-memory-") as place:
        target = Path(place) / path.name
        shutil.copytree(path, target, ignore=shutil.ignore_patterns("*.sqlite3*", "owner.lock"))
        for file in path.glob("*.sqlite3"):
            try:
                with (
                    closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as live,
                    closing(sqlite3.connect(target / file.name)) as copy,
                ):
                    live.backup(copy)
            except sqlite3.Error as error:
                raise OSError(f"{file.name} cannot be copied: {error}") from None
        folder = ChromaFolder(target)
        try:
            yield folder
        finally:
            folder.attempt(lambda client: client.close(), None)  # Chroma keeps what it opened, by its path, until then
            folder.close()
