"""Where everything the product writes lies, and the files by which its processes find one another.

Works without Django: the command line and the supervisor stay small and fast.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

REPOSITORY = Path(__file__).resolve().parent.parent.parent


class HomeTaken(Exception):
    """Another `aiswe up` works on this folder; the text says which."""


@dataclass(frozen=True)
class Home:
    """The folder named by AISWE_HOME."""

    path: Path

    @classmethod
    def from_environment(cls) -> Home:
        """The folder of this environment; the default is `.aiswe` beside the code. Made if it is missing."""
        path = Path(os.environ.get("AISWE_HOME") or REPOSITORY / ".aiswe").expanduser().resolve()
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        return cls(path)

    @property
    def run(self) -> Path:
        """Folder of the pid and lock files."""
        folder = self.path / "run"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def logs(self) -> Path:
        """Folder of the log files."""
        folder = self.path / "logs"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def worker_pid_file(self) -> Path:
        """Holds the process id of the child that serves and works, while there is one."""
        return self.run / "worker.pid"

    @property
    def supervisor_pid_file(self) -> Path:
        """Holds the process id of the parent."""
        return self.run / "supervisor.pid"

    @property
    def address_file(self) -> Path:
        """Holds the address that is being served."""
        return self.run / "address"


class HomeLock:
    """Only one supervisor works on a folder: its database, its vector store and its queue have one owner.

    The kernel drops the lock with the process, so a lock file left by a crash never stands in the way.
    """

    def __init__(self, home: Home) -> None:
        self.home = home
        self._file: IO[str] | None = None

    def __enter__(self) -> HomeLock:
        file = (self.home.run / "up.lock").open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise HomeTaken(self._who()) from None
        self._file = file
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def _who(self) -> str:
        pid, address = read_text(self.home.supervisor_pid_file), read_text(self.home.address_file)
        at = f" at {address}" if address else ""
        return f"Another aiswe process already uses {self.home.path} (process {pid or 'unknown'}{at})."


def wake_worker(home: Home) -> bool:
    """Tell the running `aiswe up` that there is work; False when none runs on this folder."""
    with contextlib.suppress(HomeTaken), HomeLock(home):
        return False
    # The lock is held, so the process id in the file is that of a living supervisor, not of a stranger.
    pid = read_text(home.supervisor_pid_file)
    if not pid.isdecimal():
        return False
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(int(pid), signal.SIGUSR1)
        return True
    return False


def read_text(path: Path) -> str:
    """The content of a small file without white space around it, "" when there is no such file."""
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        return ""


def note(error: BaseException) -> Path:
    """Keep an unexpected error's trace in the log folder, for whoever will mend it; returns the file."""
    home = Home.from_environment()
    path = home.logs / f"error-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
    with path.open("a") as file:
        traceback.print_exception(error, file=file)
    return path
