"""What git has on disk, read and written without starting it: loose objects, and where a reference stands.

Next to a process for each file this is a hundred times cheaper. Whatever does not lie there in the plain way (packed,
damaged) is None here, and git's to read.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from agents.workspace.git import damaged, disk_full

V = TypeVar("V")
NAME = re.compile(r"[0-9a-f]{40}")
MOST_BYTES = 64_000_000  # of one object; more is git's to read
_PACKED_LINE = re.compile(rb"#[^\n]*|\^[0-9a-f]{40}|([0-9a-f]{40}) (refs/[^\n\0]+)")


def _loose(repository: Path, name: str) -> bytes | None:
    """A loose object with its header; what is found is checked against its name."""
    if not NAME.fullmatch(name):
        return None
    try:
        packed = (repository / "objects" / name[:2] / name[2:]).read_bytes()
        unpacking = zlib.decompressobj()
        whole = unpacking.decompress(packed, MOST_BYTES)
    except (OSError, zlib.error):
        return None
    if not unpacking.eof or hashlib.sha1(whole, usedforsecurity=False).hexdigest() != name:
        return None
    return whole


def loose_blob(repository: Path, name: str) -> bytes | None:
    """The content of a file by its hash; what is found is checked against it."""
    head, _, content = (_loose(repository, name) or b"").partition(b"\0")
    return content if head.startswith(b"blob ") else None


def object_name(kind: str, content: bytes) -> str:
    """The name git gives to an object: "blob" or "tree"."""
    return hashlib.sha1(f"{kind} {len(content)}\0".encode() + content, usedforsecurity=False).hexdigest()


def write_object(repository: Path, kind: str, content: bytes) -> str:
    """Store an object as it is, without filters, unless it lies there whole; raises DiskFull.

    It reaches the disk before it gets its name, so that a power cut leaves all of it or nothing.
    """
    name = object_name(kind, content)
    if _loose(repository, name) is not None:
        return name
    folder = repository / "objects" / name[:2]
    draft = folder / f"tmp_obj_{secrets.token_hex(8)}"  # a name that git's own clean-up knows
    try:
        folder.mkdir(exist_ok=True)
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444), "wb") as handle:
            handle.write(zlib.compress(f"{kind} {len(content)}\0".encode() + content, 1))
            handle.flush()
            os.fsync(handle.fileno())
        draft.rename(folder / name[2:])
    except OSError as refused:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise disk_full(refused) or refused from None
    return name


def ref_value(repository: Path, ref: str) -> str | None:
    """The commit that a reference like `refs/heads/main` names, None when there is no such reference.

    Raises RepositoryDamaged when it is there and says nothing that can be read.
    """
    try:
        text = (repository / ref).read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return _packed_ref(repository, ref)
    plain = text.decode("ascii", "replace").strip()
    if plain.startswith("ref: ") and plain != f"ref: {ref}":
        return ref_value(repository, plain.removeprefix("ref: "))
    if not NAME.fullmatch(plain):
        raise damaged(repository, f"{ref} names no commit ({text[:20]!r})")
    return plain


def _packed_ref(repository: Path, ref: str) -> str | None:
    try:
        text = (repository / "packed-refs").read_bytes()
    except FileNotFoundError:
        return None
    found = None
    for line in text.splitlines(keepends=True):
        match = _PACKED_LINE.fullmatch(line.removesuffix(b"\n"))
        if match is None or not line.endswith(b"\n"):
            raise damaged(repository, f"its list of branches, packed-refs, is torn at {line[:60]!r}")
        if match[2] == ref.encode():
            found = match[1].decode()
    return found


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
