"""Folders of image builds: each carries its builder's process in its name, and goes with whatever is mounted in it."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from sandbox.base import SandboxError
from sandbox.owners import lives, me

PREFIX = "build-"
UMOUNT_SECONDS = 30
BUSY_SECONDS = 5.0  # what a killed process was writing is finished within this


class StillMounted(SandboxError):
    """Something is mounted in a folder that was to be deleted; the text says what."""


def private_folder() -> Path:
    """The folder of this user's image builds, closed to others; raises SandboxError when it is somebody else's."""
    folder = Path(tempfile.gettempdir()).resolve() / f"aiswe-images-{os.geteuid()}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise SandboxError(f"{folder} belongs to another user: remove it, or set TMPDIR to a folder of your own")
    if found.st_mode & 0o077:
        folder.chmod(0o700)
    return folder


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder of this process, gone at the end. Raises SandboxError when it cannot be made or emptied."""
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{me()}-", dir=private_folder()))
    try:
        yield folder
    finally:
        remove(folder)


def remove_leftovers() -> list[Path]:
    """Delete the folders of builders that died; what cannot be deleted is left for the next time. Those deleted."""
    gone = []
    for folder in sorted(private_folder().glob(f"{PREFIX}*")):
        if not lives("-".join(folder.name.removeprefix(PREFIX).split("-")[:2])):
            with contextlib.suppress(SandboxError):
                remove(folder)
                gone.append(folder)
    return gone


def mounts_below(folder: Path) -> list[Path]:
    """What is mounted at or below a folder, as this process sees it: the deepest and latest first."""
    found = list[Path]()
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        escaped = line.split(" ")[4]
        place = Path(re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), escaped))
        if place.is_relative_to(folder):
            found.insert(0, place)
    return sorted(found, key=lambda place: len(place.parts), reverse=True)


def remove(folder: Path) -> None:
    """Unmount all below a folder and delete it, without crossing into another file system.

    Raises StillMounted before anything is deleted, and SandboxError when something cannot be deleted.
    """
    folder = folder.resolve()
    for place in mounts_below(folder):
        for options in ([], ["-l"]):
            words = ["umount", "--no-canonicalize", *options, str(place)]
            if not subprocess.run(words, capture_output=True, timeout=UMOUNT_SECONDS, check=False).returncode:
                break
    if left := mounts_below(folder):
        raise StillMounted(f"{left[0]} is still mounted, so {folder} was not deleted: umount {left[0]}")
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            above = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                _delete(above, folder.name, os.stat(folder.name, dir_fd=above, follow_symlinks=False).st_dev)
            finally:
                os.close(above)
            return
        except FileNotFoundError:
            if not os.path.lexists(folder):
                return
        except OSError as error:
            if time.monotonic() > until:
                raise SandboxError(f"{folder} could not be deleted: {error.strerror}") from None
        time.sleep(0.1)


def _delete(above: int, name: str, device: int) -> None:
    found = os.stat(name, dir_fd=above, follow_symlinks=False)
    if found.st_dev != device:
        raise StillMounted(f"{name} is on another file system and was not deleted")
    if not stat.S_ISDIR(found.st_mode):
        return os.unlink(name, dir_fd=above)
    folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
    try:
        for each in os.listdir(folder):
            _delete(folder, each, device)
    finally:
        os.close(folder)
    return os.rmdir(name, dir_fd=above)
