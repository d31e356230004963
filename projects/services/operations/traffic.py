"""Requests to deployments, counted by the minute, and those worth repeating in a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from agents.secrets.redaction import redact
from projects.models import BadRequest, Deployment, TrafficMinute
from projects.services.audit.canonical import clean_line, clean_text

# Milliseconds: upper edges of the buckets that latencies are counted in; one more bucket holds what is longer.
EDGES = (5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000)
KEPT_DAYS = 14
MOST_BAD = 200  # of one deployment; the oldest go first
MOST_BODY = 16_000
SLOW_MS = 1000  # such a request is worth repeating, too
# What a test repeats of a request; cookies and authorization stay out of it.
HEADERS = ("accept", "accept-language", "content-type", "range", "user-agent", "x-requested-with")


@dataclass
class TrafficCount:
    """Requests since the last writing."""

    requests: int = 0
    errors: int = 0
    milliseconds: int = 0
    buckets: list[int] = field(default_factory=lambda: [0] * (len(EDGES) + 1))

    def add(self, milliseconds: int, *, failed: bool) -> None:
        """One more."""
        self.requests += 1
        self.errors += failed
        self.milliseconds += milliseconds
        self.buckets[next((at for at, edge in enumerate(EDGES) if milliseconds <= edge), len(EDGES))] += 1


def quantile(buckets: Sequence[int], share: float) -> int | None:
    """The edge below which this share of the requests lies, in ms; None without any. What is longest counts 60 s."""
    total, so_far = sum(buckets), 0
    for at, count in enumerate(buckets):
        so_far += count
        if total and so_far >= share * total:
            return EDGES[at] if at < len(EDGES) else 60_000
    return None


def record(counted: Mapping[tuple[int, datetime], TrafficCount]) -> None:
    """Add to the minutes of deployments, by deployment and minute; those that are gone are left out."""
    there = set(Deployment.objects.filter(pk__in={pk for pk, _ in counted}).values_list("pk", flat=True))
    for (pk, minute), more in counted.items():
        if pk not in there:
            continue
        with transaction.atomic():
            row, _ = TrafficMinute.objects.select_for_update(no_key=True).get_or_create(
                deployment_id=pk, minute=minute, defaults={"buckets": [0] * len(more.buckets)}
            )
            row.requests += more.requests
            row.errors += more.errors
            row.milliseconds += more.milliseconds
            row.buckets = [one + two for one, two in zip(row.buckets, more.buckets, strict=True)]
            row.save()


def keep_bad(
    deployment: int, *, method: str, path: str, headers: Mapping[str, str], body: bytes, status: int | None, ms: int
) -> None:
    """Keep a request that was answered badly, without what identifies its sender."""
    row = Deployment.objects.filter(pk=deployment).first()
    if row is None:
        return
    wanted = {name: clean_line(headers[name], 300) for name in HEADERS if name in headers}
    text = body[:MOST_BODY].decode("utf-8", "replace")
    BadRequest.objects.create(
        deployment=row,
        method=clean_line(method, 10),
        path=clean_line(str(redact(path)), 2000),
        headers=wanted,
        body=clean_text(str(redact(text))),
        status=status,
        milliseconds=ms,
        log_position=row.log_position,
    )
    old = BadRequest.objects.filter(deployment=row).order_by("-pk").values_list("pk", flat=True)[MOST_BAD:]
    BadRequest.objects.filter(pk__in=list(old)).delete()


def tidy(now: datetime) -> None:
    """Forget minutes and requests that are older than KEPT_DAYS."""
    before = now - timedelta(days=KEPT_DAYS)
    TrafficMinute.objects.filter(minute__lt=before).delete()
    BadRequest.objects.filter(at__lt=before).delete()


@dataclass(frozen=True)
class Metrics:
    """Requests to a deployment in a span of time."""

    minutes: int
    requests: int
    errors: int
    p95_ms: int | None

    @property
    def error_share(self) -> float | None:
        """Errors by requests; None without any."""
        return self.errors / self.requests if self.requests else None


def metrics(deployment: Deployment, *, minutes: int = 15, until: datetime | None = None) -> Metrics:
    """The last `minutes` of a deployment."""
    end = until or timezone.now()
    rows = list(deployment.minutes.filter(minute__gt=end - timedelta(minutes=minutes + 1), minute__lte=end))
    buckets = [sum(each) for each in zip(*(row.buckets for row in rows), strict=True)]
    requests = sum(row.requests for row in rows)
    return Metrics(
        minutes=minutes, requests=requests, errors=sum(row.errors for row in rows), p95_ms=quantile(buckets, 0.95)
    )
