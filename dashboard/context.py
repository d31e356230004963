"""What every page of the shell shows."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from projects.services import approvals

THEMES = ("auto", "light", "dark")


def shell(request: HttpRequest) -> dict[str, Any]:
    """Theme, shortcuts and the number on the Approvals badge: the same query the inbox lists from."""
    theme = request.COOKIES.get("theme", "auto")
    user = getattr(request, "user", None)
    signed_in = user is not None and user.is_authenticated
    return {
        "theme": theme if theme in THEMES else "auto",
        "themes": THEMES,
        "keys_on": request.COOKIES.get("keys", "on") != "off",
        "waiting": approvals.pending_for(user).count() if signed_in else 0,
        "section": getattr(request.resolver_match, "url_name", "") or "" if request.resolver_match else "",
    }
