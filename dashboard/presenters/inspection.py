"""One event, opened: what it is about, what came before it, and everything it points at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q
from django.shortcuts import get_object_or_404

from dashboard.presenters import prompt_breakdown
from dashboard.text import diffs
from projects.models import Attempt, Blob, Event, Requirement, Run, Task
from projects.services.audit.vocabulary import DiagnosisMade, FileChanged, ModelCalled, Thought, types_in
from projects.services.insight import ledger

MOST_REQUIREMENTS = 3
_CAUSES = ("test.result", "gate.finding", "error", "guard.blocked", "repeat")


@dataclass(frozen=True)
class Chain:
    """Why an event is there: the requirements of its task, the failure before it, and how that was explained."""

    requirements: list[Requirement] = field(default_factory=list)
    cause: Event | None = None
    diagnosis: Event | None = None
    confirmed: str = ""  # confirmed or refuted, by the next test run


def chain_of(event: Event) -> Chain:
    """What came before an event in its task."""
    if event.task is None:
        return Chain()
    wanted = event.task.requirements.select_related("document").order_by("ordinal")[:MOST_REQUIREMENTS]
    before = Event.objects.filter(task=event.task, seq__lt=event.seq).defer("blobs").order_by("-seq")
    cause = before.filter(Q(type__in=_CAUSES) | Q(type__in=types_in("errors")), outcome="fail")
    diagnosis = before.filter(type=DiagnosisMade.type, attempt=event.attempt).first()
    return Chain(
        list(wanted), cause.exclude(type__startswith="attempt.").first(), diagnosis, _outcome(event.task, diagnosis)
    )


def _outcome(task: Task, diagnosis: Event | None) -> str:
    if diagnosis is None:
        return ""
    tried = Attempt.objects.filter(task=task, number=diagnosis.attempt).first()
    return tried.diagnosis_outcome if tried else ""


def inspected(run: Run, seq: int) -> dict[str, Any]:
    """An event with everything it points at, bounded. Raises Http404."""
    event = get_object_or_404(Event.objects.select_related("task", "run"), run=run, seq=seq)
    names: dict[str, list[str]] = {}
    for name, value in event.blobs.items():
        names[name] = [str(one) for one in value] if isinstance(value, list) else [str(value)]
    stored = Blob.objects.in_bulk([sha for shas in names.values() for sha in shas])
    texts = {
        name: [(sha, stored[sha].content if sha in stored else "") for sha in shas] for name, shas in names.items()
    }
    files, left_out = diffs.parse("\n".join(text for _, text in texts.pop("diff", [])))
    call = ledger.call_at(run, seq) if event.type in (ModelCalled.type, Thought.type) else None
    return {
        "event": event,
        "chain": chain_of(event),
        "path": event.payload.get("path") if event.type == FileChanged.type else None,
        "files": files,
        "left_out": left_out,
        "texts": texts,
        "call": call,
        "segments": prompt_breakdown.segments(call.parts) if call else [],
    }
