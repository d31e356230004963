"""The doctor's page, the demo's button, and the list of shortcuts."""

from __future__ import annotations

import sys
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib import messages
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template import loader
from django.views.defaults import server_error as default_server_error

from dashboard.http.pages import page, show
from dashboard.http.requests import AuthenticatedHttpRequest
from dashboard.http.streaming import attachment
from projects.models import SiteEvent
from projects.models.project import RECORDING
from projects.services.accounts.rights import require_administrator
from projects.services.delivery.downloads import Download
from projects.services.installation import backups as store
from projects.services.installation import health, sandbox_image
from projects.services.operations import incidents
from projects.services.work import demo

SHORTCUTS = (
    ("?", "This page"),
    ("Ctrl K", "Search projects, runs, tasks, requirements and pages; on a Mac ⌘ K"),
    ("/", "Search, on pages that have a search field"),
    ("g p", "Go to Projects"),
    ("g i", "Go to Approvals"),
    ("g r", "Go to Runs"),
    ("g w", "Go to Reports"),
    ("g m", "Go to Memory"),
    ("g a", "Go to Audit"),
    ("g s", "Go to System"),
    ("j / k", "Next / previous row of the stream"),
    ("e / E", "Next / previous error in the stream"),
    ("f", "Follow the newest row"),
    ("Enter", "Open the focused item"),
    ("Esc", "Leave the field"),
)

BUSY_S = 5


def server_error(request: HttpRequest) -> HttpResponse:
    """What broke in any layer, as a page: 503 while the database is locked or away, and the session stays."""
    error = sys.exc_info()[1]
    if not isinstance(error, OperationalError) or str(error).startswith("no such"):
        return default_server_error(request)
    if hasattr(request, "session"):
        request.session.modified = False  # storing it would wait for the same lock again
    busy = HttpResponse(loader.get_template("503.html").render(), status=503)
    busy["Retry-After"] = str(BUSY_S)
    return busy


def setup_facts() -> dict[str, str]:
    """What a person needs to start a local model. A password in the address is not shown."""
    url = next(iter(settings.MODEL_URLS.values()))  # of the default server
    parts = urlsplit(url if "//" in url else f"//{url}")
    host = parts.netloc.rpartition("@")[2]
    recorded = settings.MODEL.removeprefix(RECORDING) if settings.MODEL.startswith(RECORDING) else ""
    return {"address": f"{parts.scheme or 'http'}://{host}", "model": settings.MODEL, "recorded": recorded}


@page("GET POST")
def doctor(request: AuthenticatedHttpRequest) -> HttpResponse:
    """Every check with its evidence and what to do; POST runs them again."""
    if request.method == "POST":
        health.run_checks(fresh=True)
        return redirect("system")
    checks = health.run_checks()
    red = [check for check in checks if check["ok"] is False]
    facts = {"checks": checks, "red": red, "window": settings.MODEL_WINDOW, "demo": demo.is_offered()}
    facts["build"] = sandbox_image.last_build()
    facts["incidents"] = incidents.open_for(None) if request.user.is_superuser else []
    return show(request, "pages/system.html", facts | setup_facts())


@page("GET POST")
def image(request: AuthenticatedHttpRequest) -> HttpResponse:
    """How far the sandbox image is, as a part of the page; POST has it made or stopped. For administrators."""
    if request.method == "POST":
        stop = request.POST.get("do") == "stop"
        sandbox_image.request_build(request.user, stop=stop)
        messages.success(request, "The build is being stopped." if stop else "The sandbox image is being made.")
        return redirect("system")
    return show(request, "partials/sandbox_image.html", {"build": sandbox_image.last_build()})


@page("GET POST")
def backups(request: AuthenticatedHttpRequest) -> HttpResponse:
    """The backups in the data folder; POST has one taken. For administrators."""
    if request.method == "POST":
        store.request_backup(request.user)
        messages.success(request, "A backup is being taken; it is listed here when it is whole.")
        return redirect("backups")
    require_administrator(request.user, "The list of backups")
    last = SiteEvent.objects.filter(action=store.TAKEN).order_by("-seq").first()
    context = {
        "files": [(path.name, path.stat().st_size) for path in store.kept_backups()],
        "offered": store.is_offered(),
        "busy": store.is_being_taken(),
        "failed": last if last and last.outcome == "fail" else None,
    }
    return show(request, "pages/backups.html", context)


@page("GET")
def backup(request: AuthenticatedHttpRequest, name: str) -> HttpResponseBase:
    """One backup as a file, for administrators."""
    return attachment(Download(name, "application/zip", store.read_backup(name, by=request.user)))


@page("POST")
def start_demo(request: AuthenticatedHttpRequest) -> HttpResponse:
    """Start the recorded demo and show its run."""
    return redirect("run", demo.start_demo(request.user).pk)


@page("GET")
def keys(request: AuthenticatedHttpRequest) -> HttpResponse:
    """The shortcuts, and their off switch."""
    return show(request, "pages/keys.html", {"shortcuts": SHORTCUTS})
