"""The ends of all trails, noted on a schedule in a file outside the database that only grows.

Whoever owns the database can rewrite all of a chain, or restore last week's copy: the chain itself then looks complete.
A line here says "run 12 was at event 340, whose hash is …"; it is signed, and names the hash of the line before it.
On another disk or machine (AISWE_AUDIT_HEADS) the file is evidence even against the owner of the database.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.conf import settings
from django.utils import timezone

from projects.models import Run, SiteEvent
from projects.services.audit import signing
from projects.services.audit.canonical import canonical_json, iso

log = logging.getLogger("aiswe.audit")
SITE = "site"
FIRST = "0" * 64  # what the first line names as the line before it
MAX_LINE = 4_096
_FIELDS = {"line", "at", "trail", "seq", "hash", "before", "key", "signature"}


@dataclass(frozen=True)
class Anchor:
    """A place of a trail and its hash, noted outside the database."""

    seq: int
    hash: str
    where: str  # in words: "line 3 of heads.jsonl", "commit 1a2b3c"


@dataclass(frozen=True)
class Heads:
    """What the file says: `anchors` by trail ("site", "run:12"), as far as it can be trusted, and the `problem`."""

    path: Path
    lines: int = 0
    anchors: dict[str, list[Anchor]] = field(default_factory=dict)
    problem: str = ""

    @property
    def ok(self) -> bool:
        """Whether every line is signed, in its place and unchanged."""
        return not self.problem


def trail_of(run_id: int) -> str:
    """The name of a run's trail in the file."""
    return f"run:{run_id}"


def heads_path() -> Path:
    """The file, named by AISWE_AUDIT_HEADS; AISWE_HOME/audit/heads.jsonl by default."""
    named = str(getattr(settings, "AUDIT_HEADS", "") or "")
    return Path(named).expanduser() if named else signing.audit_folder() / "heads.jsonl"


def read_heads(path: Path | None = None, key: Ed25519PublicKey | None = None) -> Heads:
    """Read and prove the file. `key` is the public key to trust; the installation's own when none is given.

    A missing file has no lines and no problem: nothing was noted yet.
    """
    path = path or heads_path()
    if not path.exists():
        return Heads(path)
    trusted = key or signing.private_key().public_key()
    # Each line holds the hash of the one before it, so the last signature vouches for all; the others are looked at
    # only to name the first line that is wrong.
    found = _read(path, trusted, each=False)
    return found if found.ok else _read(path, trusted, each=True)


def _read(path: Path, trusted: Ed25519PublicKey, *, each: bool) -> Heads:
    anchors: dict[str, list[Anchor]] = {}
    before, number = FIRST, 0

    def broken(problem: str) -> Heads:
        return Heads(path, number - 1, anchors, f"Line {number} of {path} {problem}.")

    with path.open("rb") as handle:
        following = handle.readline(MAX_LINE)
        while raw := following:
            following = handle.readline(MAX_LINE)
            number += 1
            row = _row(raw)
            if row is None:
                return broken("cannot be read")
            if row["line"] != number or row["before"] != before:
                return broken("does not follow from the one before it")
            signed = canonical_json({name: value for name, value in row.items() if name != "signature"}).encode()
            if (each or not following) and not signing.is_signed(signed, str(row["signature"]), trusted):
                return broken("was changed or signed with another key")
            place = Anchor(row["seq"], row["hash"], f"line {number} of {path.name}")
            anchors.setdefault(str(row["trail"]), []).append(place)
            before = hashlib.sha256(raw.rstrip(b"\n")).hexdigest()
    return Heads(path, number, anchors)


def _row(raw: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(raw)
    except ValueError:
        return None
    if not raw.endswith(b"\n") or not isinstance(row, dict) or set(row) != _FIELDS:
        return None
    return row if isinstance(row["seq"], int) and isinstance(row["hash"], str) else None


def note_heads() -> int:
    """Append a line for every trail that has grown since its last line; returns how many.

    Raises OSError when the file cannot be written, BadInput when the key cannot be used.
    """
    key = signing.private_key()
    name = signing.fingerprint(key.public_key())
    path = heads_path()
    with _held(path) as descriptor:
        number, before, noted = _last(path)
        text = b""
        for trail, seq, digest in _ends():
            if seq < noted.get(trail, 0):
                log.error("%s was at event %s and is now at %s: was the database restored?", trail, noted[trail], seq)
            if seq <= noted.get(trail, 0):
                continue
            number += 1
            row = {
                "line": number,
                "at": iso(timezone.now()),
                "trail": trail,
                "seq": seq,
                "hash": digest,
                "before": before,
                "key": name,
            }
            row["signature"] = signing.sign(canonical_json(row).encode(), key)
            line = canonical_json(row).encode()
            before = hashlib.sha256(line).hexdigest()
            text += line + b"\n"
        if text:
            _append(descriptor, text)
        return text.count(b"\n")


def _ends() -> Iterator[tuple[str, int, str]]:
    for pk, seq, digest in Run.objects.filter(last_seq__gt=0).order_by("pk").values_list("pk", "last_seq", "head_hash"):
        yield trail_of(pk), seq, digest
    end = SiteEvent.objects.order_by("-seq").values_list("seq", "hash").first()
    if end is not None:
        yield SITE, *end


@contextmanager
def _held(path: Path) -> Iterator[int]:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def _last(path: Path) -> tuple[int, str, dict[str, int]]:
    """How many lines there are, the hash of the last one, and how far each trail was noted."""
    number, before, noted = 0, FIRST, {}
    for raw in path.read_bytes().splitlines():
        number += 1
        before = hashlib.sha256(raw).hexdigest()
        row = _row(raw + b"\n")
        if row is not None:
            noted[str(row["trail"])] = row["seq"]
    return number, before, noted


def _append(descriptor: int, text: bytes) -> None:
    size = os.fstat(descriptor).st_size
    written = os.write(descriptor, text)
    if written != len(text):
        os.ftruncate(descriptor, size)  # half a line would make all that follow unreadable
        raise OSError(f"only {written} of {len(text)} bytes could be written")
    os.fsync(descriptor)
