"""A plan's graph as shapes for the page: positions come from the plan's layout; states only set colours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dashboard.states import Look, look_of_state
from dashboard.stream import tasks_of
from dashboard.text import listed, one_line
from projects.models import Plan, Run, Task
from projects.services.planning.plan_rules import layout_of

MAX_DRAWN = 200  # more tasks than this are a table: a drawing of them says nothing
Graph = dict[str, Any]  # what partials/dag.html draws: the layout with its cards, or the "reason" why nothing is drawn


def _draw(plan: Plan, states: Mapping[str, Task], changes: Mapping[str, str]) -> Graph:
    entries = entries_of(plan)
    if len(entries) > MAX_DRAWN:
        return {"reason": f"{len(entries)} tasks are too many for a readable graph; the table lists them all."}
    if not entries:
        return {"reason": "The plan has no tasks to draw."}
    try:
        graph = layout_of(plan, states)
    except (KeyError, TypeError, ValueError):
        return {"reason": "The tasks cannot be drawn as a graph; see the checks."}
    nodes = [_card(place, states.get(place["key"]), changes.get(place["key"], "")) for place in graph["nodes"]]
    edges = [edge | {end: one_line(edge[end], 40) for end in ("source", "target")} for edge in graph["edges"]]
    return {"nodes": nodes, "edges": edges, "width": round(graph["width"]), "height": round(graph["height"])}


def _card(place: Mapping[str, Any], task: Task | None, change: str) -> dict[str, Any]:
    """What a card says: its key and state, its title, and the attempts or the estimate with the requirements."""
    key, title = one_line(place["key"], 40), one_line(place["title"], 200)
    look = look_of_state(task.status) if task else Look("task", "planned", "muted")
    needs = ", ".join(str(n) for n in listed(place["needs"]))
    wants = one_line(", ".join(str(r) for r in listed(place["requirements"])), 40)
    tries = getattr(task, "tries", 0)
    effort = f"try {tries}" if tries else f"{place['minutes']} min"
    return {
        "key": key,
        "title": title,
        "x": round(place["x"]),
        "y": round(place["y"]),
        "look": look,
        "label": one_line(f"{key} {title}, {look.word}" + (f", needs {needs}" if needs else ""), 400),
        "href": f"/tasks/{task.pk}" if task else f"#task-{key}",
        "meta": f"{effort} · {wants}" if wants else effort,
        "task": place["task"],
        "change": change,
    }


def graph_of(plan: Plan, changes: Mapping[str, str] | None = None) -> Graph:
    """A plan's graph, with what changed since the version before it."""
    return _draw(plan, {}, changes or {})


def graph_of_run(run: Run, tasks: Iterable[Task] | None = None) -> Graph:
    """A run's graph with the states of its tasks, which are those of now unless given; empty without a plan."""
    if run.plan is None:
        return {"reason": "There is no plan yet."}
    return _draw(run.plan, {task.key: task for task in (tasks_of(run) if tasks is None else tasks)}, {})


def entries_of(plan: Plan) -> list[dict[str, Any]]:
    """A plan's tasks as plain data; entries that are not objects are left out."""
    tasks = plan.content.get("tasks") if isinstance(plan.content, dict) else None
    return [entry for entry in listed(tasks, 10_000) if isinstance(entry, dict)]
