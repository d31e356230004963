"""One merge at a time per run."""

from __future__ import annotations

from projects.models import Run
from projects.services.work import leases


def acquire_merge(run_id: int, *, owner: str, seconds: float) -> bool:
    """Take the run's right to merge; one at a time, so False while anybody has it, `owner` itself included.

    Name the job, not only the worker ("worker:…#T-03"): two jobs of one worker must not share it.
    """
    rows = Run.objects.filter(leases.run_out("merge_until"), pk=run_id)
    return bool(rows.update(merge_owner=owner[:120], merge_until=leases.until(seconds)))


def renew_merge(run_id: int, *, owner: str, seconds: float) -> bool:
    """Prolong the right to merge; False when `owner` does not have it any more."""
    rows = Run.objects.filter(pk=run_id, merge_owner=owner[:120])
    return bool(rows.update(merge_until=leases.until(seconds)))


def release_merge(run_id: int, *, owner: str) -> bool:
    """Give the right to merge back; False when somebody else has it."""
    rows = Run.objects.filter(pk=run_id, merge_owner=owner[:120])
    return bool(rows.update(merge_owner="", merge_until=None))
