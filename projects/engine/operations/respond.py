"""The operations agent: what it makes of a look at a deployment."""

from __future__ import annotations

from projects.engine.operations.rollout import Observed
from projects.models import Target


def respond(target: Target, observed: Observed | None) -> None:
    """Nothing yet."""
