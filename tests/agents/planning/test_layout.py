"""The drawing of a plan: cards never overlap, edges lead right, the same plan gives the same picture."""

import json
import re
from dataclasses import asdict

from hypothesis import given
from hypothesis import strategies as st

from agents.planning.layout import Layout, Sizes, grid, layout
from agents.planning.model import PlanDraft
from tests.agents.planning.strategies import plans

_PATH = re.compile(r"^M-?[\d.]+ -?[\d.]+(?:C(?:-?[\d.]+ ){5}-?[\d.]+|H-?[\d.]+)+$")


SIZES = Sizes(width=240, height=72, gap_x=80, gap_y=24, lane=14, margin=24)


def placed(keys: list[str], edges: list[tuple[str, str]]) -> Layout:
    return layout(grid(keys, edges), SIZES)


def drawn(plan: PlanDraft) -> Layout:
    return placed([t.key for t in plan.tasks], [(need, t.key) for t in plan.tasks for need in t.needs])


def test_a_chain_runs_from_left_to_right_on_one_line() -> None:
    found = placed(["A", "B", "C"], [("A", "B"), ("B", "C")])
    assert [found.places[key] for key in "ABC"] == [(24, 24), (344, 24), (664, 24)]
    assert found.edges[0] == ("A", "B", "M264 60H342")
    assert (found.width, found.height) == (928, 120)


def test_nothing_is_drawn_as_nothing() -> None:
    assert placed([], [("A", "B")]) == Layout(0, 0)


def test_crossings_that_can_be_avoided_are_avoided() -> None:
    found = placed(["A", "B", "C", "D"], [("A", "D"), ("B", "C")])
    over = found.places["A"][1] < found.places["B"][1]
    assert (found.places["D"][1] < found.places["C"][1]) == over


def test_a_long_edge_passes_between_the_cards() -> None:
    found = placed(["A", "B", "C"], [("A", "B"), ("B", "C"), ("A", "C")])
    path = next(d for a, b, d in found.edges if (a, b) == ("A", "C"))
    lane = float(path.split("H")[0].split()[-1])
    top = found.places["B"][1]
    assert not top <= lane <= top + SIZES.height


def test_unknown_ends_and_loops_are_left_out() -> None:
    found = placed(["A", "A", "B"], [("A", "A"), ("A", "X"), ("A", "B"), ("A", "B")])
    assert [(a, b) for a, b, _ in found.edges] == [("A", "B")]


def test_a_circle_is_still_drawn() -> None:
    found = placed(["A", "B"], [("A", "B"), ("B", "A")])
    assert len(found.edges) == 2
    assert found.places["A"][0] < found.places["B"][0]


def test_a_thousand_tasks_with_a_hundred_thousand_edges_are_drawn() -> None:
    keys = [f"T-{n}" for n in range(1_000)]
    edges = [(keys[m], key) for n, key in enumerate(keys) for m in range(max(0, n - 100), n)]
    assert len(placed(keys, edges).edges) == len(edges)


@given(plans())
def test_cards_never_overlap_and_stay_inside(plan: PlanDraft) -> None:
    found = drawn(plan)
    places = list(found.places.values())
    assert len(places) == len(plan.tasks)
    for index, (x, y) in enumerate(places):
        assert 0 <= x <= found.width - SIZES.width
        assert 0 <= y <= found.height - SIZES.height
        for other in places[index + 1 :]:
            assert abs(other[0] - x) >= SIZES.width or abs(other[1] - y) >= SIZES.height
    assert all(_PATH.match(d) for _, _, d in found.edges)


@given(plans(acyclic=True))
def test_every_need_stands_to_the_left(plan: PlanDraft) -> None:
    found = drawn(plan)
    for before, after, _ in found.edges:
        assert found.places[before][0] < found.places[after][0]


@given(plans(), st.just(2))
def test_the_same_plan_gives_the_same_picture(plan: PlanDraft, times: int) -> None:
    assert len({json.dumps(asdict(drawn(plan))) for _ in range(times)}) == 1
