"""Where the cards of a task graph stand, and the curves between them: layers from left to right, few crossings.

Computed on the server, once per plan: pure, deterministic, and harmless for graphs with circles.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

CARD_WIDTH, CARD_HEIGHT = 240, 72
_GAP_X, _GAP_Y = 80, 24
_LANE = 14  # height of the lane in which a long edge passes other cards
_MARGIN = 24
_SWEEPS = 4
# Lanes for all long edges of a huge dense graph would cost more than they show.
_MAX_LANES = 2_500

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Layout:
    """Sizes in CSS pixels. `boxes`: key → x, y, width, height. `edges`: from, to, and the `d` of an SVG path."""

    width: float
    height: float
    boxes: dict[str, Box] = field(default_factory=dict)
    edges: list[tuple[str, str, str]] = field(default_factory=list)


@dataclass(slots=True)
class _Net:
    """Cards and lanes as numbers: `layers` hold them in order, `left` and `right` their neighbours."""

    layers: list[list[int]]
    left: list[list[int]]
    right: list[list[int]]
    height: list[int]
    y: list[float]


def layout(nodes: Sequence[str], edges: Iterable[tuple[str, str]]) -> Layout:
    """Place `nodes`; an edge (a, b) says that a comes before b. Edges to unknown nodes and to oneself are left out."""
    keys = list(dict.fromkeys(nodes))
    if not keys:
        return Layout(0, 0)
    number = {key: index for index, key in enumerate(keys)}
    pairs = list(dict.fromkeys((number[a], number[b]) for a, b in edges if a in number and b in number and a != b))
    depth, drawn_back = _depths(len(keys), pairs)
    net, routes = _net(len(keys), depth, [p for p in pairs if p not in drawn_back])
    _reduce_crossings(net)
    _place(net)
    top = min(net.y)
    boxes = {
        key: (
            float(_MARGIN + depth[i] * (CARD_WIDTH + _GAP_X)),
            round(net.y[i] - top + _MARGIN, 1),
            float(CARD_WIDTH),
            float(CARD_HEIGHT),
        )
        for i, key in enumerate(keys)
    }
    columns = max(depth) + 1
    bottom = max(net.y[i] - top + net.height[i] for layer in net.layers for i in layer)
    lanes = {
        pair: [(depth[pair[0]] + 1 + k, net.y[i] - top + _MARGIN + _LANE / 2) for k, i in enumerate(route)]
        for pair, route in routes.items()
    }
    return Layout(
        width=float(2 * _MARGIN + columns * CARD_WIDTH + (columns - 1) * _GAP_X),
        height=round(bottom + 2 * _MARGIN, 1),
        boxes=boxes,
        edges=[(keys[a], keys[b], _path(boxes[keys[a]], boxes[keys[b]], lanes.get((a, b), []))) for a, b in pairs],
    )


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
    net = _Net(layers, [[] for _ in range(size)], [[] for _ in range(size)], [CARD_HEIGHT] * count, [0.0] * size)
    net.height += [_LANE] * (size - count)
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


def _place(net: _Net) -> None:
    """Stack every layer, then let each node drift to its neighbours without passing or touching the next one."""
    for layer in net.layers:
        y = 0.0
        for node in layer:
            net.y[node] = y
            y += net.height[node] + _GAP_Y
        shift = (y - _GAP_Y) / 2
        for node in layer:
            net.y[node] -= shift
    for sweep in range(_SWEEPS):
        forth = sweep % 2 == 0
        neighbours = net.left if forth else net.right
        for layer in net.layers if forth else reversed(net.layers):
            wanted = []
            for node in layer:
                near = neighbours[node]
                middle = sum(net.y[n] + net.height[n] / 2 for n in near) / len(near) if near else None
                wanted.append(net.y[node] if middle is None else middle - net.height[node] / 2)
            _spread(net, layer, wanted)


def _spread(net: _Net, layer: list[int], wanted: list[float]) -> None:
    """Place a layer as near to `wanted` as its order and gaps allow: neighbours that collide move as one group."""
    groups: list[tuple[float, int, float]] = []  # sum of (wanted - offset), members, total height with gaps
    for node, want in zip(layer, wanted, strict=True):
        group = (want, 1, float(net.height[node] + _GAP_Y))
        while groups and groups[-1][0] / groups[-1][1] + groups[-1][2] > group[0] / group[1]:
            total, members, tall = groups.pop()
            group = (total + group[0] - group[1] * tall, members + group[1], tall + group[2])
        groups.append(group)
    nodes = iter(layer)
    for total, members, _ in groups:
        y = total / members
        for _ in range(members):
            node = next(nodes)
            net.y[node] = y
            y += net.height[node] + _GAP_Y


def _path(start: Box, end: Box, lanes: list[tuple[int, float]]) -> str:
    """From the right side of one card to the left side of another, through its lanes, in cubic curves."""
    x, y = start[0] + start[2], start[1] + start[3] / 2
    parts = [f"M{_n(x)} {_n(y)}"]
    for column, lane_y in lanes:
        left = _MARGIN + column * (CARD_WIDTH + _GAP_X)
        parts.append(_curve(x, y, left, lane_y))
        x, y = left + CARD_WIDTH, lane_y
        parts.append(f"H{_n(x)}")
    parts.append(_curve(x, y, end[0], end[1] + end[3] / 2))
    return "".join(parts)


def _curve(x1: float, y1: float, x2: float, y2: float) -> str:
    reach = max(abs(x2 - x1) / 2, _GAP_X / 2)
    return f"C{_n(x1 + reach)} {_n(y1)} {_n(x2 - reach)} {_n(y2)} {_n(x2)} {_n(y2)}"


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
