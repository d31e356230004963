"""Refusals as HTTP: the status of each kind, and the page to go back to."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

from django.http import HttpRequest

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
    return urlunsplit(("", "", page.path, page.query, ""))
