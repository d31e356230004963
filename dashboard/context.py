"""What every page of the shell shows."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest


def shell(request: HttpRequest) -> dict[str, Any]:
    """Theme and navigation state for the base template."""
    return {"theme": request.COOKIES.get("theme", "")}
