"""The rows beside the stream that the engine reads and writes for one task."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Q

from agents.engine.contracts import ApprovalAnswer, Stopped
from agents.events.lifecycle import HumanMessage
from agents.gates.base import Disposition, GateReport, Severity
from projects.engine.event_log import DatabaseEventLog
from projects.models import Approval, Event, Finding, Run, Task
from projects.services.decisions import approvals
from projects.services.work import approval_requests, attempts, findings, leases, sub_tasks

TURN_POLL = 0.1
NEVER = datetime.now(UTC) + timedelta(days=36_500)
MERGE_SECONDS = 300.0  # longer than a suite may run; a dead merger is found by its process, not by this


class DatabaseTaskStore:
    """Implements agents.engine.contracts.TaskStore."""

    def __init__(self, task: Task, *, actor: str, event_log: DatabaseEventLog) -> None:
        self._task, self._actor, self._event_log = task, actor, event_log

    def start_attempt(self, number: int, strategy: str, diagnosis: Mapping[str, str] | None) -> None:
        self._event_log.fenced(
            lambda: attempts.start_attempt(
                self._task, number=number, strategy=strategy, diagnosis=diagnosis, actor=self._actor
            )
        )

    def finish_attempt(self, number: int, outcome: str, **fields: Any) -> None:
        self._event_log.fenced(
            lambda: attempts.finish_attempt(self._task, number=number, outcome=outcome, actor=self._actor, **fields)
        )

    def judge_diagnosis(self, number: int, outcome: str) -> None:
        self._event_log.fenced(lambda: attempts.judge_diagnosis(self._task, number=number, outcome=outcome))

    def record_findings(self, report: GateReport, attempt: int) -> None:
        rows = [finding.to_json() for finding in report.findings]
        decided = self.dispositions()
        blocking = {
            finding.fingerprint
            for finding in report.findings
            if finding.severity >= Severity.MEDIUM
            and not (finding.fingerprint in decided and decided[finding.fingerprint].holds())
        }
        self._event_log.fenced(lambda: findings.record_findings(self._task, rows, attempt=attempt, blocking=blocking))

    def dispositions(self) -> Mapping[str, Any]:
        rows = Finding.objects.filter(task__run__project=self._task.run.project).exclude(disposition="")
        return {row.fingerprint: Disposition(reason=row.reason, expires=row.expires_at or NEVER) for row in rows}

    def words(self) -> Sequence[str]:
        rows = Event.objects.filter(Q(task=self._task) | Q(task=None), run=self._task.run, type=HumanMessage.type)
        return [str(payload.get("text", "")) for payload in rows.order_by("seq").values_list("payload", flat=True)]

    def ask(
        self, *, kind: str, subject: str, title: str, why: str, on_yes: str, on_no: str, payload: Mapping[str, Any]
    ) -> ApprovalAnswer:
        project = self._task.run.project
        answer = approvals.answer_to(project, kind=kind, subject=subject)
        if answer == Approval.Status.APPROVED:
            return "approved"
        if answer == Approval.Status.REJECTED:
            return "rejected"
        approval_requests.ask(
            project,
            kind=kind,
            subject=subject,
            title=title,
            run=self._task.run,
            task=self._task,
            why=why,
            on_yes=on_yes,
            on_no=on_no,
            payload=payload,
        )
        return "pending"

    def sub_task(self, what: str, path: str, why: str) -> str:
        """What came of a request for a sub-task, in words for who asked; raises Waiting until that is known."""
        return sub_tasks.sub_task_for(
            self._task, sub_tasks.SubTaskRequest(what, path, why), actor=self._actor, fenced=self._event_log.fenced
        )

    def refusals(self) -> Sequence[str]:
        rows = Approval.objects.filter(task=self._task, status=Approval.Status.REJECTED).order_by("pk")
        asked = rows.exclude(kind=Approval.Kind.ESCALATION).values_list("title", "reason")
        return [f"{title}: {reason}" for title, reason in asked]

    def merge_turn(self, merge: Callable[[], None]) -> None:
        run: Run = self._task.run
        owner = f"{self._actor}#{self._task.key}"
        while not leases.acquire_merge(run.pk, owner=owner, seconds=MERGE_SECONDS):
            if self._event_log.stopped():
                raise Stopped
            time.sleep(TURN_POLL)
        try:
            merge()
        finally:
            leases.release_merge(run.pk, owner=owner)
