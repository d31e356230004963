"""The document beside what was read from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from dashboard import access
from dashboard.forms import DocumentForm, RequirementForm
from dashboard.pages import show
from dashboard.refusals import refusals
from dashboard.requests import AuthenticatedHttpRequest
from dashboard.text import plain
from projects.errors import BadInput
from projects.models import Requirement, RequirementDocument
from projects.services.planning import documents
from projects.services.work import runs

PAGE_LINES = 2_000
PAGE_CARDS = 400


@dataclass
class SourceLine:
    """A line of the document, the requirements read from it, and whether nothing was."""

    number: int
    text: str
    keys: list[str] = field(default_factory=list)
    starts: list[str] = field(default_factory=list)
    unmapped: bool = False


def _lines(document: RequirementDocument, found: list[Requirement], first: int) -> tuple[list[SourceLine], int]:
    """One page of source lines with their marks, and the number of all lines."""
    texts = document.text.split("\n")
    lines = {
        number: SourceLine(number, plain(text, 2_000))
        for number, text in enumerate(texts[first - 1 : first - 1 + PAGE_LINES], first)
    }
    for requirement in found:
        if requirement.line_start:
            for number in range(requirement.line_start, min(requirement.line_end, requirement.line_start + 500) + 1):
                if number in lines:
                    lines[number].keys.append(requirement.key)
            if requirement.line_start in lines:
                lines[requirement.line_start].starts.append(requirement.key)
    for part in document.unmapped:
        span = part.get("lines") or [0, 0]
        for number in range(span[0], min(span[-1], span[0] + 500) + 1):
            if number in lines:
                lines[number].unmapped = True
    return list(lines.values()), len(texts)


@require_GET
def review(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """The newest version (or ?v=) of a project's document, and the requirements in it."""
    project = get_object_or_404(access.projects(request.user), pk=pk)
    version = request.GET.get("v", "")
    versions = project.documents.all()
    newest = versions.first()
    document: RequirementDocument | None
    if version:
        if not version.isdecimal() or len(version) > 9:
            raise Http404("No such version.")
        document = get_object_or_404(versions, version=int(version))
    else:
        document = newest
    context: dict[str, Any] = {"project": project, "document": document, "upload_form": DocumentForm()}
    if document is not None:
        wanted = request.GET.get("from", "1")
        first = max(1, int(wanted)) if wanted.isdecimal() and len(wanted) < 9 else 1
        found = list(document.requirements.all())
        lines, count = _lines(document, found, first)
        shown = found if count <= PAGE_LINES else [r for r in found if not r.line_start or r.line_start >= first]
        context |= {
            "versions": versions.values_list("version", flat=True),
            "lines": lines,
            "line_count": count,
            "first_line": first,
            "next_line": first + PAGE_LINES if first + PAGE_LINES <= count else None,
            "cards": shown[:PAGE_CARDS],
            "more_cards": max(0, len(shown) - PAGE_CARDS),
            "found": found,
            "coverage": documents.coverage(document),
            "left_over": documents.left_over(document),
            "kinds": Requirement.Kind.choices,
            "counts": {
                status: sum(r.status == status for r in found) for status in ("proposed", "accepted", "rejected")
            },
            "is_newest": document == newest,
            "add_form": RequirementForm(auto_id="add_%s"),
            "planned": document.plans.exists(),
            "planning": project.runs.filter(document=document, kind="plan").order_by("-pk").first(),
        }
    return show(request, "pages/requirements.html", context)


def _back(requirement: Requirement) -> str:
    document = requirement.document
    where = reverse("requirements", args=[document.project_id])
    return f"{where}?v={document.version}#R-{requirement.pk}"


@require_http_methods(["GET", "POST"])
@refusals
def edit(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """Change one requirement's words, or accept or reject it."""
    requirement = get_object_or_404(access.requirements(request.user), pk=pk)
    word = request.POST.get("status", "")
    if request.method == "POST" and word:
        if word not in Requirement.Status.values:
            raise BadInput("A requirement is proposed, accepted or rejected.")
        documents.set_requirement(requirement, by=request.user, status=word)
        return redirect(_back(requirement))
    start = {
        "text": requirement.text,
        "kind": requirement.kind,
        "acceptance": "\n".join(str(item) for item in requirement.acceptance),
    }
    form = RequirementForm(request.POST or None, initial=start)
    if request.method == "POST" and form.is_valid():
        documents.set_requirement(requirement, by=request.user, **form.cleaned_data)
        messages.success(request, f"{requirement.key} is being read again.")
        return redirect(_back(requirement))
    context = {"requirement": requirement, "project": requirement.document.project, "form": form}
    context["back"] = _back(requirement)
    return show(request, "pages/requirement_edit.html", context, status=422 if form.errors else 200)


@require_POST
@refusals
def add(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """A requirement the document does not say."""
    document = get_object_or_404(access.documents(request.user), pk=pk)
    form = RequirementForm(request.POST)
    if not form.is_valid():
        raise BadInput("A requirement needs a text and a kind.")
    requirement = documents.add_requirement(document, by=request.user, **form.cleaned_data)
    return redirect(_back(requirement))


@require_POST
@refusals
def confirm(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """The architect's word that this is what must be built."""
    document = get_object_or_404(access.documents(request.user), pk=pk)
    documents.confirm_requirements(document, by=request.user)
    messages.success(request, "Requirements confirmed. Next: a plan.")
    return redirect("requirements", document.project_id)


@require_POST
@refusals
def plan(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """Start the planner on a document, and go and watch it."""
    document = get_object_or_404(access.documents(request.user), pk=pk)
    run = runs.start_planning(document, by=request.user)
    return redirect("run", run.pk)
