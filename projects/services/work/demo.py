"""The demo's starter, registered by the site: the pages can offer it without knowing how it is played."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.auth.models import User

from projects.errors import BadInput
from projects.models import Run

Starter = Callable[["User"], Run]
_registered: Starter | None = None


def register(start: Starter) -> None:
    """Name the callable that starts a recorded run for a user; the site does it once at start."""
    global _registered
    _registered = start


def is_offered() -> bool:
    """True when this site can play the demo."""
    return _registered is not None


def start_demo(user: User) -> Run:
    """Start the recorded demo and return its run. Raises BadInput when the site registered none."""
    if _registered is None:
        raise BadInput("This server has no demo. Start it with `aiswe up`, then try again.")
    return _registered(user)
