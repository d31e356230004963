"""Where the cards of a task graph stand, and the curves between them: layers from left to right, few crossings.

Computed on the server, once per plan: pure, deterministic, and harmless for graphs with circles.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

_SWEEPS = 4
# Lanes for all long edges of a huge dense graph would cost more than they show.
_MAX_LANES = 2_500


@dataclass(frozen=True, slots=True)
class Sizes:
    """In CSS pixels; `lane` is the height of a row in which long edges pass the cards and no card stands."""

    width: int
    height: int
    gap_x: int
    gap_y: int
    lane: int
    margin: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Sizes in CSS pixels. `places`: key → x, y of its card. `edges`: from, to, and the `d` of an SVG path."""

    width: int
    height: int
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    edges: list[tuple[str, str, str]] = field(default_factory=list)


@dataclass(slots=True)
class _Net:
    """Cards and lanes as numbers: `layers` hold them in order, `left` and `right` their neighbours."""

    layers: list[list[int]]
    left: list[list[int]]
    right: list[list[int]]


@dataclass(frozen=True, slots=True)
class Grid:
    """Cards in columns and rows. `edges`: from, to, and the cells that a long edge passes on its way."""

    cells: dict[str, tuple[int, int]]
    edges: list[tuple[str, str, list[tuple[int, int]]]]


def grid(nodes: Sequence[str], edges: Iterable[tuple[str, str]], top: Sequence[str] = ()) -> Grid:
    """Place `nodes` by column and row; the chain `top` is the first row, which nothing else uses."""
    keys = list(dict.fromkeys(nodes))
    if not keys:
        return Grid({}, [])
    number = {key: index for index, key in enumerate(keys)}
    pairs = list(dict.fromkeys((number[a], number[b]) for a, b in edges if a in number and b in number and a != b))
    depth, drawn_back = _depths(len(keys), pairs)
    net, routes = _net(len(keys), depth, [p for p in pairs if p not in drawn_back])
    _reduce_crossings(net)
    chain = [number[key] for key in top if key in number]
    first = {*chain}.union(*(routes.get(pair, ()) for pair in pairwise(chain)))
    rows = _rows(net, first)
    return Grid(
        {key: (depth[i], rows[i]) for key, i in number.items()},
        [
            (keys[a], keys[b], [(depth[a] + 1 + k, rows[i]) for k, i in enumerate(routes.get((a, b), ()))])
            for a, b in pairs
        ],
    )


def layout(found: Grid, sizes: Sizes) -> Layout:
    """The cards of a grid in pixels, and their edges as curves from the right of one to the left of another."""
    if not found.cells:
        return Layout(0, 0)
    cards = {row for _, row in found.cells.values()}
    columns, rows = (1 + max(numbers) for numbers in zip(*found.cells.values(), strict=True))
    left = [sizes.margin + column * (sizes.width + sizes.gap_x) for column in range(columns)]
    top, middle, y = list[int](), list[int](), sizes.margin
    for row in range(max([rows, *(1 + row for *_, way in found.edges for _, row in way)])):
        tall = sizes.height if row in cards else sizes.lane
        top.append(y)
        middle.append(y + tall // 2)
        y += tall + sizes.gap_y

    def path(source: str, target: str, way: list[tuple[int, int]]) -> str:
        column, row = found.cells[source]
        drawn = f"M{left[column] + sizes.width} {middle[row]}"
        for passed, lane in way:
            drawn += _curve(left[column] + sizes.width, middle[row], left[passed], middle[lane], sizes.gap_x)
            drawn += f"H{left[passed] + sizes.width}"
            column, row = passed, lane
        last, end = found.cells[target]
        return drawn + _curve(left[column] + sizes.width, middle[row], left[last] - 2, middle[end], sizes.gap_x)

    return Layout(
        width=2 * sizes.margin + columns * sizes.width + (columns - 1) * sizes.gap_x,
        height=y - sizes.gap_y + sizes.margin,
        places={key: (left[column], top[row]) for key, (column, row) in found.cells.items()},
        edges=[(source, target, path(source, target, way)) for source, target, way in found.edges],
    )


def _curve(x1: int, y1: int, x2: int, y2: int, gap: int) -> str:
    if y1 == y2:
        return f"H{x2}"
    half = max(abs(x2 - x1) // 2, gap // 2)
    return f"C{x1 + half} {y1} {x2 - half} {y2} {x2} {y2}"


def _rows(net: _Net, first: set[int]) -> list[int]:
    """The row of every card and lane: as near to its neighbours on the left as the order of its layer allows."""
    rows = [0] * len(net.left)
    start = 1 if first else 0
    most = max(sum(node not in first for node in layer) for layer in net.layers)
    for layer in net.layers:
        others = [node for node in layer if node not in first]
        below = start
        for node in others:
            near = [rows[other] for other in net.left[node]]
            rows[node] = max(below, round(sum(near) / len(near)) if near else below)
            below = rows[node] + 1
        for place, node in enumerate(reversed(others)):
            rows[node] = min(rows[node], start + most - 1 - place)
    return rows


def _depths(count: int, pairs: list[tuple[int, int]]) -> tuple[list[int], set[tuple[int, int]]]:
    """The layer of every node, and the edges that close a circle (they are drawn, but do not count)."""
    after: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for a, b in pairs:
        after[a].append(b)
        waiting[b] += 1
    depth = [0] * count
    done = [False] * count
    ready = deque(i for i in range(count) if not waiting[i])
    back: set[tuple[int, int]] = set()
    stuck = 0
    placed = 0
    while placed < count:
        if not ready:
            # Only circles are left: begin with the first task of the plan that waits.
            while done[stuck]:
                stuck += 1
            ready.append(stuck)
        node = ready.popleft()
        if done[node]:
            continue
        done[node] = True
        placed += 1
        for other in after[node]:
            if done[other]:
                back.add((node, other))
                continue
            depth[other] = max(depth[other], depth[node] + 1)
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    return depth, back


def _net(count: int, depth: list[int], pairs: list[tuple[int, int]]) -> tuple[_Net, dict[tuple[int, int], list[int]]]:
    lanes = sum(depth[b] - depth[a] - 1 for a, b in pairs)
    with_lanes = lanes <= _MAX_LANES
    size = count + (lanes if with_lanes else 0)
    layers: list[list[int]] = [[] for _ in range(max(depth) + 1)]
    for node in range(count):
        layers[depth[node]].append(node)
    net = _Net(layers, [[] for _ in range(size)], [[] for _ in range(size)])
    routes: dict[tuple[int, int], list[int]] = {}
    fresh = count
    for a, b in pairs:
        chain = [a]
        if with_lanes:
            for level in range(depth[a] + 1, depth[b]):
                layers[level].append(fresh)
                chain.append(fresh)
                fresh += 1
            if len(chain) > 1:
                routes[a, b] = chain[1:]
        chain.append(b)
        for one, two in pairwise(chain):
            net.right[one].append(two)
            net.left[two].append(one)
    return net, routes


def _reduce_crossings(net: _Net) -> None:
    """Barycentre sweeps: every layer sorted by the mean place of its neighbours, forth and back."""
    place = [0.0] * len(net.left)
    for layer in net.layers:
        for index, node in enumerate(layer):
            place[node] = index / max(len(layer), 1)
    for sweep in range(_SWEEPS):
        forth = sweep % 2 == 0
        neighbours = net.left if forth else net.right
        for layer in net.layers if forth else reversed(net.layers):
            centre = {
                node: sum(place[n] for n in near) / len(near) if (near := neighbours[node]) else place[node]
                for node in layer
            }
            layer.sort(key=centre.__getitem__)
            for index, node in enumerate(layer):
                place[node] = index / max(len(layer), 1)
