"""Filters of the run page."""

from __future__ import annotations

from collections.abc import Sequence

from django import template

from dashboard import run_graph, stream
from dashboard.why import Why, why_of
from projects.models import Run, Task

register = template.Library()
register.filter("card_meta", run_graph.meta_of)
register.filter("clock_start", run_graph.clock_start)


@register.simple_tag
def run_why(run: Run, tasks: Sequence[Task] | None = None) -> Why:
    """What a run does or waits for; without its tasks at hand they are fetched."""
    return why_of(run, tasks or list(stream.tasks_of(run)))
