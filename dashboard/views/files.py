"""The files of a project at a branch or commit: folders, and files with the origin of each line."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect

from dashboard.http.pages import page, show
from dashboard.http.requests import AuthenticatedHttpRequest
from dashboard.http.streaming import attachment
from dashboard.presenters import best
from dashboard.text import highlight
from dashboard.views.code import FORMS
from projects.models import Project
from projects.services.delivery import downloads, files
from projects.services.delivery.files import FileView, LineOrigin, Place


@page("GET", Project)
def index(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """The files of the base branch; a page that says so while there are none."""
    at = request.GET.get("at", "")[:200]
    if at or downloads.branches(project):
        return redirect("project-files", project.pk, at or project.base_branch)
    return show(request, "pages/files.html", {"none": True})


@page("GET", Project)
def browse(request: AuthenticatedHttpRequest, project: Project, where: str) -> HttpResponse:
    """A folder or a file."""
    found = files.place(project, where)
    view = files.look(found)
    context: dict[str, Any] = {
        "place": found,
        "crumbs": _crumbs(found),
        "branches": list(downloads.branches(project)),
        "forms": FORMS,
        "at": found.at,
    }
    if isinstance(view, FileView):
        name = found.path.rpartition("/")[2]
        rows = _rows(highlight.lines(name, view.text), view.origins) if view.text is not None else []
        context |= {"file": view, "name": name, "rows": rows, "where": where.strip("/")}
    else:
        named = ((name, entry, _target(found, name)) for name, entry in view.entries.items())
        context |= {"folder": view, "rows": list(named)}
    return show(request, "pages/files.html", context)


@page("GET", Project)
def raw(request: AuthenticatedHttpRequest, project: Project, where: str) -> HttpResponseBase:
    """One file as it is, as a download."""
    file = files.raw(files.place(project, where))
    return attachment(downloads.Download(best.safe_name(file.name), file.type, file.pieces))


def _target(place: Place, name: str) -> str:
    """The address part of something in a folder; "" for a name that no address can have."""
    try:
        name.encode()
    except UnicodeEncodeError:  # not UTF-8
        return ""
    return "" if "\n" in name else place.below(name)


def _crumbs(place: Place) -> list[tuple[str, str]]:
    """Each folder on the way and its address part."""
    parts = place.path.split("/") if place.path else []
    return [(name, "/".join([place.at, *parts[: number + 1]])) for number, name in enumerate(parts)]


def _rows(lines: list[Any], origins: Any) -> list[tuple[int, Any, LineOrigin | None]]:
    """Number, HTML and origin of each line; the origin at the first of several lines from the same commit alone."""
    rows = []
    before: LineOrigin | None = None
    for number, line in enumerate(lines, 1):
        origin = origins[number - 1] if number <= len(origins) else None
        rows.append((number, line, origin if origin is not before else None))
        before = origin
    return rows
