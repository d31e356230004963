"""The projects, a new one, and one project's page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.contrib.auth import get_user_model
from django.db.models import F
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone

from dashboard.access import visibility
from dashboard.forms.projects import DocumentForm, MemberForm, NextDocumentForm, ProjectForm, SettingsForm
from dashboard.http.pages import page, show
from dashboard.http.refusals import status_of
from dashboard.http.requests import AuthenticatedHttpRequest, number
from dashboard.presenters.home import home_of
from dashboard.views.code import ways_out
from dashboard.views.system import setup_facts
from projects.errors import BadInput, ProjectsError
from projects.models import Approval, Plan, Project, RequirementDocument, Run
from projects.models.project import Role
from projects.services.accounts import rights
from projects.services.forges import links, tickets
from projects.services.installation import health
from projects.services.planning import deleting, documents, projects, runs
from projects.services.repositories.recipes import recipe_named, started_project
from projects.services.work import demo


@page("GET")
def home(request: AuthenticatedHttpRequest) -> HttpResponse:
    """What needs the person, the week, the projects; on a fresh server, the two ways to begin."""
    if not request.htmx and not visibility.visible(Project, request.user).exists():
        context = {"checks": health.run_checks(), "demo": demo.is_offered(), "title": "Welcome", **setup_facts()}
        return show(request, "pages/first_run.html", context)
    return show(request, "pages/projects.html", home_of(request.user, timezone.now()), part="home")


@page("GET POST")
def new(request: AuthenticatedHttpRequest) -> HttpResponse:
    """Create a project with its first document."""
    form = ProjectForm(request.POST or None, request.FILES or None)
    status = 422 if request.method == "POST" else 200
    if form.is_valid():
        try:
            # Read before anything is made, so that a refused document leaves no empty project behind.
            found = tickets.read_given(form.document(), by=request.user)
            chosen = form.cleaned_data["recipe"]
            with started_project(
                form.cleaned_data["name"],
                by=request.user,
                recipe=recipe_named(chosen) if chosen else None,
                autonomy=form.cleaned_data["autonomy"],
                limits={"max_retries": form.cleaned_data["max_retries"]},
            ) as project:
                stored = documents.store_document(project, found.document, found.place, by=request.user)
                documents.extract_written(stored)
        except ProjectsError as refusal:
            form.add_error(None, str(refusal))
            status = status_of(refusal)
        else:
            messages.success(request, f"{project.name} was created. Check what was read from {stored.filename}.")
            return redirect("requirements", project.pk)
    return show(request, "pages/project_new.html", {"form": form}, status=status)


@page("POST")
def preview(request: AuthenticatedHttpRequest) -> HttpResponse:
    """What would be read from a document, before anything is stored."""
    form = DocumentForm(request.POST, request.FILES)
    context: dict[str, Any] = {"problems": [], "found": None}
    if form.is_valid():
        try:
            context["found"] = documents.preview(tickets.read_given(form.document(), by=request.user).document)
        except ProjectsError as refusal:
            context["problems"] = [str(refusal)]
    else:
        context["problems"] = [str(problem) for problem in form.non_field_errors()]
    return show(request, "pages/preview.html", context, part="preview", status=422 if context["problems"] else 200)


@page("GET", Project)
def detail(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """One project: what it needs next, its documents, plans, runs and people."""
    document, plan = project.documents.first(), project.plans.first()
    latest = list(project.runs.select_related("plan").annotate(title=F("chat__title")).order_by("-pk")[:10])
    work = [run for run in latest if run.kind != Run.Kind.CHAT]
    planning = next((run for run in latest if run.kind == Run.Kind.PLAN and run.status not in Run.OVER), None)
    context = {
        "baseline": project.baselines.first(),
        "document": document,
        "documents": project.documents.all()[:10],
        "plan": plan,
        "plans": project.plans.all()[:10],
        "runs": latest,
        "members": project.memberships.select_related("user").order_by("user__username", "role"),
        "member_form": MemberForm(),
        "settings_form": SettingsForm(initial=_settings_of(project)),
        "forge": links.link_of(project),
        "asks": project.approvals.filter(status=Approval.Status.PENDING),
        "totals": runs.totals(work[0]) if work else None,
        "planning": planning,
        "next": _next_step(document, plan, latest, planning),
        **ways_out(request, project),
    }
    return show(request, "pages/project.html", context)


def _next_step(
    document: RequirementDocument | None, plan: Plan | None, latest: Sequence[Run], planning: Run | None
) -> str:
    """What the project needs next."""
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


def _settings_of(project: Project) -> dict[str, Any]:
    stored = {name: getattr(project, name) for name in SettingsForm.base_fields if name != "max_retries"}
    return {**stored, "max_retries": project.limits.get("max_retries")}


@page("POST", Project)
def settings(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """Change the settings that its page shows; what is not sent stays."""
    form = SettingsForm(_settings_of(project) | request.POST.dict())
    if not form.is_valid():
        raise BadInput(
            " ".join(f"{form[name].label}: {' '.join(map(str, wrong))}" for name, wrong in form.errors.items())
        )
    limits = {"max_retries": form.cleaned_data.pop("max_retries")}
    projects.update_settings(project, by=request.user, limits=limits, **form.cleaned_data)
    messages.success(request, "Settings saved. Running tasks keep the limits they started with.")
    return redirect("project", project.pk)


@page("POST", Project)
def forge(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """Link the project to its repository on a forge, or forget it."""
    if request.POST.get("unlink"):
        links.unlink_project(project, by=request.user)
        messages.success(request, f"{project.name} is linked to no forge any more.")
    else:
        link = links.link_project(project, by=request.user, address=request.POST.get("address", "")[:500])
        messages.success(request, f"{project.name} is linked to {link}.")
    return redirect("project", project.pk)


@page("POST", Project)
def archive(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """Set the project aside, or take it up again."""
    projects.set_archived(project, request.POST.get("archived") == "yes", by=request.user)
    messages.success(request, f"{project.name} is {'archived' if project.archived_at else 'in use again'}.")
    return redirect("project", project.pk)


@page("POST", Project)
def delete(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """Delete a project whose short name was typed."""
    deleting.delete_project(project, by=request.user, named=request.POST.get("named", "").strip())
    messages.success(request, f"{project.name} is deleted. The site's audit trail keeps that it was.")
    return redirect("projects")


@page("POST", Project)
def add_member(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """Give somebody a role."""
    rights.require(request.user, project, "member.edit")
    form = MemberForm(request.POST)
    if not form.is_valid():
        raise BadInput("Give a username and one of the roles.")
    user = get_user_model().objects.filter(username=form.cleaned_data["username"], is_active=True).first()
    if user is None:
        raise BadInput(
            f"There is no user {form.cleaned_data['username']!r}. An administrator creates users in /admin/."
        )
    projects.add_member(project, user, form.cleaned_data["role"], by=request.user)
    messages.success(request, f"{user.username} is now {form.cleaned_data['role']}.")
    return redirect("project", project.pk)


@page("POST", Project)
def remove_member(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """Take a role from somebody; their open pages of the project close at once."""
    rights.require(request.user, project, "member.edit")
    person, role = number(request.POST, "user"), request.POST.get("role", "")
    rows = project.memberships.select_related("user").filter(user=person, role=role)
    row = rows.first() if role in Role.values else None
    if row is None:
        raise BadInput("No one in this project has that role.")
    projects.remove_member(project, row.user, row.role, by=request.user)
    messages.success(request, f"{row.user.username} is no longer {row.role}.")
    stays = visibility.visible(Project, request.user).filter(pk=project.pk).exists()
    return redirect("project", project.pk) if stays else redirect("projects")


@page("POST", Project)
def upload(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """A further document, in the place of an earlier one or beside them."""
    form = NextDocumentForm(request.POST, request.FILES)
    if not form.is_valid():
        raise BadInput(" ".join(str(problem) for problem in form.non_field_errors()) or "The form could not be read.")
    relation = form.cleaned_data["relation"]
    found = tickets.read_given(form.document(), by=request.user, project=project)
    made = documents.store_document(project, found.document, found.place, by=request.user, relation=relation)
    documents.extract_written(made)
    return redirect("requirements", project.pk)
