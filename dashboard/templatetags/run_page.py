"""Filters of the run page."""

from __future__ import annotations

from collections.abc import Sequence

from django import template
from django.utils import timezone

from dashboard import run_graph, stream
from dashboard.why import Why, why_of
from projects.models import Run, Task
from projects.wording import rounded

register = template.Library()
register.filter("card_meta", run_graph.meta_of)
register.filter("rounded", rounded)
register.filter("clock_start", run_graph.clock_start)


@register.filter
def is_under_way(run: Run) -> bool:
    """Whether the clock of a run counts on: it has begun, is not over, and is shown as it is now."""
    return bool(run.started_at) and run.status not in Run.OVER and not hasattr(run, "shown_at")


@register.filter
def elapsed(run: Run) -> str:
    """The time from its start to its end, or to the moment it is shown at."""
    end = run.finished_at or getattr(run, "shown_at", None) or timezone.now()
    return run_graph.clock_of((end - run.started_at).total_seconds()) if run.started_at else ""


@register.filter
def unheard(run: Run, at: int | None) -> str:
    """Why nobody reads a message to the agents; "" while they do."""
    if run.replay_of:
        return "Nobody reads what is said to a replay"
    if run.status == Run.Status.FINISHED:
        return "The run is finished: nobody reads a message"
    return "Go back to live to write to the agents" if at else ""


@register.simple_tag
def run_why(run: Run, tasks: Sequence[Task] | None = None) -> Why:
    """What a run does or waits for; without its tasks at hand they are fetched."""
    return why_of(run, tasks or list(stream.tasks_of(run)))
