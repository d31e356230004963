"""A refusal is an answer: its text and the way back, with the status that says what kind of no it was."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render

from projects.errors import (
    BadInput,
    IllegalMove,
    LimitReached,
    LostRace,
    NotAllowed,
    ProjectsError,
    StaleVersion,
    TooManyTries,
)

STATUS: dict[type[ProjectsError], int] = {
    NotAllowed: 403,
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
    """The page the form was on, if it is one of ours."""
    back = request.POST.get("back", "")
    return back if back.startswith("/") and not back.startswith(("//", "/\\")) else fallback


def refusals(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Turn a ProjectsError out of the view into a page a person can act on."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except ProjectsError as refusal:
            status = status_of(refusal)
            context = {"refusal": str(refusal), "back": local_path(request), "status": status}
            return render(request, "pages/refused.html", context, status=status)

    return answer
