"""What programs may ask for: each address one small function around the services that the pages use."""

from __future__ import annotations

from typing import Any

from django.http import JsonResponse
from django.shortcuts import get_object_or_404

from dashboard import access
from dashboard.api import shapes
from dashboard.api.authentication import Answer, endpoint, may, only, text
from dashboard.requests import AuthenticatedHttpRequest
from projects.errors import BadInput
from projects.models import Approval, Event
from projects.services.audit.vocabulary import schema
from projects.services.planning import documents, projects, reading
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


def _me(request: AuthenticatedHttpRequest) -> Answer:
    user: Any = request.user
    return {"user": user.get_username(), "superuser": user.is_superuser}


def _projects(request: AuthenticatedHttpRequest) -> Answer:
    return {"projects": [shapes.project(row) for row in access.projects(request.user)[:PAGE]]}


def _make_project(request: AuthenticatedHttpRequest, body: Body) -> Answer:
    only(body, "name")
    made = projects.create_project(text(body, "name", most=120), by=request.user)
    return JsonResponse(shapes.project(made), status=201)


def _project(request: AuthenticatedHttpRequest, pk: int) -> Answer:
    project = get_object_or_404(access.projects(request.user), pk=pk)
    plan, document = project.plans.first(), project.documents.first()
    return {
        **shapes.project(project),
        "plan": plan.pk if plan else None,
        "document": document.pk if document else None,
        "runs": list(project.runs.order_by("-pk").values_list("pk", flat=True)[:20]),
    }


def _upload(request: AuthenticatedHttpRequest, pk: int, body: Body) -> Answer:
    project = get_object_or_404(access.projects(request.user), pk=pk)
    only(body, "filename", "text")
    data = text(body, "text", most=5 * 1024 * 1024).encode("utf-8", "replace")
    name = text(body, "filename", most=200, default="api.md")
    document = reading.extract_written(documents.upload_document(project, data, name, by=request.user))
    return JsonResponse({"document": document.pk, "status": document.status}, status=201)


def _make_plan(request: AuthenticatedHttpRequest, pk: int, body: Body) -> Answer:
    document = get_object_or_404(access.documents(request.user), pk=pk)
    only(body)
    return JsonResponse(shapes.run(runs.start_planning(document, by=request.user)), status=201)


def _plan(request: AuthenticatedHttpRequest, pk: int) -> Answer:
    return shapes.plan(get_object_or_404(access.plans(request.user), pk=pk))


def _build(request: AuthenticatedHttpRequest, pk: int, body: Body) -> Answer:
    plan = get_object_or_404(access.plans(request.user), pk=pk)
    only(body)
    return JsonResponse(shapes.run(runs.start_build(plan, by=request.user)), status=201)


def _runs(request: AuthenticatedHttpRequest) -> Answer:
    return {"runs": [shapes.run(row) for row in access.runs(request.user).order_by("-pk")[:PAGE]]}


def _run(request: AuthenticatedHttpRequest, pk: int) -> Answer:
    run = get_object_or_404(access.runs(request.user), pk=pk)
    return {
        **shapes.run(run),
        "totals": runs.totals(run),
        "tasks": [shapes.task(row) for row in run.tasks.order_by("ordinal")],
    }


def _events(request: AuthenticatedHttpRequest, pk: int) -> Answer:
    run = get_object_or_404(access.runs(request.user), pk=pk)
    after = _number(request, "after", 0, 10**17)
    limit = max(1, _number(request, "limit", EVENTS, EVENTS))
    rows = list(Event.objects.filter(run=run, seq__gt=after).order_by("seq")[:limit])
    return {
        "run": run.pk,
        "after": after,
        "to": rows[-1].seq if rows else after,
        "last": run.last_seq,
        "events": [shapes.event(row) for row in rows],
    }


def _kinds(request: AuthenticatedHttpRequest) -> Answer:
    return {"kinds": schema()}


def _control(request: AuthenticatedHttpRequest, pk: int, verb: str, body: Body) -> Answer:
    run = get_object_or_404(access.runs(request.user), pk=pk)
    only(body)
    act = {"pause": runs.pause_run, "resume": runs.resume_run, "stop": runs.cancel_run}[verb]
    return shapes.run(act(run, by=request.user))


def _say(request: AuthenticatedHttpRequest, pk: int, body: Body) -> Answer:
    run = get_object_or_404(access.runs(request.user), pk=pk)
    only(body, "text")
    return JsonResponse(shapes.event(runs.say(run, by=request.user, text=text(body, "text", most=4_000))), status=201)


def _task(request: AuthenticatedHttpRequest, pk: int) -> Answer:
    return shapes.task(get_object_or_404(access.tasks(request.user), pk=pk))


def _retry(request: AuthenticatedHttpRequest, pk: int, body: Body) -> Answer:
    task = get_object_or_404(access.tasks(request.user), pk=pk)
    only(body, "note")
    tasks.retry_task(task, by=request.user, note=text(body, "note", most=4_000, default=""))
    task.refresh_from_db()
    return shapes.task(task)


def _approvals(request: AuthenticatedHttpRequest) -> Answer:
    return {"approvals": [shapes.approval(row) for row in approvals.pending_for(request.user)[:PAGE]]}


def _approval(request: AuthenticatedHttpRequest, pk: int) -> Answer:
    return shapes.approval(get_object_or_404(access.approvals(request.user), pk=pk))


def _decide(request: AuthenticatedHttpRequest, pk: int, body: Body) -> Answer:
    """A yes names what it is a yes to: what is asked may have changed since the program looked."""
    approval: Approval = get_object_or_404(access.approvals(request.user), pk=pk)
    only(body, "answer", "reason", "subject")
    answer = text(body, "answer", most=10)
    if answer not in ("yes", "no"):
        raise BadInput('\'answer\' is "yes" or "no".')
    if text(body, "subject", most=200) != approval.subject:
        raise BadInput("'subject' is not the subject of this approval; read it again.")
    words = "The second person of an override must be a human: decide it in the dashboard."
    may(request, approvals.verb_of(approval) != "gate.override", words)
    reason = text(body, "reason", most=4_000, default="")
    return shapes.approval(approvals.decide(approval, by=request.user, yes=answer == "yes", reason=reason))


me = endpoint(GET=("read", _me))
project_list = endpoint(GET=("read", _projects), POST=("write", _make_project))
project_detail = endpoint(GET=("read", _project))
project_documents = endpoint(POST=("write", _upload))
document_plan = endpoint(POST=("run", _make_plan))
plan_detail = endpoint(GET=("read", _plan))
plan_build = endpoint(POST=("run", _build))
run_list = endpoint(GET=("read", _runs))
run_detail = endpoint(GET=("read", _run))
run_events = endpoint(GET=("read", _events))
event_kinds = endpoint(GET=("read", _kinds))
run_control = endpoint(POST=("run", _control))
run_say = endpoint(POST=("run", _say))
task_detail = endpoint(GET=("read", _task))
task_retry = endpoint(POST=("run", _retry))
approval_list = endpoint(GET=("read", _approvals))
approval_detail = endpoint(GET=("read", _approval), POST=("approve", _decide))
