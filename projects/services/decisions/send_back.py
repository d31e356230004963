"""Sending a task's change back to the agents: with the findings to fix, or with people's comments on its lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from agents.events.lifecycle import ApprovalDecided
from agents.prompts.provenance import Source, label
from agents.secrets.redaction import redact
from projects.errors import BadInput
from projects.models import Approval, Finding, Task
from projects.services.accounts.rights import require
from projects.services.audit.events import emit
from projects.services.decisions import approvals
from projects.services.work import tasks
from projects.services.work.approval_requests import close_approval
from projects.services.work.locks import lock_run

AGAIN = (Task.Status.ESCALATED, Task.Status.NEEDS_YOU, Task.Status.SKIPPED)  # states in which it can go back
WORDS = 1_000  # characters that a person may add to one finding or line


@dataclass(frozen=True)
class ToFix:
    """One weakness to fix: what the scanners reported, and a person's words about it."""

    findings: Sequence[Finding]
    words: str = ""

    def text(self) -> str:
        """It as the agents read it; what scanners say is in a fence."""
        first = self.findings[0]
        rules = ", ".join(f"{one.tool} {one.rule} {one.severity}" for one in self.findings)
        reported = "\n".join(filter(None, [first.message[:600], first.remediation[:600]]))
        said = " ".join(self.words.split())[:WORDS]
        return "\n".join(filter(None, [f"{first.path}:{first.line}: {rules}", label(reported, Source.TOOLS), said]))


def gate_question(task: Task) -> Approval | None:
    """The open question of the security gate about this task."""
    rows = task.approvals.filter(kind=Approval.Kind.GATE, status=Approval.Status.PENDING).order_by("pk")
    return next((row for row in rows if approvals.is_gate_question(row)), None)


def verb_for(task: Task) -> str:
    """The right that sending the task back takes: it answers the gate's question, or else is another try."""
    return "approval.decide" if gate_question(task) else "task.retry"


def send_back(task: Task, *, by: User, wanted: Sequence[ToFix], note: str = "") -> None:
    """Have the agents try the task again with the findings to fix; this answers the gate's question with no.

    Raises NotAllowed, BadInput (nothing to fix, or too much for one note), IllegalMove and LostRace.
    """
    require(by, task.run.project, verb_for(task))
    if not wanted:
        raise BadInput("Nothing is left to fix: every finding is decided.")
    said = " ".join(note.split())[:WORDS]
    parts = ["The security gate sent this back. Fix:", *(one.text() for one in wanted), said]
    words = "\n\n".join(filter(None, parts))
    request_changes(task, by=by, words=words, reason=f"sent back with {len(wanted)} to fix")


def request_changes(task: Task, *, by: User, words: str, reason: str) -> None:
    """Another try with these words as its note; an open question of the gate is answered with no. Asks for no right."""
    if len(words) > tasks.NOTE_CHARS:
        raise BadInput(f"Too much for one request: {len(words):,} characters; {tasks.NOTE_CHARS:,} fit. Send less.")
    with transaction.atomic():
        lock_run(task.run_id)
        if question := gate_question(task):
            close_approval(question, Approval.Status.REJECTED, by=by, reason=reason)
        tasks.again(task, actor=by.get_username(), note=words)
        asked = ApprovalDecided(
            summary=f"{by.get_username()} sent {task.key} back: {reason}",
            role="user",
            outcome="fail",
            kind="changes",
            title=reason,
            answer="changes",
            reason=str(redact(words)),
        )
        emit(task.run_id, asked, actor=by.get_username(), task_id=task.pk)
