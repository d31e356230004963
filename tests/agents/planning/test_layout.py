"""The drawing of a plan: cards never overlap, edges lead right, the same plan gives the same picture."""

from __future__ import annotations

import json
import re
from dataclasses import asdict

from hypothesis import given
from hypothesis import strategies as st

from agents.planning.layout import CARD_HEIGHT, CARD_WIDTH, Layout, layout
from agents.planning.model import PlanDraft
from tests.agents.planning.strategies import plans

_PATH = re.compile(r"^M-?[\d.]+ -?[\d.]+(?:C(?:-?[\d.]+ ){5}-?[\d.]+|H-?[\d.]+)+$")


def drawn(plan: PlanDraft) -> Layout:
    return layout([t.key for t in plan.tasks], [(need, t.key) for t in plan.tasks for need in t.needs])


def test_a_chain_runs_from_left_to_right_on_one_line() -> None:
    found = layout(["A", "B", "C"], [("A", "B"), ("B", "C")])
    boxes = [found.boxes[key] for key in "ABC"]
    assert [box[2:] for box in boxes] == [(CARD_WIDTH, CARD_HEIGHT)] * 3
    assert boxes[0][0] < boxes[1][0] < boxes[2][0]
    assert len({box[1] for box in boxes}) == 1
    x, y, width, height = boxes[0]
    assert found.edges[0][2].startswith(f"M{x + width:g} {y + height / 2:g}C")


def test_nothing_is_drawn_as_nothing() -> None:
    assert layout([], [("A", "B")]) == Layout(0, 0)


def test_crossings_that_can_be_avoided_are_avoided() -> None:
    found = layout(["A", "B", "C", "D"], [("A", "D"), ("B", "C")])
    over = found.boxes["A"][1] < found.boxes["B"][1]
    assert (found.boxes["D"][1] < found.boxes["C"][1]) == over


def test_a_long_edge_passes_between_the_cards() -> None:
    found = layout(["A", "B", "C"], [("A", "B"), ("B", "C"), ("A", "C")])
    path = next(d for a, b, d in found.edges if (a, b) == ("A", "C"))
    lane = float(path.split("H")[0].split()[-1])
    top = found.boxes["B"][1]
    assert not top <= lane <= top + CARD_HEIGHT


def test_unknown_ends_and_loops_are_left_out() -> None:
    found = layout(["A", "A", "B"], [("A", "A"), ("A", "X"), ("A", "B"), ("A", "B")])
    assert [(a, b) for a, b, _ in found.edges] == [("A", "B")]


def test_a_circle_is_still_drawn() -> None:
    found = layout(["A", "B"], [("A", "B"), ("B", "A")])
    assert len(found.edges) == 2
    assert found.boxes["A"][0] < found.boxes["B"][0]


def test_a_thousand_tasks_with_a_hundred_thousand_edges_are_drawn() -> None:
    keys = [f"T-{n}" for n in range(1_000)]
    edges = [(keys[m], key) for n, key in enumerate(keys) for m in range(max(0, n - 100), n)]
    assert len(layout(keys, edges).edges) == len(edges)


@given(plans())
def test_cards_never_overlap_and_stay_inside(plan: PlanDraft) -> None:
    found = drawn(plan)
    boxes = list(found.boxes.values())
    assert len(boxes) == len(plan.tasks)
    for index, (x, y, width, height) in enumerate(boxes):
        assert x >= 0
        assert y >= 0
        assert x + width <= found.width
        assert y + height <= found.height
        for other in boxes[index + 1 :]:
            assert other[0] >= x + width or x >= other[0] + width or abs(other[1] - y) >= CARD_HEIGHT
    assert all(_PATH.match(d) for _, _, d in found.edges)


@given(plans(acyclic=True))
def test_every_need_stands_to_the_left(plan: PlanDraft) -> None:
    found = drawn(plan)
    for before, after, _ in found.edges:
        assert found.boxes[before][0] < found.boxes[after][0]


@given(plans(), st.just(2))
def test_the_same_plan_gives_the_same_picture(plan: PlanDraft, times: int) -> None:
    assert len({json.dumps(asdict(drawn(plan))) for _ in range(times)}) == 1
