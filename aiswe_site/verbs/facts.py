"""From rows of the database to the documents that verbs answer with."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, F

from agents.prompts.provenance import Source
from aiswe_site.verbs import answers
from aiswe_site.verbs.fields import fields
from projects.engine.questions import FoundAnswer
from projects.models import (
    Approval,
    Event,
    Finding,
    Plan,
    Project,
    Requirement,
    RequirementDocument,
    Run,
    Task,
)
from projects.services.audit.canonical import clean_text
from projects.services.delivery.state import RequirementState, RunResult
from projects.services.planning import runs
from projects.services.work.usage import usage_by_task

MOST = 200  # rows of a list
MOST_TEXT = 60_000  # characters of a diff
FINDING = "tool rule severity cwe path line message remediation state blocks disposition"


_WRITERS = {Requirement.Origin.INFERRED: Source.MODEL, Requirement.Origin.MANUAL: Source.PERSON}


def project_of(row: Project) -> answers.ProjectAnswer:
    """A project as a document."""
    plan, document = row.plans.first(), row.documents.first()
    return answers.ProjectAnswer(
        **fields(row, "project=slug name autonomy model=model_name source created_at archived_at"),
        document=document.pk if document else None,
        plan=plan.pk if plan else None,
        runs=list(row.runs.values_list("pk", flat=True)[:20]),
    )


def document_of(row: RequirementDocument) -> answers.DocumentAnswer:
    """A requirements document, without its text."""
    names = "document=pk project=project.slug filename version status replaces=replaces_id created_at"
    return answers.DocumentAnswer(source=Source.DOCUMENT, **fields(row, names))


def requirement_of(row: Requirement, became: RequirementState | None = None) -> answers.RequirementAnswer:
    """A requirement as a document, with what became of it."""
    return answers.RequirementAnswer(
        source=_WRITERS.get(Requirement.Origin(row.origin), Source.DOCUMENT),
        **fields(row, "key author_id=author_key kind origin status text acceptance reason"),
        document=str(row.document),
        lines=[row.line_start, row.line_end] if row.line_start else [],
        **(fields(became, "state tests commits") if became else {}),
    )


def requirements_of(row: RequirementDocument, following: str) -> answers.RequirementsAnswer:
    """A document's requirements, and the step that follows."""
    return answers.RequirementsAnswer(
        source=Source.DOCUMENT,
        **fields(row, "project=project.slug document=pk filename status problem questions"),
        requirements=[requirement_of(one) for one in row.requirements.select_related("document")],
        next=following,
    )


def plan_of(row: Plan, following: str) -> answers.PlanAnswer:
    """A plan as a document, and the step that follows."""
    return answers.PlanAnswer(
        source=Source.MODEL,
        **fields(row, "plan=pk project=project.slug version status hash=content_hash problems comment"),
        tasks=row.content.get("tasks", []),
        notes=str(row.content.get("notes", "")),
        next=following,
    )


def plan_row_of(row: Plan) -> answers.PlanRowAnswer:
    """A plan as the row of a list."""
    names = "plan=pk project=project.slug version status document=document.filename hash=content_hash comment"
    return answers.PlanRowAnswer(source=Source.MODEL, **fields(row, names), tasks=len(row.content.get("tasks", [])))


def task_of(row: Task) -> answers.TaskAnswer:
    """A task as a document."""
    return answers.TaskAnswer(source=Source.MODEL, **fields(row, "key title status why commit"))


def run_of(row: Run, note: str = "") -> answers.RunAnswer:
    """A run as a document."""
    names = "run=pk project=project.slug kind status why plan=plan_id document=document_id events=last_seq left_out"
    tasks = row.tasks.annotate(tries=Count("attempts"), asked=F("asked_by__key")).order_by("ordinal")
    usage = usage_by_task(row.pk)
    waiting = row.approvals.filter(status=Approval.Status.PENDING)
    return answers.RunAnswer(
        source=Source.MODEL,
        **fields(row, f"{names} recording"),
        totals=runs.totals(row),
        tasks=[
            answers.RunTaskAnswer(
                source=Source.MODEL,
                **fields(one, "key title status why commit tries escalation"),
                asked_by=one.asked or "",
                **usage[one.pk],
            )
            for one in tasks
        ],
        approvals=list(waiting.values_list("pk", flat=True)[:MOST]),
        note=note,
    )


def run_row_of(row: Any) -> answers.RunRowAnswer:
    """A run that was counted (dashboard.access.visibility.counted) as the row of a list."""
    names = "run=pk kind project=project.slug status why recording plan=plan_id tasks=all merged=done events=last_seq"
    found = fields(row, f"{names} created_at finished_at")
    built = (row.kind, row.status) == (Run.Kind.BUILD, Run.Status.FINISHED)
    return answers.RunRowAnswer(source=Source.MODEL, **found, left_out=(row.all - row.done) * built)


def event_of(row: Event) -> answers.EventAnswer:
    """An event as a document; those of the runtime quote what programs printed."""
    found = fields(row, "seq type role actor task=task.key summary payload outcome hash")
    source = {"user": Source.PERSON, "runtime": Source.TESTS}.get(row.role, Source.MODEL)
    return answers.EventAnswer(source=source, at=row.at.isoformat(), **found)


def approval_of(row: Approval, following: str) -> answers.ApprovalAnswer:
    """A question as a document, and how it is answered."""
    names = "approval=pk project=project.slug run=run_id task=task.key kind subject title why on_yes on_no payload"
    found = fields(row, f"{names} status reason decided_by=decided_by.username requested_at decided_at")
    return answers.ApprovalAnswer(source=Source.MODEL, **found, next=following)


def finding_of(row: Finding) -> answers.FindingAnswer:
    """A finding as a document."""
    return answers.FindingAnswer(source=Source.TOOLS, finding=row.pk, task=row.task.key, **fields(row, FINDING))


def places_of(found: FoundAnswer) -> answers.PlacesAnswer:
    """What a search found, as a document."""
    places = [
        answers.PlaceAnswer(
            source=Source.REPOSITORY if one.in_repository else Source.PACKAGE,
            **fields(one, "path line end symbol kind text"),
        )
        for one in found.places
    ]
    return answers.PlacesAnswer(commit=found.commit, order=found.order, places=places, notes=found.notes)


def result_of(found: RunResult) -> answers.ResultAnswer:
    """What a build amounts to, as a document."""
    names = "whole=is_whole branch commit files added removed coverage tests met"
    return answers.ResultAnswer(
        source=Source.MODEL,
        **fields(found.run, "run=pk project=project.slug status"),
        **fields(found, names),
        requirements=[requirement_of(one.requirement, one) for one in found.requirements],
        left_out=[task_of(one) for one in found.left_out],
    )


def diff_of(row: Run, base: str, commit: str, diff: str) -> answers.DiffAnswer:
    """What a run changed, as a document."""
    shown, rest = clean_text(diff[:MOST_TEXT]), max(0, len(diff) - MOST_TEXT)
    return answers.DiffAnswer(source=Source.MODEL, run=row.pk, base=base, commit=commit, diff=shown, diff_left_out=rest)


def evidence_of(task: Task) -> answers.EvidenceAnswer:
    """What proves a task."""
    tested = task.attempts.exclude(tests={}).order_by("-number").first()
    changed = task.attempts.exclude(diff="").order_by("-number").first()
    diff = changed.diff if changed else ""
    return answers.EvidenceAnswer(
        source=Source.MODEL,
        run=task.run_id,
        task=task_of(task),
        requirements=list(task.requirements.values_list("key", flat=True)),
        tests={**tested.tests, "attempt": tested.number, "outcome": tested.outcome} if tested else {},
        branch_coverage=tested.branch_coverage if tested else None,
        findings=[{"source": Source.TOOLS, **fields(one, FINDING)} for one in task.findings.all()[:MOST]],
        diff=diff[:MOST_TEXT],
        diff_left_out=max(0, len(diff) - MOST_TEXT),
        escalation=task.escalation,
    )
