"""Tries at a task: what was believed, what was changed, what the sandbox said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from agents.events.lifecycle import AttemptFailed, AttemptPassed, AttemptStarted
from agents.secrets.redaction import redact
from projects.errors import BadInput
from projects.models import Attempt, Task
from projects.services.audit.canonical import clean_json, clean_text
from projects.services.audit.events import emit
from projects.services.work.locks import lock_run

FIELDS = ("diagnosis", "error_signature", "reward", "tests", "branch_coverage", "diff")
JUDGEMENTS = ("confirmed", "refuted")


def start_attempt(
    task: Task, *, number: int, strategy: str, diagnosis: Mapping[str, Any] | None = None, actor: str = ""
) -> Attempt:
    """Open try `number` (1-based); opening it again returns it unchanged."""
    if number < 1:
        raise BadInput(f"Attempts are counted from 1, not {number}.")
    with transaction.atomic():
        lock_run(task.run_id)
        attempt, made = Attempt.objects.get_or_create(
            task=task,
            number=number,
            defaults={"strategy": strategy[:20], "diagnosis": clean_json(redact(dict(diagnosis or {})))},
        )
        if made:
            started = AttemptStarted(summary=f"{task.key} try {number}: {strategy}", number=number, strategy=strategy)
            emit(task.run_id, started, actor=actor, task_id=task.pk, attempt=number)
    return attempt


def finish_attempt(task: Task, *, number: int, outcome: str, actor: str = "", **fields: Any) -> Attempt:
    """Close try `number` with what came of it; closing it twice keeps the first answer.

    `fields` are diagnosis, error_signature, reward, tests, branch_coverage (0…100), diff. Raises BadInput for an
    unknown outcome, field or try.
    """
    if outcome not in Attempt.Outcome.values or outcome == Attempt.Outcome.RUNNING:
        raise BadInput(f"Unknown outcome {outcome!r}: choose passed, failed or rejected.")
    unknown = sorted(set(fields) - set(FIELDS))
    if unknown:
        raise BadInput(f"An attempt has no {', '.join(unknown)}. It has: {', '.join(FIELDS)}.")
    with transaction.atomic():
        lock_run(task.run_id)
        attempt = _attempt(task, number)
        if attempt.outcome != Attempt.Outcome.RUNNING:
            return attempt
        for name, value in fields.items():
            setattr(attempt, name, clean_text(str(redact(value))) if name == "diff" else clean_json(redact(value)))
        attempt.error_signature = attempt.error_signature[:64]
        attempt.outcome = outcome
        attempt.finished_at = timezone.now()
        attempt.save()
        ended = (AttemptPassed if outcome == Attempt.Outcome.PASSED else AttemptFailed)(
            summary=f"{task.key} try {number}: {attempt.get_outcome_display().lower()}",
            error_signature=attempt.error_signature,
            number=number,
            strategy=attempt.strategy,
            signature=attempt.error_signature,
            diagnosis_outcome=attempt.diagnosis_outcome,
        )
        emit(task.run_id, ended, actor=actor, task_id=task.pk, attempt=number)
    return attempt


def judge_diagnosis(task: Task, *, number: int, outcome: str) -> Attempt:
    """Mark the diagnosis behind try `number` as confirmed or refuted by the next run; the first judgement stands."""
    if outcome not in JUDGEMENTS:
        raise BadInput(f"A diagnosis is {' or '.join(JUDGEMENTS)}, not {outcome!r}.")
    Attempt.objects.filter(task=task, number=number, diagnosis_outcome="").update(diagnosis_outcome=outcome)
    return _attempt(task, number)


def _attempt(task: Task, number: int) -> Attempt:
    attempt = Attempt.objects.filter(task=task, number=number).first()
    if attempt is None:
        raise BadInput(f"{task.key} has no try {number}.")
    return attempt
