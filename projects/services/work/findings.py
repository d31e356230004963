"""What the gates found, and what people decided about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from agents.events.effects import FindingFixed, FindingMoved, FindingRecorded
from agents.events.lifecycle import ApprovalDecided
from agents.gates.base import content_mark
from agents.secrets.redaction import redact
from projects.errors import BadInput, NotAllowed
from projects.models import Approval, Finding, Project, Task
from projects.services.accounts.rights import can, people_who_may, require
from projects.services.audit.canonical import clean_line, clean_text
from projects.services.audit.events import emit
from projects.services.work.approval_requests import ask, close_questions
from projects.services.work.locks import lock_run
from projects.workers.queue import enqueue

DISPOSITIONS = ("accepted", "false_positive", "wont_fix", "override")
SEVERE = ("HIGH", "ERROR", "CRITICAL")
LINES = {"tool": 30, "rule": 160, "severity": 10, "confidence": 10, "cwe": 20, "path": 400}  # characters
MAX_LIFE = timedelta(days=366)
# What stands in for the second person where a project has nobody else who may override its gates.
ALONE_REASON = 30  # characters
ALONE_LIFE = timedelta(days=30)


def record_findings(
    task: Task, findings: Iterable[Mapping[str, Any]], *, attempt: int, blocking: set[str], actor: str = ""
) -> list[Finding]:
    """Bring the task's findings to what the scanners say now; returns those present, blocking ones first.

    Known by fingerprint: present before = OLD, absent now = FIXED, back again = NEW. A weakness is not fixed, and keeps
    its row, when its code moved or what flows into it changed, which ends a decision about it; and when nobody decided
    on it and its line was only rewritten. Running it twice for one attempt changes nothing. Each newly found one is an
    event of the stream. A disposition holds until it expires.
    """
    given = {clean_line(str(item["fingerprint"]), 64): item for item in findings}
    now = timezone.now()
    with transaction.atomic():
        lock_run(task.run_id)
        known = {row.fingerprint: row for row in Finding.objects.filter(task=task)}
        carried = {**_carry_moved(known, given, now), **_carry_rewritten(known, given)}
        for fingerprint, item in given.items():
            row = known.get(fingerprint)
            fresh = row is None or row.state == Finding.State.FIXED
            if row is None:
                row = Finding(task=task, fingerprint=fingerprint, attempt_number=attempt)
            elif fresh:
                row.state, row.attempt_number, row.fixed_at = Finding.State.NEW, attempt, None
            elif row.attempt_number != attempt:
                row.state = Finding.State.OLD
            _fill(row, item)
            row.blocks = fingerprint in blocking and not still_holds(row, now)
            row.save()
            known[fingerprint] = row
            if carried.get(fingerprint, row.path) != row.path:
                _report_moved(row, carried[fingerprint], attempt, actor)
            elif fresh or fingerprint in carried:
                _report(row, attempt, actor)
        for row in _gone(known, given):
            row.state, row.blocks, row.fixed_at = Finding.State.FIXED, False, now
            row.save(update_fields=["state", "blocks", "fixed_at"])
            _report_fixed(row, attempt, actor)
    present = [known[name] for name in given]
    return sorted(present, key=lambda row: (not row.blocks, row.pk))


Items = Mapping[str, Mapping[str, Any]]


def _carry_moved(known: dict[str, Finding], given: Items, now: datetime) -> dict[str, str]:
    """Give findings whose code stands elsewhere now their new fingerprints; returns these with the old paths.

    What a person decided was about the old place and what flowed into it: the decision ends.
    """
    carried: dict[str, str] = {}
    for fingerprint, item in given.items():
        mark, wanted = (
            content_mark(fingerprint),
            [clean_line(str(item[name]), LINES[name]) for name in ("tool", "rule")],
        )
        same = [row for row in _gone(known, given) if mark and content_mark(row.fingerprint) == mark]
        same = [row for row in same if [row.tool, row.rule] == wanted]
        if fingerprint in known or not same:
            continue
        row = min(same, key=lambda row: (row.path != item["path"], row.pk))
        if still_holds(row, now):
            row.expires_at = now
        carried[fingerprint] = row.path
        _rename(known, row, fingerprint)
    return carried


def _carry_rewritten(known: dict[str, Finding], given: Items) -> dict[str, str]:
    """Give open findings whose line was rewritten their new fingerprints; returns these with their paths.

    The same tool reports the same rule in the same file, as often as before or more: the weakness is still there. What
    a person decided on is never carried over to other code.
    """
    carried: dict[str, str] = {}
    for fingerprint, item in given.items():
        same = {name: clean_line(str(item.get(name) or ""), LINES[name]) for name in ("tool", "rule", "path")}
        alike = [row for row in _gone(known, given) if not row.disposition]
        alike = [row for row in alike if all(getattr(row, name) == value for name, value in same.items())]
        if fingerprint in known or not alike:
            continue
        line = int(item.get("line") or 0)
        nearest = min(alike, key=lambda row: abs(row.line - line))
        carried[fingerprint] = nearest.path
        _rename(known, nearest, fingerprint)
    return carried


def _gone(known: Mapping[str, Finding], given: Items) -> list[Finding]:
    return [row for name, row in known.items() if name not in given and row.state != Finding.State.FIXED]


def _rename(known: dict[str, Finding], row: Finding, fingerprint: str) -> None:
    del known[row.fingerprint]
    row.fingerprint = fingerprint
    known[fingerprint] = row


def _fill(row: Finding, item: Mapping[str, Any]) -> None:
    for name, limit in LINES.items():
        setattr(row, name, clean_line(str(item.get(name) or ""), limit))
    for name in ("message", "remediation"):
        setattr(row, name, clean_text(str(redact(str(item.get(name) or ""))), 4_000))
    row.line = max(0, int(item.get("line") or 0))


def _report(row: Finding, attempt: int, actor: str) -> None:
    columns = {name: getattr(row, name) for name in (*LINES, "line", "message", "remediation", "fingerprint")}
    summary = f"{row.tool} {row.rule} {row.severity} {row.path}:{row.line} {row.message}"
    found = FindingRecorded(summary=summary, outcome="fail" if row.blocks else "", finding=row.pk, **columns)
    emit(row.task.run_id, found, actor=actor, task_id=row.task_id, attempt=attempt)


def _report_fixed(row: Finding, attempt: int, actor: str) -> None:
    columns = {name: getattr(row, name) for name in ("tool", "rule", "path", "fingerprint")}
    gone = FindingFixed(summary=f"{row.tool} {row.rule} is gone from {row.path}", finding=row.pk, **columns)
    emit(row.task.run_id, gone, actor=actor, task_id=row.task_id, attempt=attempt)


def _report_moved(row: Finding, before: str, attempt: int, actor: str) -> None:
    columns = {name: getattr(row, name) for name in ("tool", "rule", "path", "line", "fingerprint")}
    ended = "; the decision about it has ended" if row.disposition else ""
    summary = f"{row.tool} {row.rule} moved from {before} to {row.path}:{row.line}{ended}"
    moved = FindingMoved(summary=summary, finding=row.pk, before=before, **columns)
    emit(row.task.run_id, moved, actor=actor, task_id=row.task_id, attempt=attempt)


def dispose(
    finding: Finding,
    *,
    by: User,
    disposition: str,
    reason: str,
    expires_at: datetime | None = None,
    second: User | None = None,
) -> Finding:
    """Decide what a finding means: accepted, false_positive, wont_fix or override, always with a reason.

    For a severe finding (HIGH, ERROR, CRITICAL) every decision lets the change pass the gate. So it takes the right
    gate.override, an expiry at most a year ahead, and a second person who agrees: the decision is asked as an approval
    of kind gate (of `second` alone when given) and holds once that is approved. Until then the finding blocks. Where
    nobody else could agree, a reason of at least ALONE_REASON characters and an expiry within ALONE_LIFE stand in.
    Raises NotAllowed and BadInput.
    """
    project = finding.task.run.project
    severe = is_severe(finding)
    if disposition not in DISPOSITIONS:
        raise BadInput(f"Unknown disposition {disposition!r}: choose one of {', '.join(DISPOSITIONS)}.")
    verb = "gate.override" if severe or disposition == "override" else "gate.dispose"
    require(by, project, verb)
    if not reason.strip():
        raise BadInput("Give a reason: it is kept with the finding and in the audit trail.")
    if expires_at is None and verb == "gate.override":
        raise BadInput("An override needs an expiry date.")
    if expires_at is not None and not timezone.now() < expires_at <= timezone.now() + MAX_LIFE:
        raise BadInput("The expiry date must be in the future, at most a year ahead.")
    if second is not None and second.pk == by.pk:
        raise BadInput(f"A {finding.severity} finding needs two people: name someone else as the second.")
    if severe and second is not None and not can(second, project, "gate.override"):
        raise NotAllowed(f"{second.get_username()} may not override gates in {project.name}.")
    clean_reason = clean_text(str(redact(reason)), 4_000)
    alone = severe and second is None and not seconds_for(project, by)
    if alone:
        _check_alone(clean_reason, expires_at)
    if severe and not alone:
        _ask_second(finding, by, disposition, clean_reason, expires_at, second)
    else:
        apply_disposition(finding, by=by, disposition=disposition, reason=clean_reason, expires_at=expires_at)
    finding.refresh_from_db()
    return finding


def is_severe(finding: Finding) -> bool:
    """Whether deciding about the finding takes two people."""
    return finding.severity.upper() in SEVERE


def seconds_for(project: Project, first: User) -> list[str]:
    """Names of the people who could agree, as the second person, to what `first` decides about a severe finding."""
    others = people_who_may(project, "gate.override").exclude(pk=first.pk)
    return list(others.values_list("username", flat=True))


def _check_alone(reason: str, expires_at: datetime | None) -> None:
    if len(reason.strip()) < ALONE_REASON:
        raise BadInput(
            f"Nobody else may override gates here, so a reason of at least {ALONE_REASON} characters stands in for the "
            "second person."
        )
    if expires_at is None or expires_at > timezone.now() + ALONE_LIFE:
        raise BadInput(f"Decided by one person alone, it lasts {ALONE_LIFE.days} days at most.")


def undecided(task: Task) -> list[Finding]:
    """Findings that block the task's change and that no decision in force is about."""
    now = timezone.now()
    rows = Finding.objects.filter(task=task, blocks=True).exclude(state=Finding.State.FIXED)
    return [row for row in rows if not still_holds(row, now)]


def _ask_second(
    finding: Finding, by: User, disposition: str, reason: str, expires_at: datetime | None, second: User | None
) -> None:
    word = disposition.replace("_", " ")
    with transaction.atomic():
        run = lock_run(finding.task.run_id)
        close_questions("asked anew", kind=Approval.Kind.GATE, subject=finding.fingerprint, task=finding.task)
        ask(
            run.project,
            kind=Approval.Kind.GATE,
            subject=finding.fingerprint,
            title=f"Second person: {finding.tool} {finding.rule} {finding.severity} is {word}?",
            run=run,
            task=finding.task,
            why=f"{by.get_username()} says {word}: {reason}",
            on_yes="The finding no longer blocks the change, until the decision expires.",
            on_no="The finding keeps blocking the change.",
            payload={
                "finding": finding.pk,
                "disposition": disposition,
                "reason": reason,
                "expires_at": expires_at.isoformat() if expires_at else None,
                "first": by.pk,
                "second": second.pk if second else None,
            },
        )


def apply_disposition(
    finding: Finding,
    *,
    by: User,
    disposition: str,
    reason: str,
    expires_at: datetime | None,
    second: User | None = None,
) -> None:
    """Store a decision that everyone required has agreed to, and let the task go on."""
    with transaction.atomic():
        run = lock_run(finding.task.run_id)
        Finding.objects.filter(pk=finding.pk).update(
            disposition=disposition,
            reason=reason,
            expires_at=expires_at,
            decided_by=by,
            seconded_by=second,
            blocks=False,
        )
        names = by.get_username() + (f" and {second.get_username()}" if second else "")
        names += " alone" if is_severe(finding) and not second else ""
        decided = ApprovalDecided(
            summary=f"{names}: {finding.tool} {finding.rule} is {disposition.replace('_', ' ')} · {reason}",
            role="user",
            outcome=disposition,
            kind="gate",
            finding=finding.pk,
            fingerprint=finding.fingerprint,
            answer=disposition,
            reason=reason,
            first=by.get_username(),
            second=second.get_username() if second else "",
            expires_at=expires_at,
        )
        emit(run.pk, decided, actor=(second or by).get_username(), task_id=finding.task_id)
        enqueue("projects.jobs.schedule_run", run.pk)


def disposed(task: Task) -> set[str]:
    """Fingerprints of the task's findings whose disposition still holds."""
    now = timezone.now()
    return {row.fingerprint for row in Finding.objects.filter(task=task) if still_holds(row, now)}


def still_holds(finding: Finding, now: datetime) -> bool:
    """Whether a person decided about the finding and the decision has not run out."""
    return bool(finding.disposition) and (finding.expires_at is None or finding.expires_at > now)
