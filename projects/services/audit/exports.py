"""Exports of a trail as JSON lines or CSV, with a signature in a separate file.

Checking an export needs no database: an auditor checks a file with the public key alone.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from projects.errors import BadInput
from projects.services.audit import signing
from projects.services.audit.canonical import GENESIS, canonical_json, link

FORMATS = ("jsonl", "csv")
BATCH = 500
# A spreadsheet runs a cell that begins like this as a formula.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
SIGNATURE_FORMAT = "aiswe-audit-signature/1"
CHUNK = 1 << 20
_SIGNED = ("format", "algorithm", "key", "sha256", "bytes")


def export_events(run_id: int, fmt: str = "jsonl") -> Iterator[str]:
    """A run's stream as lines of text, every column and the hash, oldest first, in memory a batch at a time.

    `fmt` is "jsonl" (verifiable elsewhere: hash = sha256(prev_hash + the row without "hash" as canonical JSON)) or
    "csv" (cells a spreadsheet would run as a formula get a leading apostrophe). Raises BadInput for another.
    """
    if fmt not in FORMATS:
        raise BadInput(f"Unknown export format {fmt!r}: choose jsonl or csv.")
    from projects.models import Event
    from projects.services.audit.hashing import COLUMNS

    return _lines(Event.objects.filter(run_id=run_id).order_by("seq").iterator(chunk_size=BATCH), COLUMNS, fmt)


def export_site(fmt: str = "jsonl") -> Iterator[str]:
    """The site's own trail, like export_events()."""
    if fmt not in FORMATS:
        raise BadInput(f"Unknown export format {fmt!r}: choose jsonl or csv.")
    from projects.models import SiteEvent
    from projects.services.audit.hashing import SITE_COLUMNS

    return _lines(SiteEvent.objects.order_by("seq").iterator(chunk_size=BATCH), SITE_COLUMNS, fmt)


def _lines(rows: Iterable[Any], columns: tuple[str, ...], fmt: str) -> Iterator[str]:
    from projects.services.audit.hashing import event_columns

    names = [*columns, "hash"]
    if fmt == "csv":
        yield _csv_line(names)
    for event in rows:
        row = {**event_columns(event), "hash": event.hash}
        if fmt == "jsonl":
            yield canonical_json(row) + "\n"
        else:
            yield csv_row(row[name] for name in names)


def _cell(value: object) -> str:
    if isinstance(value, (dict, list)):
        value = json.dumps(value, sort_keys=True, ensure_ascii=False)
    text = "" if value is None else str(value)
    return "'" + text if text.lstrip(" ").startswith(FORMULA_STARTS) else text


def csv_row(values: Iterable[object]) -> str:
    """A line of a CSV file that no spreadsheet runs as a formula."""
    return _csv_line([_cell(value) for value in values])


def _csv_line(cells: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()


def signature_of(file: IO[bytes], key: Ed25519PrivateKey) -> str:
    """The text of a detached signature over the content of `file`, read from its beginning."""
    digest, size = _digest(file)
    said: dict[str, Any] = {
        "format": SIGNATURE_FORMAT,
        "algorithm": "Ed25519",
        "key": signing.fingerprint(key.public_key()),
        "sha256": digest,
        "bytes": size,
    }
    said["signature"] = signing.sign(canonical_json(said).encode(), key)
    return json.dumps(said, indent=1) + "\n"


def _digest(file: IO[bytes]) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    file.seek(0)
    while chunk := file.read(CHUNK):
        digest.update(chunk)
        size += len(chunk)
    return digest.hexdigest(), size


IN_MEMORY = 4_000_000  # bytes; a longer export is in a temporary file meanwhile


def signed_archive(lines: Iterable[str], name: str) -> IO[bytes]:
    """A zip with the file `name` and `name`.sig, read from its beginning. Raises BadInput when the key is unusable.

    One archive, because a signature fetched later would not fit a stream that grows.
    """
    key = signing.private_key()
    made = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115  the answer closes it when it is sent
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as text:
        for line in lines:
            text.write(line.encode())
        signature = signature_of(text, key)
        text.seek(0)
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
            with archive.open(name, "w", force_zip64=True) as entry:
                shutil.copyfileobj(text, entry)
            archive.writestr(f"{name}.sig", signature)
    made.seek(0)
    return made


@dataclass(frozen=True)
class ExportReport:
    """What checking an export found: `rows` proven, `problem` empty when all is well."""

    ok: bool
    rows: int
    problem: str
    key: str  # fingerprint of the key it was checked with


def check_export(file: IO[bytes], signature: str, key: Ed25519PublicKey) -> ExportReport:
    """Check an export against its detached signature and, if it is JSON lines, every link of its chain. No database."""
    name = signing.fingerprint(key)

    def bad(problem: str, rows: int = 0) -> ExportReport:
        return ExportReport(False, rows, problem, name)

    try:
        said = json.loads(signature)
        message = {field: said[field] for field in _SIGNED}
        mark = str(said["signature"])
    except (ValueError, KeyError, TypeError):
        return bad("The signature file cannot be read: it is not one that `aiswe audit export` wrote.")
    if message["format"] != SIGNATURE_FORMAT or not signing.is_signed(canonical_json(message).encode(), mark, key):
        return bad(f"The signature was not made with this key ({name}), or it was changed.")
    digest, size = _digest(file)
    if (digest, size) != (message["sha256"], message["bytes"]):
        return bad("The file is not the one that was signed: it was changed after the export.")
    file.seek(0)
    if not file.read(1).startswith(b"{"):
        return ExportReport(True, 0, "", name)  # CSV: the signature is all there is to check
    file.seek(0)
    return _chain(file, name)


def _chain(file: IO[bytes], name: str) -> ExportReport:
    before, number = GENESIS, 0
    for raw in file:
        try:
            row = json.loads(raw)
            claimed = row.pop("hash")
            whole = row["seq"] == number + 1 and row["prev_hash"] == before and link(before, row) == claimed
        except (ValueError, KeyError, TypeError, AttributeError):
            whole = False
        if not whole:
            return ExportReport(False, number, f"Line {number + 1} does not follow from the one before it.", name)
        before, number = claimed, number + 1
    return ExportReport(True, number, "", name)
