"""Which paths may be written to or read from a workspace, and folders for sockets."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from sandbox.base import PathRefused

MAX_PATH = 1024
MAX_PART = 255
MOST_OF_SOCKET = 70  # bytes of a folder whose sockets still have names


def checked_path(path: str) -> str:
    """The path in its plain form, relative to the workspace; raises PathRefused naming what is wrong with it."""
    shown = repr(path if len(path) <= 120 else path[:117] + "…")
    if not path or path.startswith(("/", "\\", "~")) or (len(path) > 1 and path[1] == ":"):
        raise PathRefused(f"{shown}: must be a path relative to the workspace")
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in path):
        raise PathRefused(f"{shown}: holds a control character")
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        raise PathRefused(f"{shown}: is not valid Unicode") from None
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]
    if ".." in parts:
        raise PathRefused(f"{shown}: would leave the workspace")
    if not parts:
        raise PathRefused(f"{shown}: names no file")
    if size > MAX_PATH or any(len(part.encode()) > MAX_PART for part in parts):
        raise PathRefused(f"{shown}: is too long")
    return "/".join(parts)


def checked_folder(path: str) -> str:
    """Like checked_path, for a folder: the workspace itself is allowed."""
    return "." if path in ("", ".", "./") else checked_path(path)


def regular_files(folder: Path) -> Iterable[tuple[str, Path, bool]]:
    """Every regular file below a folder except .git: (relative path, file, executable). Links are not followed."""
    for entry in sorted(folder.iterdir()):
        if entry.name == ".git" or entry.is_symlink():
            continue
        if entry.is_dir():
            for name, file, runs in regular_files(entry):
                yield f"{entry.name}/{name}", file, runs
        elif entry.is_file():
            yield entry.name, entry, bool(entry.stat().st_mode & 0o100)


def socket_folder(prefix: str) -> Path:
    """A new folder for a Unix socket: below TMPDIR, or below /tmp where the socket's path would have over 107 bytes."""
    usual = tempfile.gettempdir()
    return Path(tempfile.mkdtemp(prefix=prefix, dir=usual if len(os.fsencode(usual)) <= MOST_OF_SOCKET else "/tmp"))  # noqa: S108
