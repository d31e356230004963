"""What the app remembers while a person uses it."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any


def defaults() -> dict[str, Any]:
    """The values at the start, fresh ones for every session."""
    return {}


def init_state(session: MutableMapping[Any, Any]) -> None:
    """Put into the session what it does not have yet; what people did in it stays."""
    for name, value in defaults().items():
        if name not in session:
            session[name] = value
