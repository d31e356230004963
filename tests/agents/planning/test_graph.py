"""Circular dependencies, held against networkx."""

import networkx as nx
from hypothesis import given

from agents.planning.graph import MOST_CYCLES, find_cycles, needs_of, plan_order, shown_path
from agents.planning.model import PlanDraft
from tests.agents.planning.strategies import graph_of, plan_of, plans


def test_every_circle_begins_with_its_first_task_and_shares_none_with_another() -> None:
    found = find_cycles({"A": ["B"], "B": ["C"], "C": ["A"], "D": ["E"], "E": ["D", "A"], "F": ["F2"], "F2": []})
    assert found == [("A", "B", "C", "A"), ("D", "E", "D")]


def test_a_plan_of_nothing_but_circles_names_the_first_ones() -> None:
    needs = {f"{side}{n}": [f"{'B' if side == 'A' else 'A'}{n}"] for n in range(500) for side in "AB"}
    assert find_cycles(needs) == [(f"A{n}", f"B{n}", f"A{n}") for n in range(MOST_CYCLES)]


def test_a_long_circle_is_shortened_for_reading() -> None:
    path = [f"T-{n}" for n in range(100)]
    assert "… 76 more …" in shown_path(path)


def test_a_chain_as_deep_as_a_plan_may_be_is_no_problem() -> None:
    keys = [f"T-{n}" for n in range(5_000)]
    plan = plan_of({key: [keys[n - 1]] if n else [] for n, key in enumerate(keys)})
    assert find_cycles(needs_of(plan)) == []
    assert len(find_cycles({**needs_of(plan), keys[0]: (keys[-1],)})[0]) == 5_001


@given(plans())
def test_a_cycle_is_found_exactly_when_networkx_finds_one(plan: PlanDraft) -> None:
    graph = graph_of(plan)
    cycles = find_cycles(needs_of(plan))
    assert bool(cycles) == (not nx.is_directed_acyclic_graph(graph))
    knots = [c for c in nx.strongly_connected_components(graph) if len(c) > 1]
    seen = {key for path in cycles for key in path}
    assert len(cycles) >= MOST_CYCLES or all(knot & seen for knot in knots)
    assert len(seen) == sum(len(path) - 1 for path in cycles)
    for path in cycles:
        assert path[0] == path[-1]
        assert len(set(path)) == len(path) - 1
        assert nx.is_path(graph, list(path))


def test_the_order_of_a_plan_changes_only_where_a_need_asks_for_it() -> None:
    assert [*plan_order({"A": [], "B": ["A"], "C": [], "D": ["B"]})] == ["A", "B", "C", "D"]
    assert [*plan_order({"A": ["C"], "B": [], "C": []})] == ["B", "C", "A"]


@given(plans(acyclic=True))
def test_in_the_order_of_a_plan_every_task_comes_after_its_needs(plan: PlanDraft) -> None:
    needs, order = needs_of(plan), [*plan_order(needs_of(plan))]
    assert sorted(order) == sorted(needs)
    assert all(order.index(need) < order.index(key) for key in needs for need in needs[key])
