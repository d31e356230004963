"""Leases: who works on a row, until when, and the token that shuts out whoever held it before.

Time is the database's, so workers on several machines need not agree on theirs. The token only grows; whoever writes
with an old one is refused (fencing), which keeps the work safe even when a clock jumps or a process sleeps.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, TypeAlias

from django.db import models, transaction
from django.db.models import DateTimeField, ExpressionWrapper, F, Q
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from projects.errors import BadInput, LeaseLost, LostRace
from projects.models import Run, Target, Task

Leased: TypeAlias = type[Task] | type[Run] | type[Target]
# States in which a row is worked on: a task that is ready or whose worker is gone, a run that is not over.
CLAIMABLE: dict[Leased, Q] = {
    Task: Q(status__in=(Task.Status.READY, Task.Status.RUNNING)),
    Run: ~Q(status__in=Run.OVER),
    Target: Q(),
}

# Seconds. A lease that seems to last longer was written before the clock was set back: it counts as run out.
MAX_LEASE = 3_600.0


def until(seconds: float) -> ExpressionWrapper[CombinedExpression]:
    """The moment `seconds` from now, by the database's clock. Raises BadInput for an unreasonable length."""
    if not 0 < seconds <= MAX_LEASE:
        raise BadInput(f"A lease lasts between 0 and {MAX_LEASE:.0f} seconds, not {seconds}.")
    return ExpressionWrapper(Now() + timedelta(seconds=seconds), output_field=DateTimeField())


def run_out(column: str = "lease_until") -> Q:
    """Rows whose lease in `column` is not held: none, over, or further off than a lease can be."""
    far = ExpressionWrapper(Now() + timedelta(seconds=MAX_LEASE + 60), output_field=DateTimeField())
    return Q(**{f"{column}__isnull": True}) | Q(**{f"{column}__lte": Now()}) | Q(**{f"{column}__gt": far})


def claim(model: Leased, pk: int, *, owner: str, seconds: float) -> int:
    """Take the row's lease when nobody holds it; one UPDATE decides, so of any number of claimants one wins.

    Returns the fencing token; the state itself is moved by move_task(..., token=token). Raises LostRace when the row
    is held (also by the same owner) or in no state to be worked on.
    """
    name = model._meta.verbose_name
    with transaction.atomic():
        rows = model._default_manager.filter(run_out(), CLAIMABLE[model], pk=pk)
        won = rows.update(lease_owner=owner[:120], lease_token=F("lease_token") + 1, lease_until=until(seconds))
        row = model._default_manager.filter(pk=pk).values_list("lease_owner", "lease_token").first()
    if row is None:
        raise BadInput(f"There is no {name} {pk}.")
    if not won:
        raise LostRace(f"The {name} {pk} is not free to claim; its lease is with {row[0] or 'nobody'}.")
    return int(row[1])


def renew(model: Leased, pk: int, *, token: int, seconds: float) -> None:
    """The heartbeat: prolong the lease. Raises LeaseLost when the token is no longer the row's."""
    rows = model._default_manager.filter(pk=pk, lease_token=token).exclude(lease_owner="")
    if not rows.update(lease_until=until(seconds)):
        raise lost(model, pk)


def release(model: Leased, pk: int, *, token: int) -> bool:
    """Give the lease back. False, and nothing changes, when it is somebody else's by now."""
    rows = model._default_manager.filter(pk=pk, lease_token=token)
    return bool(rows.update(lease_owner="", lease_until=None))


def revoke(model: Leased, rows: models.QuerySet[Any]) -> int:
    """Take the leases of `rows` away: the token grows, so what their holders still write is refused."""
    return int(rows.update(lease_owner="", lease_until=None, lease_token=F("lease_token") + 1))


def guard(model: Leased, pk: int, token: int) -> None:
    """Raise LeaseLost unless `token` is the row's: call it before every side effect.

    A lease that ran out but that nobody took is still the holder's: only a newer token shuts it out.
    """
    rows = model._default_manager.filter(pk=pk, lease_token=token).exclude(lease_owner="")
    if not rows.exists():
        raise lost(model, pk)


def lost(model: Leased, pk: int) -> LeaseLost:
    """The refusal, naming who holds the row now."""
    owner = model._default_manager.filter(pk=pk).values_list("lease_owner", flat=True).first()
    return LeaseLost(f"The {model._meta.verbose_name} {pk} is no longer yours (now: {owner or 'nobody'}).")


def acquire_merge(run_id: int, *, owner: str, seconds: float) -> bool:
    """Take the run's right to merge; one at a time, so False while anybody has it, `owner` itself included.

    Name the job, not only the worker ("worker:…#T-03"): two jobs of one worker must not share it.
    """
    rows = Run.objects.filter(run_out("merge_until"), pk=run_id)
    return bool(rows.update(merge_owner=owner[:120], merge_until=until(seconds)))


def release_merge(run_id: int, *, owner: str) -> bool:
    """Give the right to merge back; False when somebody else has it."""
    rows = Run.objects.filter(pk=run_id, merge_owner=owner[:120])
    return bool(rows.update(merge_owner="", merge_until=None))
