"""Checks for every request of a signed-in user: the session is not too old, a required second factor is set."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from projects.services.accounts import second_factor

BEGAN, SEEN = "began", "seen"
NOTED_EVERY = 60  # seconds; a write for each click would hold up the writers of events
# Where somebody without the demanded second factor may go.
WITHOUT_FACTOR = ("second-factor", "sign-out", "preferences")


def is_too_old(session: Any, now: float) -> bool:
    """Whether nobody used the session for too long, or it began too long ago."""
    began, seen = session.get(BEGAN, now), session.get(SEEN, now)
    return bool(now - seen > settings.SESSION_IDLE_SECONDS or now - began > settings.SESSION_COOKIE_AGE)


def lacks_factor(user: User) -> bool:
    """Whether this server demands a second factor that the user has not set up."""
    return bool(settings.REQUIRE_SECOND_FACTOR) and not second_factor.has_one(user)


def _by_a_person(request: HttpRequest) -> bool:
    """A page's own polling keeps no session alive."""
    if request.method not in ("GET", "HEAD"):
        return True
    mode = request.headers.get("Sec-Fetch-Mode")
    return mode == "navigate" if mode else "HX-Request" not in request.headers


class Gatekeeper:
    """The middleware; it comes directly after the one that sets the user."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Let the request through, or end its session."""
        if request.user.is_authenticated:
            now = time.time()
            session = request.session
            if is_too_old(session, now):
                logout(request)
                messages.info(request, "You were signed out: the session was too old or idle for too long.")
            elif BEGAN not in session:
                session[BEGAN] = session[SEEN] = int(now)
            elif now - session.get(SEEN, 0) > NOTED_EVERY and _by_a_person(request):
                session[SEEN] = int(now)
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        """Send somebody without the demanded second factor to where it is set up."""
        match = request.resolver_match
        if not request.user.is_authenticated or getattr(view, "open_to_tokens", False):
            return None
        if (match and match.url_name in WITHOUT_FACTOR) or not lacks_factor(request.user):
            return None
        if request.headers.get("HX-Request"):
            return HttpResponse(status=403)
        return redirect(reverse("second-factor"))
