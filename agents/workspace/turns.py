"""One writer at a time: changes of a repository's references, and what a killed one leaves behind.

Whoever changes references holds a lock of the kernel on a file beside the repository, and so does its git process,
which inherits it. The kernel gives it to the next one when both are gone, so a note that is still there then was left
by the dead, and the lock files of git that it names are nobody's.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess

from agents.workspace.git import GitError, LeftLocked, damaged, failure, git

PATIENCE = 10.0  # seconds that a lock of somebody else's git is waited for
SETTLED = 1.0  # seconds after which a living git has long given back the lock of a reference


class Turns:
    """The turns of the repository at `root`; `beside` is a folder for the lock and the note."""

    def __init__(self, root: Path, beside: Path) -> None:
        self.root, self._beside = root, beside
        self._note = beside / ".writing"

    @contextmanager
    def turn(self) -> Iterator[int]:
        """Wait until nobody else writes, tidy up after the dead, and yield the open lock for git to inherit."""
        self._beside.mkdir(parents=True, exist_ok=True)
        with (self._beside / ".lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            with contextlib.suppress(FileNotFoundError):
                self._tidy()
            yield handle.fileno()

    def _tidy(self) -> None:
        since = self._note.stat().st_mtime_ns
        try:
            names = [str(name) for name in json.loads(self._note.read_text(encoding="utf-8"))]
        except ValueError:  # killed while it was written: git was not started yet
            names = []
        for lock in (self.root / f"{name}.lock" for name in names):
            with contextlib.suppress(FileNotFoundError):
                made = lock.stat()
                if made.st_mtime_ns < since:
                    continue  # it was there before: not ours
                time.sleep(max(0.0, min(SETTLED, SETTLED + made.st_mtime - time.time())))
                if lock.stat().st_ino == made.st_ino:
                    lock.unlink()
        self._note.unlink()

    def git(self, *argv: str, refs: Sequence[str], text: str = "") -> CompletedProcess[str]:
        """Run a git command that changes these references (or other files of git that it locks), nobody else writing.

        Raises RepositoryDamaged when somebody else's lock stays in the way, and what git() raises.
        """
        until = time.monotonic() + PATIENCE
        with self.turn() as held:
            while True:
                self._note.write_text(json.dumps([*refs, "HEAD"]), encoding="utf-8")
                try:
                    done = git(self.root, *argv, text=text, check=False, inherits=(held,))
                    if done.returncode >= 0:  # a killed one leaves its note to the next turn
                        self._note.unlink()
                    if done.returncode:
                        raise failure(self.root, argv[0], (done.stderr or done.stdout).strip())
                    return done
                except LeftLocked as left:
                    if time.monotonic() >= until:
                        raise _somebody_elses(self.root, left) from None
                time.sleep(0.2)


def _somebody_elses(root: Path, left: LeftLocked) -> GitError:
    why = f"{left.lock} was made by a git process that AI SWE did not start, and stays"
    return damaged(root, why, "End that process, or remove the file if none runs; work then continues by itself.")
