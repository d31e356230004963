"""What the model calls took: counted once each, added up on read."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import Any, TypedDict

from django.db.models import Count, Sum

from projects.models import Usage

SUMS = {
    "calls": Count("pk"),
    **{name: Sum(name, default=0) for name in ("prompt_tokens", "reused_tokens", "completion_tokens", "seconds")},
}


class UsageTotals(TypedDict):
    """Sums over model calls. Seconds are those of the calls, not wall-clock time."""

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
    joules: float | None = None,
    **counts: float,
) -> Usage:
    """Count one model call; a call with the same `key` in the run is counted once.

    `counts` are prompt_tokens, reused_tokens, completion_tokens and seconds; `joules` is measured energy.
    """
    values: dict[str, Any] = {name: max(0, value) for name, value in counts.items()}
    values |= {"task_id": task_id, "role": role[:20], "model": model[:120], "tokens_per_s": tokens_per_s}
    values["joules"] = joules
    return Usage.objects.get_or_create(run_id=run_id, key=key[:160], defaults=values)[0]


def usage_of(**which: int) -> UsageTotals:
    """Sums over the model calls of a run (run_id=…) or a task (task_id=…).

    tokens_per_s is generated tokens by the seconds of their calls; None when nothing ran.
    """
    return totals_of(**Usage.objects.filter(**which).order_by().aggregate(**SUMS))


def usage_by_task(run_id: int) -> defaultdict[int | None, UsageTotals]:
    """The same for every task of a run at once; None stands for the calls that belong to no task."""
    rows = Usage.objects.filter(run_id=run_id).order_by().values("task_id").annotate(**SUMS)
    found: defaultdict[int | None, UsageTotals] = defaultdict(partial(totals_of, **dict.fromkeys(SUMS, 0)))
    found.update({row.pop("task_id"): totals_of(**row) for row in rows})
    return found


def totals_of(
    *, calls: int, prompt_tokens: int, reused_tokens: int, completion_tokens: int, seconds: float
) -> UsageTotals:
    """The sums with what is derived from them."""
    speed = completion_tokens / seconds if seconds and completion_tokens else None
    return {
        "calls": calls,
        "prompt_tokens": prompt_tokens,
        "reused_tokens": reused_tokens,
        "completion_tokens": completion_tokens,
        "tokens": prompt_tokens + completion_tokens,
        "seconds": round(float(seconds), 3),
        "tokens_per_s": round(speed, 2) if speed else None,
    }
