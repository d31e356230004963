"""What the model calls took: counted once each, added up on read."""

from __future__ import annotations

from typing import Any, TypedDict

from django.db.models import Count, QuerySet, Sum

from projects.models import Usage


class UsageTotals(TypedDict):
    """Sums over model calls. Seconds are those of the calls, not of the wall."""

    calls: int
    prompt_tokens: int
    reused_tokens: int
    completion_tokens: int
    tokens: int
    seconds: float
    tokens_per_s: float | None


def record_usage(
    run_id: int,
    *,
    key: str,
    role: str,
    model: str,
    task_id: int | None = None,
    tokens_per_s: float | None = None,
    **counts: float,
) -> Usage:
    """Count one model call; a call with the same `key` in the run is counted once.

    `counts` are prompt_tokens, reused_tokens, completion_tokens and seconds.
    """
    values: dict[str, Any] = {name: max(0, value) for name, value in counts.items()}
    values |= {"task_id": task_id, "role": role[:20], "model": model[:120], "tokens_per_s": tokens_per_s}
    return Usage.objects.get_or_create(run_id=run_id, key=key[:160], defaults=values)[0]


def add_up(rows: QuerySet[Usage]) -> UsageTotals:
    """Sums over the rows. tokens_per_s is generated tokens by the seconds of their calls; None when nothing ran."""
    sums: dict[str, Any] = rows.order_by().aggregate(
        calls=Count("pk"),
        prompt=Sum("prompt_tokens", default=0),
        reused=Sum("reused_tokens", default=0),
        completion=Sum("completion_tokens", default=0),
        seconds=Sum("seconds", default=0.0),
    )
    speed = sums["completion"] / sums["seconds"] if sums["seconds"] and sums["completion"] else None
    return {
        "calls": sums["calls"],
        "prompt_tokens": sums["prompt"],
        "reused_tokens": sums["reused"],
        "completion_tokens": sums["completion"],
        "tokens": sums["prompt"] + sums["completion"],
        "seconds": round(sums["seconds"], 3),
        "tokens_per_s": round(speed, 2) if speed else None,
    }


def run_usage(run_id: int) -> UsageTotals:
    """What a run's model calls took."""
    return add_up(Usage.objects.filter(run_id=run_id))


def task_usage(task_id: int) -> UsageTotals:
    """What a task's model calls took."""
    return add_up(Usage.objects.filter(task_id=task_id))
