"""The projects, a new one, and one project's page."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import get_user_model
from django.db.models import Count, OuterRef, Prefetch, Q, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from dashboard import access
from dashboard.forms import DocumentForm, MemberForm, ProjectForm
from dashboard.pages import show
from dashboard.refusals import refusals, status_of
from dashboard.views.system import setup_facts
from projects.errors import BadInput, ProjectsError
from projects.models import Approval, Run
from projects.models.project import Autonomy, Role
from projects.services import demo, documents, health, projects, reading, rights, runs


def _phase(project) -> str:  # type: ignore[no-untyped-def]
    """Which column a project stands in: needs you, working or done."""
    if project.asks:
        return "needs"
    run = project.newest[0] if project.newest else None
    if run is None:
        return "needs"
    if run.status in ("needs_you", "paused", "failed"):
        return "needs"
    return "done" if run.status in Run.OVER else "working"


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """All projects in three columns; on a fresh server, the two ways to begin."""
    newest = Run.objects.filter(project=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    found = list(
        access.projects(request.user)
        .annotate(
            asks=Count("approvals", filter=Q(approvals__status=Approval.Status.PENDING), distinct=True),
            newest_run=Subquery(newest),
        )
        .prefetch_related(Prefetch("runs", Run.objects.none(), to_attr="newest"))[:200]
    )
    by_pk = {
        run.pk: run
        for run in Run.objects.filter(pk__in=[p.newest_run for p in found if p.newest_run]).annotate(
            done=Count("tasks", filter=Q(tasks__status="merged")), all=Count("tasks")
        )
    }
    for project in found:
        project.newest = [by_pk[project.newest_run]] if project.newest_run in by_pk else []
        project.phase = _phase(project)
    if not found and not request.htmx:  # type: ignore[attr-defined]
        return show(
            request,
            "pages/first_run.html",
            {"checks": health.run_checks(), "demo": demo.is_offered(), "title": "Welcome", **setup_facts()},
        )
    columns = [
        ("needs", "Needs you", [p for p in found if p.phase == "needs"]),
        ("working", "Working", [p for p in found if p.phase == "working"]),
        ("done", "Done", [p for p in found if p.phase == "done"]),
    ]
    return show(request, "pages/projects.html", {"columns": columns, "count": len(found)}, part="board")


@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """Name a project and give it its first document."""
    form = ProjectForm(request.POST or None, request.FILES or None)
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            data, filename = form.document()
            try:
                # Read before anything is made, so that a refused document leaves no empty project behind.
                reading.preview(data, filename)
                project = projects.create_project(
                    form.cleaned_data["name"],
                    by=request.user,
                    autonomy=form.cleaned_data["autonomy"],
                    limits={"max_retries": form.cleaned_data["max_retries"]},
                )
                reading.extract_written(documents.upload_document(project, data, filename, by=request.user))
            except ProjectsError as refusal:
                form.add_error(None, str(refusal))
                status = status_of(refusal)
            else:
                messages.success(request, f"{project.name} is here. Check what was read from {filename}.")
                return redirect("requirements", project.pk)
    return show(request, "pages/project_new.html", {"form": form}, status=status)


@require_POST
def preview(request: HttpRequest) -> HttpResponse:
    """What would be read from a document, before anything is stored."""
    form = DocumentForm(request.POST, request.FILES)
    context: dict = {"problems": [], "found": None}
    if form.is_valid():
        try:
            context["found"] = reading.preview(*form.document())
        except ProjectsError as refusal:
            context["problems"] = [str(refusal)]
    else:
        context["problems"] = [str(problem) for problem in form.non_field_errors()]
    return show(request, "pages/preview.html", context, part="preview", status=422 if context["problems"] else 200)


@require_GET
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    """One project: what it needs next, its documents, plans, runs and people."""
    project = get_object_or_404(access.projects(request.user), pk=pk)
    document, plan = project.documents.first(), project.plans.first()
    latest = list(project.runs.select_related("plan").order_by("-pk")[:10])
    planning = next((run for run in latest if run.kind == Run.Kind.PLAN and run.status not in Run.OVER), None)
    context = {
        "project": project,
        "document": document,
        "documents": project.documents.all()[:10],
        "plan": plan,
        "plans": project.plans.all()[:10],
        "runs": latest,
        "members": project.memberships.select_related("user").order_by("user__username", "role"),
        "member_form": MemberForm(),
        "autonomies": Autonomy.choices,
        "sandboxes": projects.SANDBOXES,
        "asks": project.approvals.filter(status=Approval.Status.PENDING),
        "totals": runs.totals(latest[0]) if latest else None,
        "planning": planning,
        "next": _next_step(document, plan, latest, planning),
    }
    return show(request, "pages/project.html", context)


def _next_step(document, plan, latest, planning) -> str:  # type: ignore[no-untyped-def]
    """The one thing that brings the project on."""
    if document is None:
        return "upload"
    if document.status != "confirmed":
        return "requirements"
    if plan is None or plan.document_id != document.pk:
        return "planning" if planning else "make_plan"
    if plan.status in ("proposed", "invalid", "rejected"):
        return "plan"
    if plan.status == "approved" and not any(run.plan_id == plan.pk and run.kind == "build" for run in latest):
        return "build"
    return "run"


@require_POST
@refusals
def settings(request: HttpRequest, pk: int) -> HttpResponse:
    """Change a project's autonomy, retries, sandbox and house rules."""
    project = get_object_or_404(access.projects(request.user), pk=pk)
    retries = request.POST.get("max_retries", "")
    if not retries.isdecimal() or int(retries) > 20:
        raise BadInput(f"Repairs per task is {retries[:20]!r}; give a whole number from 0 to 20.")
    projects.update_settings(
        project,
        by=request.user,
        autonomy=request.POST.get("autonomy", project.autonomy),
        sandbox_backend=request.POST.get("sandbox_backend", project.sandbox_backend),
        house_rules=request.POST.get("house_rules", project.house_rules)[:20_000],
        limits={**project.limits, "max_retries": int(retries)},
    )
    messages.success(request, "Settings kept. Running tasks go on under the limits they began with.")
    return redirect("project", pk)


@require_POST
@refusals
def add_member(request: HttpRequest, pk: int) -> HttpResponse:
    """Give somebody a role."""
    project = get_object_or_404(access.projects(request.user), pk=pk)
    rights.require(request.user, project, "member.edit")
    form = MemberForm(request.POST)
    if not form.is_valid():
        raise BadInput("Give a username and one of the roles.")
    user = get_user_model().objects.filter(username=form.cleaned_data["username"], is_active=True).first()
    if user is None:
        raise BadInput(f"There is no user {form.cleaned_data['username']!r}. An administrator makes users in /admin/.")
    projects.add_member(project, user, form.cleaned_data["role"], by=request.user)
    messages.success(request, f"{user.username} is now {form.cleaned_data['role']}.")
    return redirect("project", pk)


@require_POST
@refusals
def remove_member(request: HttpRequest, pk: int) -> HttpResponse:
    """Take a role from somebody; their open pages of the project close at once."""
    project = get_object_or_404(access.projects(request.user), pk=pk)
    rights.require(request.user, project, "member.edit")
    person, role, row = request.POST.get("user", ""), request.POST.get("role", ""), None
    if person.isascii() and person.isdecimal() and len(person) < 19 and role in Role.values:
        row = project.memberships.select_related("user").filter(user=person, role=role).first()
    if row is None:
        raise BadInput("Nobody in this project has that role.")
    projects.remove_member(project, row.user, row.role, by=request.user)
    messages.success(request, f"{row.user.username} is no longer {row.role}.")
    return redirect("project", pk) if access.projects(request.user).filter(pk=pk).exists() else redirect("projects")


@require_POST
@refusals
def upload(request: HttpRequest, pk: int) -> HttpResponse:
    """A new version of the document."""
    project = get_object_or_404(access.projects(request.user), pk=pk)
    form = DocumentForm(request.POST, request.FILES)
    if not form.is_valid():
        raise BadInput(" ".join(str(problem) for problem in form.non_field_errors()) or "The form could not be read.")
    data, filename = form.document()
    reading.extract_written(documents.upload_document(project, data, filename, by=request.user))
    return redirect("requirements", pk)
