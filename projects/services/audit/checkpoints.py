"""The ends of all trails, noted on a schedule in a file outside the database that only grows.

Whoever owns the database can rewrite all of a chain, or restore last week's copy: the chain itself then looks complete.
A line here says "run 12 was at event 340, whose hash is …"; it is signed, and names the hash of the line before it.
How many lines there are is kept, signed, beside the file, and in the site's trail: a file that is gone or cut is found.
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
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings
from django.utils import timezone

from projects.errors import BadInput
from projects.models import Run, SiteEvent
from projects.services.audit import signing
from projects.services.audit.canonical import canonical_json, iso
from projects.services.audit.sitelog import note
from projects.storage.key_files import replace_file

log = logging.getLogger("aiswe.audit")
SITE = "site"
FIRST = "0" * 64  # what the first line names as the line before it
MAX_LINE = 4_096
NOTED = "heads.noted"
COUNTED_EVERY = timedelta(hours=1)  # in the site's trail; beside the file always
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
    digests: tuple[str, ...] = ()  # of the lines

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

    A missing file has no lines, and no problem only if nothing was noted yet. A copy, which is named, may be shorter
    than the installation's own file.
    """
    counts = [] if path is not None else _counts(heads_path())  # before the file, which only grows
    path = path or heads_path()
    trusted = key or (signing.private_key().public_key() if path.exists() or counts else None)
    found = _proven(path, trusted) if path.exists() and trusted else Heads(path)
    if not found.ok:
        return found
    for where, count, digest in counts:
        if count < 0:
            return replace(found, problem=f"{where} was changed or signed with another key.")
        if found.lines < count:
            words = f"{path} holds {found.lines} lines" if path.exists() else f"{path} is missing"
            return replace(found, problem=f"{words}; {where} counted {count}: heads were deleted or cut off.")
        if found.digests[count - 1] != digest:
            return replace(found, problem=f"Line {count} of {path} is not the one that {where} counted.")
    return found


def _count_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.count")


def _shown(path: Path) -> str:
    """The file as the site's trail names it: an installation that moves keeps its own."""
    home = Path(settings.AISWE_HOME)
    return str(path.relative_to(home)) if path.is_relative_to(home) else str(path)


def _counts(path: Path) -> list[tuple[str, int, str]]:
    """(who counted, lines, hash of the last one): what must be in the file. -1 lines: a count that is forged."""
    found: list[tuple[str, int, str]] = []
    last = SiteEvent.objects.filter(action=NOTED, subject=_shown(path)[:200]).order_by("-seq").first()
    if last is not None:
        where = f"event {last.seq} of the site's trail"
        found.append((where, last.detail["lines"], last.detail["hash"]))
    beside = _count_path(path)
    if beside.exists():
        try:
            row = json.loads(beside.read_bytes())
            said = canonical_json({"lines": row["lines"], "hash": row["hash"]}).encode()
            good = signing.is_signed(said, str(row["signature"]), signing.private_key().public_key())
            found.append((str(beside), int(row["lines"]) if good else -1, str(row["hash"])))
        except (ValueError, KeyError, TypeError):
            found.append((str(beside), -1, ""))
    elif last is not None:
        found.append((str(beside), -1, ""))
    return found


def _proven(path: Path, trusted: Ed25519PublicKey) -> Heads:
    # Each line holds the hash of the one before it, so the last signature vouches for all; the others are looked at
    # only to name the first line that is wrong.
    found = _read(path, trusted, each=False)
    return found if found.ok else _read(path, trusted, each=True)


def _read(path: Path, trusted: Ed25519PublicKey, *, each: bool) -> Heads:
    anchors: dict[str, list[Anchor]] = {}
    before, number = FIRST, 0
    digests: list[str] = []

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
            digests.append(before)
    return Heads(path, number, anchors, digests=tuple(digests))


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
    with held(path) as descriptor:
        number, before, noted = _last(path)
        counted = max((count for _, count, _ in _counts(path)), default=0)
        if number < counted:
            # Lines added now would hide what is missing.
            raise BadInput(f"{path} lost lines: {number} of {counted} are there. `aiswe audit verify` says more.")
        text, of_runs = b"", False
        for trail, seq, digest in _ends(noted.get(SITE, 0)):
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
            of_runs = of_runs or trail != SITE
        if text:
            _append(descriptor, text)
            _count_beside(path, number, before, key)
            if of_runs:
                _count_in_the_trail(path, number, before)
        return text.count(b"\n")


def _count_beside(path: Path, lines: int, digest: str, key: Ed25519PrivateKey) -> None:
    said: dict[str, Any] = {"lines": lines, "hash": digest}
    signed = {**said, "signature": signing.sign(canonical_json(said).encode(), key)}
    replace_file(_count_path(path), canonical_json(signed).encode() + b"\n")


def _count_in_the_trail(path: Path, lines: int, digest: str) -> None:
    """Keep in the site's trail how many lines there are: when the file is begun, then hourly."""
    rows = SiteEvent.objects.filter(action=NOTED, subject=_shown(path)[:200])
    last = rows.order_by("-seq").values_list("at", flat=True).first()
    if last is None or timezone.now() - last >= COUNTED_EVERY:
        note("checkpoints", NOTED, _shown(path), {"lines": lines, "hash": digest})


def _ends(site: int) -> Iterator[tuple[str, int, str]]:
    for pk, seq, digest in Run.objects.filter(last_seq__gt=0).order_by("pk").values_list("pk", "last_seq", "head_hash"):
        yield trail_of(pk), seq, digest
    end = SiteEvent.objects.order_by("-seq").values_list("seq", "hash").first()
    # A count alone is no reason for a line, which would be a reason for a count.
    if end is not None and SiteEvent.objects.filter(seq__gt=site).exclude(action=NOTED).exists():
        yield SITE, *end


@contextmanager
def held(path: Path) -> Iterator[int]:
    """Keep everyone else from noting heads."""
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
