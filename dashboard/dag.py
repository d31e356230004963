"""A plan's graph as shapes for the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dashboard.states import Look, look_of_state
from dashboard.text import listed, one_line
from projects.models import Plan, Task
from projects.services.planning.plan_rules import layout_of

MAX_DRAWN = 200  # more tasks than this are a table: a drawing of them says nothing
PLANNED = Look("task", "planned", "muted")
Graph = dict[str, Any]  # what partials/dag.html draws: the layout with its cards, or the "reason" why nothing is drawn


def _card(place: Mapping[str, Any], task: Task | None, change: str) -> dict[str, Any]:
    """What a card says: its key, its title, and the estimate with the requirements."""
    key, title = one_line(place["key"], 40), one_line(place["title"], 200)
    needs = ", ".join(str(n) for n in listed(place["needs"]))
    wants = one_line(", ".join(str(r) for r in listed(place["requirements"])), 40)
    look = look_of_state(task.status) if task else PLANNED
    effort = f"{place['minutes']} min"
    return {
        "key": key,
        "title": title,
        "x": round(place["x"]),
        "y": round(place["y"]),
        "look": look,
        "label": one_line(f"{key} {title}, {look.word}" + (f", needs {needs}" if needs else ""), 400),
        "href": f"/tasks/{task.pk}" if task else f"#task-{key}",
        "meta": f"{effort} · {wants}" if wants else effort,
        "change": change,
    }


def graph_of(plan: Plan, changes: Mapping[str, str] | None = None, tasks: Mapping[str, Task] | None = None) -> Graph:
    """A plan's graph, with what changed since the version before it, or with the tasks of its build."""
    entries = entries_of(plan)
    if len(entries) > MAX_DRAWN:
        return {"reason": f"{len(entries)} tasks are too many for a readable graph; the table lists them all."}
    if not entries:
        return {"reason": "The plan has no tasks to draw."}
    try:
        graph = layout_of(plan)
    except (KeyError, TypeError, ValueError):
        return {"reason": "The tasks cannot be drawn as a graph; see the checks."}
    nodes = [
        _card(place, (tasks or {}).get(place["key"]), (changes or {}).get(place["key"], "")) for place in graph["nodes"]
    ]
    edges = [edge | {end: one_line(edge[end], 40) for end in ("source", "target")} for edge in graph["edges"]]
    return {"nodes": nodes, "edges": edges, "width": round(graph["width"]), "height": round(graph["height"])}


def entries_of(plan: Plan) -> list[dict[str, Any]]:
    """A plan's tasks as plain data; entries that are not objects are left out."""
    tasks = plan.content.get("tasks") if isinstance(plan.content, dict) else None
    return [entry for entry in listed(tasks, 10_000) if isinstance(entry, dict)]
