"""A run's graph as shapes: cards with edges, layers, or an overview with some layers, by the number of tasks.

Places never move in a run; static/js/graph.js changes class and text from the list of tasks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

from django.utils import timezone

from dashboard.drawing.states import look_of_state
from dashboard.text.safe import one_line, shortened
from projects.models import Run, Task
from projects.services.work.graphs import RunGraph, Sizes, layout

MOST_CARDS, MOST_LAYERED = 24, 120  # more tasks than these are shown as layers, and more than those with an overview
ROOM = 1340  # the width in CSS pixels that the cards are laid out for
WIDEST, NARROWEST, CARD_HEIGHT = 188, 148, 56
GAP_X, GAP_Y, LANE, MARGIN = 42, 13, 22, 12
SHRINK, GROW = 11 / 12, 1.08  # text of 12 px is never below 11
AROUND = 4  # layers shown on each side of the selected one, under an overview
LETTER, BOLD_LETTER = 6.9, 8.2  # mean widths of one, in a title
PLAIN = ("merged", "skipped", "queued", "cancelled")  # whose titles are not bold
ROOMY = 170  # cards of this width have room for longer words
LIST_ORDER = ("needs_you", "escalated", "blocked", "running", "ready", "queued")
WORKED_ON = ("running", "needs_you", "escalated", "blocked", "ready")


def clock_of(seconds: float) -> str:
    """A duration that counts on: 7:12, 1:02:03."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def tries_of(task: Task) -> str:
    """ "try 2 of 6" once there is more than one: the first version and as many repairs as the project allows."""
    tries, most = getattr(task, "tries", 0), 1 + int(task.run.project.limits.get("max_retries", 5))
    return "" if tries < 2 else f"try {tries} of {most}" if tries <= most else f"try {tries}"


def seconds_of(task: Task) -> float:
    """How long a task has been at work, now or at the moment its run is shown at."""
    now = getattr(task.run, "shown_at", None) or timezone.now()
    return (now - task.started_at).total_seconds() if task.started_at else 0.0


def clock_start(task: Task) -> str:
    """Since when the clock of a task counts on; "" for one that stands."""
    counts = task.status == Task.Status.RUNNING and task.started_at and not hasattr(task.run, "shown_at")
    return task.started_at.isoformat() if counts and task.started_at else ""


def meta_of(task: Task) -> str:
    """What the corner of a card says: tries and time, or the estimate."""
    tries, status = tries_of(task), task.status
    if status == Task.Status.RUNNING:
        since = clock_of(seconds_of(task)) if task.started_at else ""
        return " · ".join(part for part in (tries or one_line(task.agent, 20), since) if part)
    if status == Task.Status.MERGED and task.started_at and task.finished_at:
        took = round((task.finished_at - task.started_at).total_seconds() / 60)
        return " · ".join(part for part in (tries.split(" of ")[0], f"{took} min" if took else "under 1 min") if part)
    if status in (Task.Status.QUEUED, Task.Status.READY):
        return f"about {task.minutes} min"
    return look_of_state(status).word


def short_of(meta: str) -> str:
    """The same for a narrow place: "2/6 · 7:12", "7:12", "20 min"."""
    tail = meta.rpartition(" · ")[2].removeprefix("about ")
    tries = re.match(r"try (\d+) of (\d+) · ", meta)
    return f"{tries[1]}/{tries[2]} · {tail}" if tries else tail


def graph_of_run(run: Run, tasks: Sequence[Task], *, chosen: str = "", layer: int | None = None) -> dict[str, Any]:
    """What partials/run_graph.html draws; `chosen` is the selected task, `layer` one that is opened on request."""
    graph = RunGraph(tasks)
    critical, hold = set(graph.critical), graph.bottleneck
    found: dict[str, Any] = {
        "minutes_left": graph.minutes_left,
        "about": max(graph.minutes, sum(task.minutes for task in tasks) // run.project.parallel_tasks),
        "hold": hold,
        "level": "cards" if len(tasks) <= MOST_CARDS else "layers" if len(tasks) <= MOST_LAYERED else "overview",
    }
    cells = {task.key: _cell(task, graph, task.key in critical, task.key == chosen) for task in tasks}
    if found["level"] == "cards":
        return found | _cards(graph, cells)
    return found | _layers(graph, cells, chosen, layer, whole=found["level"] == "layers")


def _cell(task: Task, graph: RunGraph, is_critical: bool, is_chosen: bool) -> dict[str, Any]:
    look = look_of_state(task.status)
    needs = ", ".join(need.key for need in task.needs.all())
    words = one_line(f"{task.key} {task.title}, {look.word}" + (f", needs {needs}" if needs else ""), 400)
    column, row = graph.grid.cells[task.key]
    return {
        "task": task,
        "look": look,
        "label": words + ", on the critical path" * is_critical,
        "href": f"/runs/{task.run_id}?{urlencode({'task': task.key})}",
        "meta": meta_of(task),
        "critical": is_critical,
        "chosen": is_chosen,
        "column": column,
        "row": row,
    }


def _cards(graph: RunGraph, cells: dict[str, dict[str, Any]]) -> dict[str, Any]:
    columns = len(graph.layers)
    width = max(NARROWEST, min(WIDEST, int((ROOM / GROW - 2 * MARGIN - (columns - 1) * GAP_X) / max(columns, 1))))
    placed = layout(graph.grid, Sizes(width, CARD_HEIGHT, GAP_X, GAP_Y, LANE, MARGIN))
    for key, (x, y) in placed.places.items():
        cell = cells[key]
        cell |= {"x": x, "y": y, "end": x + width - 8, "bar": _share(cell["task"], width)}
        letter = LETTER if cell["task"].status in PLAIN else BOLD_LETTER
        cell["text"] = shortened(one_line(cell["task"].title, 200), int((width - 20) / letter))
        cell["meta"] = cell["meta"].replace(" of ", "/") if width >= ROOMY else short_of(cell["meta"])
    chain = set(pairwise(graph.critical))
    status = {task.key: task.status for task in graph.tasks}
    edges = [
        {
            "source": source,
            "target": target,
            "critical": (source, target) in chain,
            "look": look_of_edge(status[source], status[target]),
            "path": path,
        }
        for source, target, path in placed.edges
    ]
    shown = round(min(placed.width * GROW, max(placed.width, ROOM)))
    return {
        "nodes": list(cells.values()),
        "edges": sorted(edges, key=lambda edge: edge["critical"]),
        "card": width,
        "roomy": width >= ROOMY,
        "box": (placed.width, placed.height),
        "width": shown,
        "height": round(placed.height * shown / max(placed.width, 1)),
        "least": round(placed.width * SHRINK),
    }


def look_of_edge(source: str, target: str) -> str:
    """How an edge is drawn: into a task at work, from a merged task, or waiting."""
    if target == Task.Status.RUNNING:
        return "live"
    return "done" if source in Task.SETTLED else "wait"


def _share(task: Task, width: int) -> int:
    """How much of a card's bar is filled: the time so far, of the estimate."""
    if task.status != Task.Status.RUNNING or task.started_at is None:
        return 0
    return round((width - 2) * min(1.0, seconds_of(task) / 60 / max(task.minutes, 1)))


def _layers(
    graph: RunGraph, cells: dict[str, dict[str, Any]], chosen: str, layer: int | None, *, whole: bool
) -> dict[str, Any]:
    """The layers as columns: titles where work is or was asked for. Under an overview only those around one layer."""
    groups: list[dict[str, Any]] = []
    for number, tasks in enumerate(graph.layers):
        done = sum(task.status in Task.SETTLED for task in tasks)
        work = any(task.status in WORKED_ON or task.key == chosen for task in tasks)
        inside = [cells[task.key] | {"meta": short_of(cells[task.key]["meta"])} for task in tasks]
        group = {"n": number, "cells": inside, "done": done, "all": len(tasks)}
        groups.append(group | {"open": work or number == layer, "work": work})
    middle = layer if layer is not None else next((group["n"] for group in groups if group["work"]), 0)
    first = 0 if whole else max(0, min(middle - AROUND, len(groups) - 2 * AROUND - 1))
    shown = groups if whole else groups[first : first + 2 * AROUND + 1]
    if not any(group["open"] for group in shown) and shown:
        shown[min(middle - first, len(shown) - 1)]["open"] = True
    return {"groups": groups, "shown": shown, "overview": _overview(groups, shown)}


def _overview(groups: list[dict[str, Any]], shown: list[dict[str, Any]]) -> dict[str, Any]:
    """One block a task over the whole width, in percent; the frame is around the layers that are shown."""
    total = sum(group["all"] for group in groups) + len(groups) - 1
    step, place = 100 / max(total, 1), 0
    blocks: list[dict[str, Any]] = []
    links: list[dict[str, Any]] = []
    for group in groups:
        links.append({"n": group["n"], "x": place * step, "width": group["all"] * step, "all": group["all"]})
        for cell in group["cells"]:
            blocks.append({"x": place * step, "width": step * 0.82, "cell": cell, "group": group["n"]})
            place += 1
        place += 1
    framed = [link for link in links if shown and shown[0]["n"] <= link["n"] <= shown[-1]["n"]]
    whole = len(shown) == len(groups)
    frame = None if whole or not framed else (framed[0]["x"], framed[-1]["x"] + framed[-1]["width"] - framed[0]["x"])
    return {"blocks": blocks, "links": links, "frame": frame}


def listed(tasks: Sequence[Task]) -> list[Task]:
    """The tasks of a list: in their order, but above what fits one look those that need somebody first."""
    if len(tasks) <= MOST_CARDS:
        return list(tasks)
    rank = {status: place for place, status in enumerate(LIST_ORDER)}
    return sorted(tasks, key=lambda task: (rank.get(task.status, len(rank)), task.ordinal))
