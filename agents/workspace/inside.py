"""Files of a folder, reached step by step without ever following a link.

Checking a path and then opening it leaves a moment in which a folder can become a link. Here every part is opened from
the folder above it, and a link is refused by the kernel.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
MAX_PATH = 1024  # bytes; thousands of folders in folders make every later walk through the tree fail
_LINK = (errno.ELOOP, errno.ENOTDIR)


class LeavesFolder(ValueError):
    """A path leads, or may lead, out of its folder; the text names it."""


def parts_of(name: str) -> list[str]:
    """The parts of a relative path; raises LeavesFolder for any other."""
    parts = name.split("/")
    try:
        size = len(os.fsencode(name))
    except UnicodeEncodeError:
        raise LeavesFolder(f"{name[:200]!r} is not valid Unicode") from None
    if "\x00" in name or any(part in ("", ".", "..") for part in parts):
        raise LeavesFolder(f"{name[:200]!r} is not a path inside the folder")
    if size > MAX_PATH:
        raise LeavesFolder(f"{name[:200]!r}… is longer than {MAX_PATH} bytes")
    return parts


@contextmanager
def _folder(root: Path, parts: list[str], name: str, *, make: bool) -> Iterator[int]:
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=descriptor)
            try:
                below = os.open(part, _FOLDER, dir_fd=descriptor)
            except OSError as refused:
                if refused.errno in _LINK:
                    raise LeavesFolder(f"{name} would be reached through a link") from None
                raise
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def write_inside(root: Path, name: str, content: bytes, mode: int | None = None) -> None:
    """Write a file below `root`, making folders on the way; raises LeavesFolder, and OSError from the disk.

    Without a `mode` the file keeps the one it has.

    The file is put in its place whole, so that a hard link's other end keeps what it held.
    """
    *above, last = parts_of(name)
    with _folder(root, above, name, make=True) as folder:
        found_mode = 0o644
        with contextlib.suppress(FileNotFoundError):
            found = os.stat(last, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISLNK(found.st_mode):
                raise LeavesFolder(f"{name} would be reached through a link")
            if stat.S_ISREG(found.st_mode):
                found_mode = stat.S_IMODE(found.st_mode)
        draft = f".{secrets.token_hex(8)}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        opened = os.open(draft, flags, found_mode if mode is None else mode, dir_fd=folder)
        try:
            with os.fdopen(opened, "wb") as handle:
                handle.write(content)
            os.rename(draft, last, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=folder)
            raise


def read_inside(root: Path, name: str) -> bytes | None:
    """A regular file below `root`; None when there is none, or when a link stands in the way."""
    *above, last = parts_of(name)
    try:
        with _folder(root, above, name, make=False) as folder:
            opened = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
            with os.fdopen(opened, "rb") as handle:
                return handle.read() if stat.S_ISREG(os.fstat(opened).st_mode) else None
    except (FileNotFoundError, LeavesFolder, IsADirectoryError):
        return None
    except OSError as refused:
        if refused.errno in _LINK:
            return None
        raise


def remove_inside(root: Path, name: str) -> None:
    """Take a file below `root` away if it is there, and folders that this leaves empty."""
    *above, last = parts_of(name)
    with contextlib.suppress(FileNotFoundError), _folder(root, above, name, make=False) as folder:
        os.unlink(last, dir_fd=folder)
    for end in range(len(above), 0, -1):
        try:
            with _folder(root, above[: end - 1], name, make=False) as folder:
                os.rmdir(above[end - 1], dir_fd=folder)
        except (OSError, LeavesFolder):
            break
