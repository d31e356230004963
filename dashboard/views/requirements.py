"""The document with what was read from it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from dashboard.forms.projects import NextDocumentForm, RequirementForm
from dashboard.http.pages import page, show, version_of
from dashboard.http.requests import AuthenticatedHttpRequest, number
from dashboard.http.streaming import as_file
from dashboard.presenters.places import PAGE_LINES
from dashboard.text.safe import plain
from projects.errors import BadInput
from projects.models import Project, Requirement, RequirementDocument
from projects.services.planning import documents, reading, runs, suggestions
from projects.services.planning.progress import differences
from projects.services.planning.withdrawing import why_it_stays, withdraw_document
from projects.values.wording import counted

PAGE_CARDS = 400


@dataclass
class SourceLine:
    """A line of the document, the requirements read from it, and whether nothing was."""

    number: int
    text: str
    keys: list[str] = field(default_factory=list)
    starts: list[str] = field(default_factory=list)
    unmapped: bool = False
    page: int = 0  # the one that begins here
    traced: int | None = None  # the requirement whose row of the matrix it leads to


def _lines(document: RequirementDocument, found: list[Requirement], first: int) -> tuple[list[SourceLine], int]:
    """One page of source lines with their marks, and the number of all lines."""
    texts = document.text.split("\n")
    lines = {
        number: SourceLine(number, plain(text, 2_000))
        for number, text in enumerate(texts[first - 1 : first - 1 + PAGE_LINES], first)
    }
    for page_number, start in enumerate(document.pages, 1):
        if start in lines:
            lines[start].page = page_number
    for requirement in found:
        if requirement.line_start:
            for number in range(requirement.line_start, min(requirement.line_end, requirement.line_start + 500) + 1):
                if number in lines:
                    lines[number].keys.append(requirement.key)
                    lines[number].traced = lines[number].traced or requirement.pk
            if requirement.line_start in lines:
                lines[requirement.line_start].starts.append(requirement.key)
    for part in document.unmapped:
        span = part.get("lines") or [0, 0]
        for number in range(span[0], min(span[-1], span[0] + 500) + 1):
            if number in lines:
                lines[number].unmapped = True
    return list(lines.values()), len(texts)


@page("GET", Project)
def review(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """The newest version (or ?v=) of a project's document, and the requirements in it."""
    versions = project.documents.all()
    document = version_of(request, versions)
    context: dict[str, Any] = {"document": document, "upload_form": NextDocumentForm(auto_id="upload_%s")}
    if document is not None:
        first = max(1, number(request.GET, "from", digits=8) or 1)
        found = list(document.requirements.all())
        lines, count = _lines(document, found, first)
        newest = next((one for one in versions if document in one.replaced()), document)
        in_force = versions.filter(replaced_by=None)
        changed = {(one.after or one.before): one for one in differences(document) if one.change != "same"}
        read = suggestions.read_by_model(document).count()
        shown = found if count <= PAGE_LINES else [r for r in found if not r.line_start or r.line_start >= first]
        context |= {
            "versions": versions.values_list("version", flat=True),
            "lines": lines,
            "line_count": count,
            "first_line": first,
            "next_line": first + PAGE_LINES if first + PAGE_LINES <= count else None,
            "cards": [(one, changed.get(one)) for one in shown[:PAGE_CARDS]],
            "more_cards": max(0, len(shown) - PAGE_CARDS),
            "found": found,
            "coverage": documents.coverage(document),
            "read_by_model": f"Accept {read} that the model reads" if read else "",
            "left_over": documents.left_over(document),
            "hints": documents.hints(document),
            "kinds": Requirement.Kind.choices,
            "counts": Counter(row.status for row in found),
            "newest": newest,
            "is_newest": document == newest,
            "in_force": in_force if len(in_force) > 1 else (),
            "removed": [one.before for one in changed.values() if one.change == "removed"],
            "changes": Counter(one.change for one in changed.values()),
            "add_form": RequirementForm(auto_id="add_%s"),
            "planned": document.plans.exists(),
            "may_go": not why_it_stays(document),
            "planning": project.runs.filter(document=document, kind="plan").order_by("-pk").first(),
        }
    return show(request, "pages/requirements.html", context)


def _back(requirement: Requirement) -> str:
    document = requirement.document
    where = reverse("requirements", args=[document.project_id])
    return f"{where}?v={document.version}#R-{requirement.pk}"


@page("GET POST", Requirement)
def edit(request: AuthenticatedHttpRequest, requirement: Requirement) -> HttpResponse:
    """Change one requirement's words, or accept or reject it."""
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
    context = {"form": form, "back": _back(requirement)}
    return show(request, "pages/requirement_edit.html", context, status=422 if form.errors else 200)


@page("POST", RequirementDocument)
def add(request: AuthenticatedHttpRequest, document: RequirementDocument) -> HttpResponse:
    """Add a requirement that is not in the document."""
    form = RequirementForm(request.POST)
    if not form.is_valid():
        raise BadInput("A requirement needs a text and a kind.")
    requirement = documents.add_requirement(document, by=request.user, **form.cleaned_data)
    return redirect(_back(requirement))


@page("GET", RequirementDocument)
def original(request: AuthenticatedHttpRequest, document: RequirementDocument) -> HttpResponse:
    """The file as it was given; a browser never shows it as a page of this site."""
    name, data = reading.file_of(document)
    return HttpResponse(data, content_type="application/octet-stream", headers=as_file(name))


@page("POST", RequirementDocument)
def confirm(request: AuthenticatedHttpRequest, document: RequirementDocument) -> HttpResponse:
    """Confirm that this is what must be built."""
    documents.confirm_requirements(document, by=request.user)
    messages.success(request, "Requirements confirmed. Next: a plan.")
    return redirect("requirements", document.project_id)


@page("POST", RequirementDocument)
def withdraw(request: AuthenticatedHttpRequest, document: RequirementDocument) -> HttpResponse:
    """Take back a document that was uploaded by mistake."""
    withdraw_document(document, by=request.user)
    messages.success(request, f"{document} is withdrawn.")
    return redirect("requirements", document.project_id)


@page("POST", RequirementDocument)
def accept_read(request: AuthenticatedHttpRequest, document: RequirementDocument) -> HttpResponse:
    """Accept all that the model reads as asked for."""
    count = suggestions.accept_read(document, by=request.user)
    messages.success(request, f"{counted(count, 'suggestion')} accepted.")
    return redirect("requirements", document.project_id)


@page("POST", RequirementDocument)
def plan(request: AuthenticatedHttpRequest, document: RequirementDocument) -> HttpResponse:
    """Start the planner on a document, and show the run."""
    run = runs.start_planning(document, by=request.user)
    return redirect("run", run.pk)
