"""Whether model servers keep the beginning of a prompt, as recent calls that share one with earlier calls tell."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass

from agents.events.reasoning import ModelCalled
from projects.models import Event
from projects.services.insight.ledger import LedgerCall, calls_of

RECENT = 200  # calls that are looked at
TASKS = 6  # tasks that they are of, at most
WORTH = 1_000  # tokens; a shorter prefix is read in no time
KEPT = 0.5  # of the common prefix: less was lost
AS_SLOW = 0.7  # of a whole prompt's time a token: so long takes no prompt of which the most is kept


@dataclass(frozen=True)
class PrefixUse:
    """Of one model: calls that could have reused a prefix, and how many of them read it anew."""

    model: str
    calls: int
    lost: int


def prefix_use() -> list[PrefixUse]:
    """What became of common prefixes lately, by model; a model whose server tells too little is left out."""
    rows = Event.objects.filter(type=ModelCalled.type, payload__recorded=False, task__isnull=False)
    newest = rows.select_related("run", "task").order_by("-pk")[:RECENT]
    tasks = list({row.task_id: row for row in newest}.values())[:TASKS]
    by_model: dict[str, list[LedgerCall]] = defaultdict(list)
    for row in tasks:
        for call in calls_of(row.run, row.task):
            by_model[call.model].append(call)
    found = []
    for model, calls in sorted(by_model.items()):
        outcomes = [lost for call in calls if (lost := _is_lost(call, _cold(calls))) is not None]
        if outcomes:
            found.append(PrefixUse(model, len(outcomes), sum(outcomes)))
    return found


def _cold(calls: list[LedgerCall]) -> float:
    """Seconds that a token takes of a prompt that shares nothing with an earlier one; 0.0 when none was timed."""
    times = [call.reading_s / call.sent for call in calls if call.sent and call.reading_s and not call.shared]
    return statistics.median(times) if times else 0.0


def _is_lost(call: LedgerCall, cold: float) -> bool | None:
    """Whether the call read a prefix anew that an earlier one had; None for one that tells nothing."""
    if (call.shared or 0) < WORTH:
        return None
    if call.told:
        return (call.reusable or 0) < KEPT * (call.shared or 0)
    if not cold or not call.reading_s or (call.shared or 0) < 0.6 * call.sent:
        return None
    return call.reading_s > AS_SLOW * cold * call.sent
