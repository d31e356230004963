"""What every page of the shell shows."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from projects.services.decisions import approvals

THEMES = ("auto", "light", "dark")
# Which entry of the navigation a page belongs to, by the first word of its address's name.
SECTIONS = {
    "projects": (
        "project deployments deployment incident incidents baseline target requirements requirement plan planning "
        "preview files trace backlog rehearsals"
    ).split(),
    "approvals": ["approval"],
    "runs": ["run", "task", "gate", "finding", "call"],
    "reports": ["report"],
    "audit": ["audit"],
    "system": ["system", "backups"],
}


def shell(request: HttpRequest) -> dict[str, Any]:
    """Theme, shortcuts and the number on the Approvals badge: the same query the inbox lists from."""
    theme = request.COOKIES.get("theme", "auto")
    user = getattr(request, "user", None)
    section = (request.resolver_match.url_name or "") if request.resolver_match else ""
    return {
        **getattr(request, "about", {}),
        "theme": theme if theme in THEMES else "auto",
        "themes": THEMES,
        "keys_on": request.COOKIES.get("keys", "on") != "off",
        "waiting": approvals.pending_for(user).count() if user is not None and user.is_authenticated else 0,
        "section": section,
        "nav": next((name for name, parts in SECTIONS.items() if section.split("-")[0] in parts), ""),
    }
