"""Refusals as HTTP: the status of each kind, and the page to go back to."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

from django.http import HttpRequest
from django.urls import Resolver404, resolve

from projects.errors import (
    BadInput,
    IllegalMove,
    LimitReached,
    LostRace,
    NotAllowed,
    NotFound,
    ProjectsError,
    StaleVersion,
    TooManyTries,
)

STATUS: dict[type[ProjectsError], int] = {
    NotAllowed: 403,
    NotFound: 404,
    StaleVersion: 409,
    LostRace: 409,
    IllegalMove: 409,
    BadInput: 422,
    LimitReached: 422,
    TooManyTries: 429,
}


def status_of(error: ProjectsError) -> int:
    """The HTTP status a refusal is answered with."""
    return next((status for kind, status in STATUS.items() if isinstance(error, kind)), 422)


def local_path(request: HttpRequest, fallback: str = "/") -> str:
    """The page the form was on, if it is one of ours; browsers name it, as the Referrer-Policy allows."""
    page = urlsplit(request.headers.get("Referer", ""))
    if page.netloc != request.get_host() or page.path.startswith("//"):
        return fallback
    path = _readable(page.path) or fallback
    return urlunsplit(("", "", path, page.query if path == page.path else "", ""))


def _readable(path: str) -> str:
    """The address or, when it only answers forms, the nearest above it that a browser can open; "" without one."""
    while path:
        for one in (path, f"{path}/"):
            try:
                view = resolve(one).func
            except Resolver404:
                continue
            if "GET" in getattr(view, "methods", ("GET",)):
                return one
        path = path.rpartition("/")[0]
    return ""
