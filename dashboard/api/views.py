"""The endpoints for programs: small functions around the services that the pages use."""

from __future__ import annotations

from typing import Any

from django.http import JsonResponse

from dashboard import access
from dashboard.api.authentication import Answer, text
from dashboard.api.shapes import shape
from dashboard.requests import AuthenticatedHttpRequest
from projects.errors import BadInput, NotAllowed
from projects.models import Approval, Event, Plan, Project, RequirementDocument, Run, Task
from projects.services.audit.vocabulary import schema
from projects.services.planning import documents, projects
from projects.services.work import approvals, runs, tasks

PAGE = 200  # rows of a list at most
EVENTS = 500  # events of one answer at most
Body = dict[str, Any]


def _number(request: AuthenticatedHttpRequest, name: str, default: int, most: int) -> int:
    value = request.GET.get(name, "")
    if not value:
        return default
    if not (value.isascii() and value.isdecimal()) or len(value) > 18:
        raise BadInput(f"{name!r} must be an integer.")
    return min(int(value), most)


def me(request: AuthenticatedHttpRequest) -> Answer:
    return {"user": request.user.get_username(), "superuser": request.user.is_superuser}


def project_list(request: AuthenticatedHttpRequest) -> Answer:
    return {"projects": [shape(row) for row in access.visible(Project, request.user)[:PAGE]]}


def make_project(request: AuthenticatedHttpRequest, body: Body) -> Answer:
    made = projects.create_project(text(body, "name", most=120), by=request.user)
    return JsonResponse(shape(made), status=201)


def project_detail(request: AuthenticatedHttpRequest, project: Project) -> Answer:
    plan, document = project.plans.first(), project.documents.first()
    return {
        **shape(project),
        "plan": plan.pk if plan else None,
        "document": document.pk if document else None,
        "runs": list(project.runs.order_by("-pk").values_list("pk", flat=True)[:20]),
    }


def upload(request: AuthenticatedHttpRequest, project: Project, body: Body) -> Answer:
    data = text(body, "text", most=5 * 1024 * 1024).encode("utf-8", "replace")
    name = text(body, "filename", most=200, default="api.md")
    relation = text(body, "relation", most=20, default="")
    if relation not in ("", documents.REPLACES, documents.ADDS):
        raise BadInput(f'\'relation\' is "{documents.REPLACES}" or "{documents.ADDS}".')
    made = documents.upload_document(project, data, name, by=request.user, relation=relation)
    document = documents.extract_written(made)
    return JsonResponse({"document": document.pk, "status": document.status}, status=201)


def make_plan(request: AuthenticatedHttpRequest, document: RequirementDocument, body: Body) -> Answer:
    return JsonResponse(shape(runs.start_planning(document, by=request.user)), status=201)


def detail(request: AuthenticatedHttpRequest, row: Plan | Task | Approval) -> Answer:
    return shape(row)


def build(request: AuthenticatedHttpRequest, plan: Plan, body: Body) -> Answer:
    return JsonResponse(shape(runs.start_build(plan, by=request.user)), status=201)


def run_list(request: AuthenticatedHttpRequest) -> Answer:
    return {"runs": [shape(row) for row in access.visible(Run, request.user).order_by("-pk")[:PAGE]]}


def run_detail(request: AuthenticatedHttpRequest, run: Run) -> Answer:
    return {
        **shape(run),
        "left_out": run.left_out,
        "totals": runs.totals(run),
        "tasks": [shape(row) for row in run.tasks.order_by("ordinal")],
    }


def run_events(request: AuthenticatedHttpRequest, run: Run) -> Answer:
    after = _number(request, "after", 0, 10**17)
    limit = max(1, _number(request, "limit", EVENTS, EVENTS))
    rows = list(Event.objects.filter(run=run, seq__gt=after).order_by("seq")[:limit])
    return {
        "run": run.pk,
        "after": after,
        "to": rows[-1].seq if rows else after,
        "last": run.last_seq,
        "events": [shape(row) for row in rows],
    }


def event_kinds(request: AuthenticatedHttpRequest) -> Answer:
    return {"kinds": schema()}


def control(request: AuthenticatedHttpRequest, run: Run, verb: str, body: Body) -> Answer:
    return shape(runs.CONTROLS[verb](run, by=request.user))


def say(request: AuthenticatedHttpRequest, run: Run, body: Body) -> Answer:
    return JsonResponse(shape(runs.say(run, by=request.user, text=text(body, "text", most=4_000))), status=201)


def retry(request: AuthenticatedHttpRequest, task: Task, body: Body) -> Answer:
    tasks.retry_task(task, by=request.user, note=text(body, "note", most=4_000, default=""))
    task.refresh_from_db()
    return shape(task)


def approval_list(request: AuthenticatedHttpRequest) -> Answer:
    return {"approvals": [shape(row) for row in approvals.pending_for(request.user)[:PAGE]]}


def decide(request: AuthenticatedHttpRequest, approval: Approval, body: Body) -> Answer:
    """Answer an approval; `subject` must match, since it may have changed after the program read it."""
    answer = text(body, "answer", most=10)
    if answer not in ("yes", "no"):
        raise BadInput('\'answer\' is "yes" or "no".')
    if text(body, "subject", most=200) != approval.subject:
        raise BadInput("'subject' is not the subject of this approval; read it again.")
    if approvals.verb_of(approval) == "gate.override":
        raise NotAllowed("The second person of an override must be a human: decide it in the dashboard.")
    reason = text(body, "reason", most=4_000, default="")
    return shape(approvals.decide(approval, by=request.user, yes=answer == "yes", reason=reason))
