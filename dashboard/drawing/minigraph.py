"""A plan as a small picture: columns are the layers of the graph, one cell is a task, shapes differ without colour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from dashboard.drawing.states import look_of_state
from projects.values.wording import counted

HEIGHT, WIDE, STEP = 44, 24, 37
MOST_LAYERS = 40
# How a cell looks: (class, whether it stands out with a mark).
CELLS = {"merged": "merged", "running": "running", "needs_you": "asks", "escalated": "asks", "blocked": "asks"}
GONE = ("skipped", "cancelled")


@dataclass(frozen=True)
class MiniCell:
    """A task: its state, or "proposed", and the places of the tasks that it needs."""

    state: str
    needs: Sequence[int] = ()


def label_of(cells: Mapping[int, MiniCell]) -> str:
    """The counts in words: 14 tasks: 9 merged, 1 needs you, 4 queued."""
    if not cells:
        return "no tasks yet"
    counts = Counter(look_of_state(cell.state).word for cell in cells.values())
    number = counted(len(cells), "task")
    return f"{number}: " + ", ".join(f"{n} {word}" for word, n in counts.most_common())


def _layers(cells: Mapping[int, MiniCell]) -> list[list[int]]:
    """The tasks by their longest way from a task that needs nothing."""
    depth: dict[int, int] = {}
    left = list(cells)
    while left:
        ready = [one for one in left if all(need in depth or need not in cells for need in cells[one].needs)]
        if not ready:  # a cycle: what is in it stands at the end
            ready = left
        for one in ready:
            depth[one] = 1 + max((depth.get(need, -1) for need in cells[one].needs), default=-1)
        left = [one for one in left if one not in depth]
    found: list[list[int]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for one, layer in depth.items():
        found[layer].append(one)
    return found


def draw(cells: Mapping[int, MiniCell]) -> SafeString:
    """The picture; of more than MOST_LAYERS layers only the words."""
    layers, label = _layers(cells), label_of(cells)
    if not cells or len(layers) > MOST_LAYERS:
        return format_html('<span class="small muted">{}</span>', label)
    where: dict[int, tuple[float, float, float]] = {}
    for column, tasks in enumerate(layers):
        room = min(11.0, HEIGHT / len(tasks))
        top = (HEIGHT - room * len(tasks)) / 2
        for row, task in enumerate(tasks):
            where[task] = (column * STEP, round(top + row * room + room * 0.14, 1), round(room * 0.72, 1))
    edges = [
        (where[need][0] + WIDE, _middle(where[need]), where[task][0], _middle(where[task]))
        for task, cell in cells.items()
        for need in cell.needs
        if need in where
    ]
    lines = format_html_join("", '<path class="edge" d="M{} {}L{} {}"/>', edges) if len(cells) <= 60 else ""
    drawn = format_html_join("", "{}", ((_cell(cells[task].state, *place),) for task, place in where.items()))
    width = (len(layers) - 1) * STEP + WIDE
    return format_html(
        '<svg class="mini-graph" viewBox="-1 -1 {} {}" width="{}" height="{}" role="img" aria-label="{}">{}{}</svg>',
        *(width + 2, HEIGHT + 2, width + 2, HEIGHT + 2, label, lines, drawn),
    )


def _middle(place: tuple[float, float, float]) -> float:
    return round(place[1] + place[2] / 2, 1)


def _cell(state: str, x: float, y: float, height: float) -> SafeString:
    kind = CELLS.get(state, "gone" if state in GONE else "proposed" if state == "proposed" else "waits")
    box = format_html('<rect x="{}" y="{}" width="{}" height="{}" rx="2" class="', x, y, WIDE, height)
    drawn = format_html('{}{}"/>', box, "waits" if kind in ("running", "gone") else kind)
    if kind == "running":
        drawn += format_html('<rect x="{}" y="{}" width="14" height="{}" rx="2" class="running"/>', x, y, height)
    if kind == "gone":
        drawn += format_html('<path class="through" d="M{} {}H{}"/>', x + 4, round(y + height / 2, 1), x + WIDE - 4)
    if kind == "asks":
        drawn += format_html(
            '<path class="mark" d="M{0} {1}V{2}"/>', x + WIDE / 2, round(y + 1, 1), round(y + height - 1, 1)
        )
    return drawn
