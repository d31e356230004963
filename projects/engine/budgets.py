"""What a project may spend, and for how long its runs have really worked."""

from __future__ import annotations

from django.utils import timezone

from agents.engine.contracts import TaskLimits
from projects.models import Project, Run, Transition


def limits_of(project: Project) -> TaskLimits:
    """The project's budgets; unknown names in the stored settings are ignored."""
    known = {name: value for name, value in project.limits.items() if name in TaskLimits.__dataclass_fields__}
    return TaskLimits(**known)


def seconds_at_work(run_id: int) -> float:
    """How long the run has been running: a night in which it waited for a person does not count."""
    total, since = 0.0, None
    for new, at in Transition.objects.filter(kind="run", object_id=run_id).order_by("pk").values_list("new", "at"):
        if since is not None:
            total += (at - since).total_seconds()
        since = at if new == Run.Status.RUNNING else None
    return total + ((timezone.now() - since).total_seconds() if since is not None else 0.0)
