"""Small files that hold a key: written whole or not at all, readable by their owner alone."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from projects.errors import UnusableKey


def _draft(path: Path, content: bytes) -> Path:
    """The content in a file beside `path`, safely on the disk. Raises OSError, and then leaves nothing."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as handle:
            handle.write(content)
            handle.flush()
            os.fsync(handle.fileno())
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return draft


def replace_file(path: Path, content: bytes) -> None:
    """Write the file with mode 0600, in place of the one that may be there."""
    draft = _draft(path, content)
    try:
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def make_once(path: Path, content: bytes) -> None:
    """Write the file with mode 0600 unless there is one: of two processes that start at once, the first one's stays."""
    draft = _draft(path, content)
    try:
        os.link(draft, path)  # a link never replaces a file
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def kept_key(path: Path, make: Callable[[], str], shortest: int) -> str:
    """The key in the file, made when there is none.

    Raises UnusableKey for one of less than `shortest` characters (what a full disk leaves), which is never replaced by
    itself: what was sealed and signed with the key would be lost with it.
    """
    if not path.exists():
        make_once(path, make().encode())
    key = path.read_text(encoding="utf-8", errors="replace").strip()
    if len(key) < shortest:
        raise UnusableKey(
            f"{path} holds no complete key ({len(key)} characters). Put it back from a backup; on an installation that "
            "has never been used, delete it and start again: a new one is made."
        )
    return key
