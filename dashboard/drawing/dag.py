"""A plan's graph as shapes for the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dashboard.drawing.states import Look, look_of_state
from dashboard.text.safe import listed, one_line
from projects.models import Plan, Task
from projects.services.planning.plan_rules import layout_of

MAX_DRAWN = 200  # more tasks than this are a table: a drawing of them says nothing
PLANNED = Look("task", "planned", "muted")
Graph = dict[str, Any]  # what partials/dag.html draws: the layout with its cards, or the "reason" why nothing is drawn


def _card(key: str, spec: Mapping[str, Any], task: Task | None, change: str) -> dict[str, Any]:
    """What a card says: its key, its title, and the estimate with the requirements."""
    title = one_line(spec.get("title") or "", 200)
    needs = ", ".join(str(n) for n in listed(spec.get("needs")))
    wants = one_line(", ".join(str(r) for r in listed(spec.get("requirements"))), 40)
    look = look_of_state(task.status) if task else PLANNED
    effort = f"{spec.get('minutes')} min"
    return {
        "key": one_line(key, 40),
        "title": title,
        "look": look,
        "label": one_line(f"{key} {title}, {look.word}" + (f", needs {needs}" if needs else ""), 400),
        "href": f"/tasks/{task.pk}" if task else f"#task-{one_line(key, 40)}",
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
        graph, specs = layout_of(plan)
    except (KeyError, TypeError, ValueError):
        return {"reason": "The tasks cannot be drawn as a graph; see the checks."}
    nodes = [
        _card(key, specs[key], (tasks or {}).get(key), (changes or {}).get(key, "")) | {"x": x, "y": y}
        for key, (x, y) in graph.places.items()
    ]
    edges = [
        {"source": one_line(source, 40), "target": one_line(target, 40), "path": path}
        for source, target, path in graph.edges
    ]
    return {"nodes": nodes, "edges": edges, "width": graph.width, "height": graph.height}


def entries_of(plan: Plan) -> list[dict[str, Any]]:
    """A plan's tasks as plain data; entries that are not objects are left out."""
    tasks = plan.content.get("tasks") if isinstance(plan.content, dict) else None
    return [entry for entry in listed(tasks, 10_000) if isinstance(entry, dict)]
