"""Verifying the trails: is each complete and unchanged, and does it agree with what was noted elsewhere?"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import QuerySet

from projects.errors import BadInput
from projects.models import Blob, Event, Run, SiteEvent
from projects.services.audit.canonical import GENESIS
from projects.services.audit.checkpoints import SITE, Anchor, Heads, read_heads, trail_of
from projects.services.audit.hashing import event_hash
from projects.services.audit.intents import Intent, IntentWatch

BATCH = 500
DELETED = "project.deleted"  # in the site's trail, with the ends of its runs' trails
Fault = tuple[int, str]  # at which number a trail is wrong, and why


@dataclass(frozen=True)
class ChainReport:
    """What verification found. `first_bad_seq` is 0 when all is well; `events` counts the rows proven before it."""

    ok: bool
    events: int
    first_bad_seq: int
    problem: str
    head_hash: str
    anchors: int = 0  # places noted outside the database that were met
    intents: tuple[Intent, ...] = ()  # announced effects without an outcome


def link_problem(event: Event | SiteEvent, expected: int, before: str) -> Fault | None:
    """Why this row cannot be the one numbered `expected` after a row with the hash `before`, and at which number."""
    if event.seq != expected:
        return expected, f"Event {expected} is missing: the next one found is {event.seq}."
    if event.prev_hash != before:
        return event.seq, f"Event {event.seq} does not follow from event {event.seq - 1}."
    try:
        same = event_hash(event) == event.hash
    except (ValueError, TypeError, AttributeError):
        same = False
    if not same:
        return event.seq, f"Event {event.seq} was changed: its hash does not match its content."
    return None


class _Walk:
    """Goes along one trail: links, content, anchors on the way, and what was announced without an outcome."""

    def __init__(self, anchors: Iterable[Anchor], head: str | None) -> None:
        self.before, self.count, self.met = GENESIS, 0, 0
        self.watch = IntentWatch()
        self._head, self._head_seen = head, head is None
        self._proven: set[str] = set()  # content that was read already
        self._anchors: dict[int, list[Anchor]] = {}
        for anchor in anchors:
            self._anchors.setdefault(anchor.seq, []).append(anchor)

    def report(self, found: Fault | None = None) -> ChainReport:
        head = self.before if self.count else ""
        seq, problem = found or (0, "")
        return ChainReport(found is None, self.count, seq, problem, head, self.met, self.watch.left())

    def go(self, rows: QuerySet[Any]) -> Fault | None:
        """Take every row in order; what is wrong with the first one that cannot be proven."""
        for batch in _batches(rows):
            if isinstance(batch, int):
                return batch, f"Event {batch} cannot be read: a column contains a value that was never written."
            spoiled = _spoiled_blobs(batch, self._proven)
            for event in batch:
                if found := self._take(event, spoiled):
                    return found
        return None

    def _take(self, event: Event | SiteEvent, spoiled: dict[str, str]) -> Fault | None:
        if found := link_problem(event, self.count + 1, self.before):
            return found
        for sha256 in _references(event):
            if sha256 in spoiled:
                return event.seq, f"Event {event.seq} points at content {sha256[:12]} that {spoiled[sha256]}."
        for anchor in self._anchors.get(event.seq, ()):
            if anchor.hash != event.hash:
                return event.seq, (
                    f"Event {event.seq} is not the one noted in {anchor.where}: it, or one before it, was rewritten."
                )
            self.met += 1
        if isinstance(event, Event):
            self.watch.see(event)
        self.before, self.count = event.hash, self.count + 1
        self._head_seen = self._head_seen or event.hash == self._head
        return None

    def end(self) -> Fault | None:
        """What is missing at the end."""
        beyond = min((seq for seq in self._anchors if seq > self.count), default=0)
        if beyond:
            anchor = self._anchors[beyond][0]
            return self.count + 1, (
                f"Event {self.count + 1} is missing: {anchor.where} noted event {anchor.seq}. The end was cut off, or "
                "the database put back from an older copy."
            )
        if not self._head_seen:
            return self.count + 1, (
                f"The head {self._head} stored elsewhere is not in the chain: its end was cut off or rewritten."
            )
        return None


def verify_chain(run_id: int, *, head: str | None = None, anchors: Iterable[Anchor] = ()) -> ChainReport:
    """Recompute every hash of a run's stream and of the content it points at.

    `head` is a hash kept outside the database (a commit's Audit-Head trailer, an export): it must occur in the chain,
    which also shows a tail cut off together with the run's own note of it. So must every place of `anchors`. Raises
    BadInput when there is no such run.
    """
    run = Run.objects.filter(pk=run_id).first()
    if run is None:
        raise BadInput(f"There is no run {run_id}.")
    walk = _Walk(anchors, head)
    found = walk.go(Event.objects.filter(run_id=run_id))
    if found is not None:
        return walk.report(found)
    if walk.count != run.last_seq:
        words = f"The run recorded {run.last_seq} events, {walk.count} are there: the end was cut off or added."
        return walk.report((walk.count + 1, words))
    if (run.head_hash or GENESIS) != walk.before:
        return walk.report((max(walk.count, 1), "The last event is not the one recorded as the run's head."))
    return walk.report(walk.end())


def verify_run(run_id: int, *, head: str | None = None, also: Iterable[Anchor] = ()) -> ChainReport:
    """verify_chain() with what was noted about the run outside the database, and `also` (commits, say).

    A file of heads that was itself changed counts as broken. Raises BadInput when there is no such run.
    """
    heads = read_heads()
    report = verify_chain(run_id, head=head, anchors=[*heads.anchors.get(trail_of(run_id), ()), *also])
    if heads.ok or not report.ok:
        return report
    return replace(report, ok=False, problem=f"The chain is consistent, but the comparison failed: {heads.problem}")


def verify_site(heads: Heads | None = None) -> ChainReport:
    """Recompute the site's own trail and compare it with what was noted outside the database."""
    heads = heads or read_heads()
    walk = _Walk(heads.anchors.get(SITE, ()), None)
    return walk.report(walk.go(SiteEvent.objects.all()) or walk.end())


def missing_runs(heads: Heads) -> list[str]:
    """Runs that were noted outside the database and are not in it any more; those of deleted projects as recorded."""
    there = {trail_of(pk) for pk in Run.objects.values_list("pk", flat=True)}
    ends = {trail_of(end["run"]): end for row in deleted_projects() for end in row.detail["runs"]}
    return sorted(
        trail
        for trail, noted in heads.anchors.items()
        if trail != SITE
        and trail not in there
        and not (trail in ends and all(_reaches(ends[trail], at) for at in noted))
    )


def _reaches(end: dict[str, Any], noted: Anchor) -> bool:
    """Whether a trail that was deleted at `end` can have been where it was noted."""
    return noted.seq < end["seq"] or (noted.seq, noted.hash) == (end["seq"], end["hash"])


def deleted_projects() -> QuerySet[SiteEvent]:
    """What the site's trail says of projects that an administrator deleted."""
    return SiteEvent.objects.filter(action=DELETED).order_by("seq")


def _batches(rows: QuerySet[Any]) -> Iterator[list[Any] | int]:
    """The stream by parts; at a row that cannot even be read, its number, as the last item."""
    rows = rows.order_by("seq", "pk")
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


def _references(event: Event | SiteEvent) -> list[str]:
    """The content hashes a row names; other values are named too, so that they are found missing."""
    if isinstance(event, SiteEvent):
        return []
    values = event.blobs.values() if isinstance(event.blobs, dict) else [event.blobs]
    return [str(item) for value in values for item in (value if isinstance(value, list) else [value])]


def _spoiled_blobs(batch: Sequence[Event | SiteEvent], proven: set[str]) -> dict[str, str]:
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
