"""The palette: projects, runs, tasks, requirements and pages by a few letters of their name."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.urls import reverse

from dashboard.access import visibility
from dashboard.http.pages import page, show
from dashboard.http.requests import AuthenticatedHttpRequest, words
from dashboard.text.safe import one_line
from projects.models import Project, Requirement, Run, Task

EACH = 6  # hits of a kind: what is further down is found with one more letter
PAGES = (
    ("Projects", "projects", "home"),
    ("New project", "project-new", "upload requirements document PRD"),
    ("Import a repository", "project-import", "git archive folder"),
    ("Approvals", "approvals", "decisions inbox needs you"),
    ("Runs", "runs", "builds"),
    ("Reports", "reports", "cost features week measures"),
    ("Incidents", "incidents", "errors deployments operations"),
    ("Memory", "memory", "lessons"),
    ("Audit trail", "audit", "events chain export"),
    ("System", "system", "doctor checks model"),
    ("Account", "account", "password second factor tokens sign out"),
    ("Shortcuts", "keys", "keyboard"),
)
OF_PROJECT = (
    ("Requirements", "requirements"),
    ("Plan", "plan"),
    ("Backlog", "backlog"),
    ("Trace", "trace"),
    ("Files", "files"),
    ("Deployments", "deployments"),
    ("Ask", "project-ask"),
)


@dataclass(frozen=True)
class PaletteLine:
    """A line of the palette: its name, what it belongs to, and where it leads."""

    name: str
    about: str
    href: str


@page("GET")
def find(request: AuthenticatedHttpRequest) -> HttpResponse:
    """Everything that matches the letters of `q`, by kind; without any, the newest work and all pages."""
    q = words(request.GET, "q")
    kinds = [
        ("Projects", _projects(request, q)),
        ("Runs", _runs(request, q)),
        ("Tasks", _tasks(request, q) if q else []),
        ("Requirements", _requirements(request, q) if q else []),
        ("Pages", _pages(q)),
    ]
    context = {"q": q, "kinds": [(name, hits) for name, hits in kinds if hits]}
    return show(request, "pages/find.html", context, part="found")


def _each(q: str, *fields: str) -> Q:
    """Rows in which every word of `q` is in one of the fields."""
    wanted = Q()
    for word in q.split()[:8]:
        one = Q()
        for name in fields:
            one |= Q(**{f"{name}__icontains": word})
        wanted &= one
    return wanted


def _projects(request: AuthenticatedHttpRequest, q: str) -> list[PaletteLine]:
    """Projects by name. A word that names a page of a project ("plan todo") leads to that page."""
    found: list[PaletteLine] = []
    page_words = {label.lower(): (label, name) for label, name in OF_PROJECT}
    wanted = [page_words[word] for word in q.lower().split() if word in page_words]
    rest = " ".join(word for word in q.split() if word.lower() not in page_words)
    for project in visibility.visible(Project, request.user).filter(_each(rest, "name")).order_by("-pk")[:EACH]:
        name = one_line(project.name, 80)
        found += [PaletteLine(f"{label} of {name}", "", reverse(page, args=[project.pk])) for label, page in wanted]
        found.append(PaletteLine(name, "", reverse("project", args=[project.pk])))
    return found


def _runs(request: AuthenticatedHttpRequest, q: str) -> list[PaletteLine]:
    runs: QuerySet[Run] = visibility.visible(Run, request.user).order_by("-pk")
    number = next((word for word in q.split() if word.isdecimal() and len(word) < 10), "")
    text = " ".join(word for word in q.split() if word != number and word.lower() != "run")
    runs = runs.filter(_each(text, "project__name", "kind", "status"))
    if number:
        runs = runs.filter(pk=int(number))
    return [
        PaletteLine(
            f"Run {run.pk}",
            f"{run.get_kind_display().lower()}, {run.get_status_display().lower()}, {one_line(run.project.name, 60)}",
            reverse("run", args=[run.pk]),
        )
        for run in runs[:EACH]
    ]


def _tasks(request: AuthenticatedHttpRequest, q: str) -> list[PaletteLine]:
    tasks = visibility.visible(Task, request.user).filter(_each(q, "key", "title", "run__project__name"))
    return [
        PaletteLine(
            one_line(f"{task.key} {task.title}", 120),
            f"{task.get_status_display().lower()}, run {task.run_id}, {one_line(task.run.project.name, 60)}",
            reverse("task", args=[task.pk]),
        )
        for task in tasks.order_by("-pk")[:EACH]
    ]


def _requirements(request: AuthenticatedHttpRequest, q: str) -> list[PaletteLine]:
    found = visibility.visible(Requirement, request.user).filter(_each(q, "key", "author_key", "text"))
    return [
        PaletteLine(
            one_line(f"{wish.name} {wish.text}", 120),
            one_line(wish.document.project.name, 60),
            f"{reverse('requirements', args=[wish.document.project_id])}?v={wish.document.version}#R-{wish.pk}",
        )
        for wish in found.order_by("-document_id", "ordinal")[:EACH]
    ]


def _pages(q: str) -> list[PaletteLine]:
    asked = q.lower().split()
    return [
        PaletteLine(label, "", reverse(name))
        for label, name, more in PAGES
        if all(word in f"{label} {more}".lower() for word in asked)
    ]
