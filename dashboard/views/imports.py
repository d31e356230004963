"""Bringing code in, and how its tests stand."""

from __future__ import annotations

import shlex
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect

from dashboard.forms.projects import BaselineForm, ImportForm
from dashboard.http.pages import page, show
from dashboard.http.refusals import status_of
from dashboard.http.requests import AuthenticatedHttpRequest
from projects.engine import baseline as baselines
from projects.errors import ProjectsError
from projects.models import Approval, Project
from projects.models.baseline import Baseline
from projects.services.repositories import importing

PAGE_SECONDS = 60.0  # a fetch that takes longer belongs on the command line


@page("GET POST")
def new(request: AuthenticatedHttpRequest) -> HttpResponse:
    """Make a project of an archive, a git address or a folder; its tests are then run by a worker."""
    sent = request.method == "POST"
    form = ImportForm(request.POST, request.FILES) if sent else ImportForm()
    status = 422 if sent else 200
    if form.is_valid():
        try:
            made = importing.import_project(
                _source(form.cleaned_data),
                by=request.user,
                seconds=PAGE_SECONDS,
                **{name: form.cleaned_data[name] for name in ("name", "branch", "subfolder")},
            )
            baselines.request_measure(made.project, by=request.user)
        except ProjectsError as refusal:
            form.add_error(None, str(refusal))
            status = status_of(refusal)
        else:
            for words in (f"{made.project.name} was imported.", *made.notes):
                messages.success(request, words)
            return redirect("baseline", made.project.pk)
    return show(request, "pages/project_import.html", {"form": form, "roots": settings.IMPORT_ROOTS}, status=status)


def _source(given: dict[str, Any]) -> importing.CodeSource:
    if given["archive"]:
        return importing.CodeSource(archive=given["archive"].file, archive_name=given["archive"].name[:200])
    return (
        importing.folder_on_page(given["folder"]) if given["folder"] else importing.CodeSource(address=given["address"])
    )


@page("GET POST", Project)
def baseline(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """What was found of a project's code and tests; POST has them measured again, as the form says if it is sent."""
    form = BaselineForm(request.POST if "edit" in request.POST else None)
    if request.method == "POST" and (not form.is_bound or form.is_valid()):
        edits = {name: value for name, value in form.cleaned_data.items() if value} if form.is_bound else None
        baselines.request_measure(project, by=request.user, edits=edits)
        messages.success(request, "The tests are run again.")
        return redirect("baseline", project.pk)
    row = project.baselines.first()
    if row is not None and not form.is_bound:
        edited = row.setup.get("edited", {})
        first = {
            "arguments": shlex.join(edited.get("arguments", [])),
            "python_path": ", ".join(edited.get("python_path", [])),
            "services": [service["kind"] for service in edited.get("services", [])],
        }
        form = BaselineForm(initial={**edited, **first})
    asks = project.approvals.filter(status=Approval.Status.PENDING, run=None)
    asks = asks.filter(kind__in=(Approval.Kind.PACKAGE, Approval.Kind.SETTINGS))
    context = {
        "baseline": row,
        "form": form,
        "asks": asks,
        "works": row is not None and row.status == Baseline.Status.MEASURING and not asks,
        "unusable": row is not None and (row.status == Baseline.Status.UNUSABLE or bool(asks)),
    }
    status = 422 if form.is_bound else 200
    return show(request, "pages/baseline.html", context, part="baseline", status=status)


@page("POST", Project)
def accept(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """Go on although its tests cannot be run."""
    baselines.accept_without_tests(project, by=request.user)
    messages.success(request, "Accepted. What is built is tested by its own tests alone.")
    return redirect("baseline", project.pk)
