"""Proving and exporting the stream: is it whole, and has nobody changed it?"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass

from projects.errors import BadInput
from projects.models import Blob, Event, Run
from projects.services.canonical import canonical_json
from projects.services.hashing import COLUMNS, GENESIS, event_columns, event_hash

BATCH = 500
# A spreadsheet runs a cell that begins like this as a formula.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class ChainReport:
    """What verification found. `first_bad_seq` is 0 when all is well; `events` counts the rows proven before it."""

    ok: bool
    events: int
    first_bad_seq: int
    problem: str
    head_hash: str


def verify_chain(run_id: int, *, head: str | None = None) -> ChainReport:
    """Recompute every hash of a run's stream and of the content it points at.

    `head` is a hash kept outside the database (a commit's Audit-Head trailer, an export): it must occur in the chain,
    which also shows a tail cut off together with the run's own note of it. Raises BadInput when there is no such run.
    """
    run = Run.objects.filter(pk=run_id).first()
    if run is None:
        raise BadInput(f"There is no run {run_id}.")
    before, expected = GENESIS, 1
    head_seen = head is None
    proven: set[str] = set()

    def bad(seq: int, problem: str) -> ChainReport:
        return ChainReport(False, expected - 1, seq, problem, before if expected > 1 else "")

    for batch in _batches(run_id):
        if isinstance(batch, int):
            return bad(batch, f"Event {batch} cannot be read: a column holds what never was written there.")
        spoiled = _spoiled_blobs(batch, proven)
        for event in batch:
            if event.seq != expected:
                return bad(expected, f"Event {expected} is missing: the next one found is {event.seq}.")
            if event.prev_hash != before:
                return bad(event.seq, f"Event {event.seq} does not follow from event {event.seq - 1}.")
            if event_hash(event) != event.hash:
                return bad(event.seq, f"Event {event.seq} was changed: its hash does not match its content.")
            for sha256 in _references(event):
                if sha256 in spoiled:
                    return bad(event.seq, f"Event {event.seq} points at content {sha256[:12]} that {spoiled[sha256]}.")
            before, expected = event.hash, expected + 1
            head_seen = head_seen or event.hash == head
    count = expected - 1
    if count != run.last_seq:
        return bad(expected, f"The run counted {run.last_seq} events, {count} are there: the end was cut off or added.")
    if (run.head_hash or GENESIS) != before:
        return bad(max(count, 1), "The last event is not the one the run noted as its head.")
    if not head_seen:
        return bad(expected, f"The head {head} noted elsewhere is not in the chain: its end was cut off or rewritten.")
    return ChainReport(True, count, 0, "", before if count else "")


def _batches(run_id: int) -> Iterator[list[Event] | int]:
    """The stream by parts; at a row that cannot even be read, its number, as the last item."""
    rows = Event.objects.filter(run_id=run_id).order_by("seq", "pk")
    done = 0
    while True:
        try:
            batch = list(rows.filter(seq__gt=done)[:BATCH])
        except (ValueError, TypeError):
            for place in rows.filter(seq__gt=done).values_list("seq", flat=True)[:BATCH]:
                try:
                    yield [rows.get(seq=place)]
                except (ValueError, TypeError):
                    yield int(place)
                    return
            return
        if not batch:
            return
        yield batch
        done = batch[-1].seq


def _references(event: Event) -> list[str]:
    """The content hashes a row names; a value that is no hash is named too, so that it is found missing."""
    found: list[str] = []
    values = event.blobs.values() if isinstance(event.blobs, dict) else [event.blobs]
    for value in values:
        found.extend(str(item) for item in (value if isinstance(value, list) else [value]))
    return found


def _spoiled_blobs(batch: list[Event], proven: set[str]) -> dict[str, str]:
    """Content named in the batch that is missing or not what its hash says. Proven content is not read again."""
    wanted = {sha256 for event in batch for sha256 in _references(event)} - proven
    spoiled = dict.fromkeys(wanted, "is missing")
    names = sorted(wanted)
    for start in range(0, len(names), BATCH):
        for blob in Blob.objects.filter(pk__in=names[start : start + BATCH]).iterator(chunk_size=50):
            if hashlib.sha256(blob.content.encode()).hexdigest() == blob.sha256:
                del spoiled[blob.sha256]
                proven.add(blob.sha256)
            else:
                spoiled[blob.sha256] = "was changed"
    return spoiled


def export_events(run_id: int, fmt: str = "jsonl") -> Iterator[str]:
    """A run's stream as lines of text, every column and the hash, oldest first, in memory a batch at a time.

    `fmt` is "jsonl" (verifiable elsewhere: hash = sha256(prev_hash + the row without "hash" as canonical JSON)) or
    "csv" (cells a spreadsheet would run as a formula get a leading apostrophe). Raises BadInput for another.
    """
    if fmt not in ("jsonl", "csv"):
        raise BadInput(f"Unknown export format {fmt!r}: choose jsonl or csv.")
    return _lines(run_id, fmt)


def _lines(run_id: int, fmt: str) -> Iterator[str]:
    names = [*COLUMNS, "hash"]
    if fmt == "csv":
        yield _csv_line(names)
    for event in Event.objects.filter(run_id=run_id).order_by("seq").iterator(chunk_size=BATCH):
        row = {**event_columns(event), "hash": event.hash}
        if fmt == "jsonl":
            yield canonical_json(row) + "\n"
        else:
            yield _csv_line([_cell(row[name]) for name in names])


def _cell(value: object) -> str:
    if isinstance(value, (dict, list)):
        value = json.dumps(value, sort_keys=True, ensure_ascii=False)
    text = "" if value is None else str(value)
    return "'" + text if text.startswith(FORMULA_STARTS) else text


def _csv_line(cells: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()
