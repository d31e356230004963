"""Where everything the product writes lies, and the files by which its processes find one another.

Works without Django: the command line and the supervisor stay small and fast.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from sandbox.locks import owned

REPOSITORY = Path(__file__).resolve().parent.parent.parent


class HomeTaken(Exception):
    """Another `aiswe up` works on this folder; the text says which."""

    hint = "Use it, stop it, or choose another folder: AISWE_HOME, for a demo --home."


class NotOurs(Exception):
    """A file of the data folder belongs to another user; the text says which."""

    hint = "Start it as that user, give the folder to this one with chown, or choose another: AISWE_HOME."


def keep_private(path: Path, mode: int) -> None:
    """Take from everyone but the owner what `mode` does not grant; says so, and has nothing to say the next time.

    Raises NotOurs for what belongs to another user.
    """
    found = path.stat()
    if found.st_uid != os.geteuid() and os.geteuid() != 0:
        raise NotOurs(f"{path} belongs to another user (id {found.st_uid}; this is {os.geteuid()}).")
    if found.st_mode & 0o777 & ~mode:
        path.chmod(stat.S_IMODE(found.st_mode) & mode)
        sys.stderr.write(f"aiswe: {path} could be used by other users of this machine; now only by you.\n")


def keep_database_private(path: Path) -> None:
    """The SQLite file and what SQLite keeps beside it: readable by their owner alone, before a first row is written."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # a missing folder is said where it is opened
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    for each in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            keep_private(each, 0o600)


def data_folder() -> Path:
    """The folder of this environment; the default is `.aiswe` beside the code."""
    return Path(os.environ.get("AISWE_HOME") or REPOSITORY / ".aiswe").expanduser().resolve()


class Home:
    """The folder named by AISWE_HOME, and where the processes keep their files in it."""

    def __init__(self, path: Path) -> None:
        """Makes the folders that are missing."""
        self.path, self.run, self.logs = path, path / "run", path / "logs"
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        keep_private(path, 0o700)
        self.run.mkdir(exist_ok=True)
        self.logs.mkdir(exist_ok=True)
        self.worker_pid_file = self.run / "worker.pid"  # of the child that serves and works, while there is one
        self.supervisor_pid_file = self.run / "supervisor.pid"  # of the parent
        self.address_file = self.run / "address"  # where it is served

    @classmethod
    def from_environment(cls) -> Home:
        """That of this environment, with its folders."""
        return cls(data_folder())


@contextlib.contextmanager
def home_lock(home: Home) -> Iterator[None]:
    """Only one supervisor works on a folder: its database, its vector store and its queue have one owner.

    The kernel drops the lock with the process, so a lock file left by a crash is no obstacle. Raises HomeTaken.
    """
    with owned(home.run / "up.lock") as mine:
        if not mine:
            pid, address = read_text(home.supervisor_pid_file), read_text(home.address_file)
            at = f" at {address}" if address else ""
            raise HomeTaken(f"Another aiswe process already uses {home.path} (process {pid or 'unknown'}{at}).")
        yield


def wake_worker(home: Home) -> bool:
    """Tell the running `aiswe up` that there is work; False when none runs on this folder."""
    with contextlib.suppress(HomeTaken), home_lock(home):
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
