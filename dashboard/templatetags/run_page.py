"""Filters of the run page."""

from __future__ import annotations

from collections.abc import Sequence

from django import template
from django.utils import timezone
from django.utils.safestring import SafeString

from dashboard.drawing import run_graph
from dashboard.live import stream
from dashboard.presenters import conversation
from dashboard.presenters.why import Why, why_of
from dashboard.templatetags.look import chip
from projects.models import Event, Run, Task
from projects.values.wording import rounded

register = template.Library()
register.filter("card_meta", run_graph.meta_of)
register.filter("rounded", rounded)
register.filter("files_of", conversation.files_of)
register.filter("clock_start", run_graph.clock_start)

TOOL_ICONS = {"read": "doc", "find": "search", "search": "search", "confirm": "needs", "exec": "cmd", "delete": "cut"}
STEP_STATES = {"pending": "waiting", "asked": "pending", "in_progress": "running", "done": "passed"}


@register.filter
def tool_icon(tool: str) -> str:
    """The symbol of a command of a conversation."""
    return TOOL_ICONS.get(tool, "file" if tool in ("write", "edit") else "task")


@register.filter
def noted(event: Event) -> str:
    """What a notice says in full, another event in its line."""
    text = event.payload.get("text") if event.type == "system" else ""
    return str(text or event.summary)


@register.simple_tag
def step_chip(state: str) -> SafeString:
    """The state of a command of a conversation, or of a step of its plan."""
    state = STEP_STATES.get(state, state)
    return chip(state, "done" if state == "passed" else "")


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
