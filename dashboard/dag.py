"""A plan's graph as shapes for the page: positions come from the plan's layout; states only set colours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dashboard.states import Look, look_of_state
from dashboard.stream import tasks_of
from dashboard.text import listed, one_line
from projects.models import Plan, Run, Task
from projects.services.planning import plans

MAX_DRAWN = 200  # more tasks than this are a table: a drawing of them says nothing


@dataclass
class GraphNode:
    """A card: where it stands and what it says."""

    key: str
    title: str
    x: int
    y: int
    look: Look
    label: str
    href: str = ""
    meta: str = ""
    task_id: int | None = None
    state: str = ""
    change: str = ""


@dataclass
class Edge:
    """A curve from a task to one that needs it."""

    path: str
    source: str
    target: str
    done: bool = False


@dataclass
class Graph:
    """What the SVG partial draws; `reason` says why nothing is drawn."""

    nodes: list[GraphNode] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    width: int = 0
    height: int = 0
    reason: str = ""


def _draw(plan: Plan, states: Mapping[str, Task] | None = None, changes: Mapping[str, str] | None = None) -> Graph:
    entries = entries_of(plan)
    if len(entries) > MAX_DRAWN:
        return Graph(reason=f"{len(entries)} tasks are too many for a readable graph; the table lists them all.")
    if not entries:
        return Graph(reason="The plan has no tasks to draw.")
    try:
        places = plans.layout_of(plan, states)
    except (KeyError, TypeError, ValueError):
        return Graph(reason="The tasks cannot be drawn as a graph; see the checks.")
    marks = changes or {}
    nodes = [_card(place, (states or {}).get(place["key"]), marks.get(place["key"], "")) for place in places["nodes"]]
    edges = [
        Edge(edge["path"], one_line(edge["source"], 40), one_line(edge["target"], 40), edge["done"])
        for edge in places["edges"]
    ]
    return Graph(nodes, edges, round(places["width"]), round(places["height"]))


def _card(place: Mapping[str, Any], task: Task | None, change: str) -> GraphNode:
    """What a card says: its key and state, its title, and the tries or the estimate with the requirements."""
    key, title = one_line(place["key"], 40), one_line(place["title"], 200)
    look = look_of_state(task.status) if task else Look("task", "planned", "muted")
    needs = ", ".join(str(n) for n in listed(place["needs"]))
    wants = one_line(", ".join(str(r) for r in listed(place["requirements"])), 40)
    tries = getattr(task, "tries", 0)
    effort = f"try {tries}" if tries else f"{place['minutes']} min"
    return GraphNode(
        key=key,
        title=title,
        x=round(place["x"]),
        y=round(place["y"]),
        look=look,
        label=one_line(f"{key} {title}, {look.word}" + (f", needs {needs}" if needs else ""), 400),
        href=f"/tasks/{task.pk}" if task else f"#task-{key}",
        meta=f"{effort} · {wants}" if wants else effort,
        task_id=task.pk if task else None,
        state=task.status if task else "",
        change=change,
    )


def graph_of(plan: Plan, changes: Mapping[str, str] | None = None) -> Graph:
    """A plan's graph, with what changed since the version before it."""
    return _draw(plan, None, changes)


def graph_of_run(run: Run) -> Graph:
    """A run's graph with its tasks' states; empty while there is no plan."""
    if run.plan is None:
        return Graph(reason="There is no plan yet.")
    return _draw(run.plan, {task.key: task for task in tasks_of(run)})


def entries_of(plan: Plan) -> list[dict[str, Any]]:
    """A plan's tasks as plain data; whatever else stands there is left out."""
    tasks = plan.content.get("tasks") if isinstance(plan.content, dict) else None
    return [entry for entry in listed(tasks, 10_000) if isinstance(entry, dict)]
