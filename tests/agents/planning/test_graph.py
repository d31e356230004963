"""Cycles, layers and the critical path, held against networkx."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given

from agents.planning import PlanCycle, PlanDraft, critical_path, topological_layers
from agents.planning.graph import MOST_CYCLES, find_cycles, needs_of, shown_path
from tests.agents.planning.strategies import graph_of, plan_of, plans


def test_a_cycle_is_named() -> None:
    with pytest.raises(PlanCycle, match="A → B → A") as caught:
        topological_layers(plan_of({"A": ["B"], "B": ["A"], "C": []}))
    assert caught.value.path == ("A", "B", "A")


def test_every_circle_begins_with_its_first_task_and_shares_none_with_another() -> None:
    found = find_cycles({"A": ["B"], "B": ["C"], "C": ["A"], "D": ["E"], "E": ["D", "A"], "F": ["F2"], "F2": []})
    assert found == [("A", "B", "C", "A"), ("D", "E", "D")]


def test_a_plan_of_nothing_but_circles_names_the_first_ones() -> None:
    needs = {f"{side}{n}": [f"{'B' if side == 'A' else 'A'}{n}"] for n in range(500) for side in "AB"}
    assert find_cycles(needs) == [(f"A{n}", f"B{n}", f"A{n}") for n in range(MOST_CYCLES)]


def test_a_long_circle_is_shortened_for_reading() -> None:
    path = [f"T-{n}" for n in range(100)]
    assert "… 76 more …" in shown_path(path)


def test_layers_stand_one_after_the_last_need() -> None:
    plan = plan_of({"C": ["A", "B"], "A": [], "B": ["A"], "D": ["A", "nowhere"]})
    assert topological_layers(plan) == [["A"], ["B", "D"], ["C"]]


def test_the_critical_path_counts_minutes_not_tasks() -> None:
    plan = plan_of({"A": [], "B": ["A"], "C": ["B"], "D": []}, {"A": 5, "B": 5, "C": 5, "D": 40})
    assert critical_path(plan).keys == ("D",)
    assert critical_path(plan).minutes == 40


def test_an_empty_plan_has_no_layers_and_no_path() -> None:
    assert topological_layers(PlanDraft()) == []
    assert critical_path(PlanDraft()).keys == ()


def test_a_chain_as_deep_as_a_plan_may_be_is_no_problem() -> None:
    keys = [f"T-{n}" for n in range(5_000)]
    plan = plan_of({key: [keys[n - 1]] if n else [] for n, key in enumerate(keys)})
    assert len(topological_layers(plan)) == 5_000
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


@given(plans(acyclic=True))
def test_layers_are_those_of_networkx(plan: PlanDraft) -> None:
    generations = [set(layer) for layer in nx.topological_generations(graph_of(plan).reverse())]
    assert [set(layer) for layer in topological_layers(plan)] == generations


@given(plans(acyclic=True))
def test_the_critical_path_is_as_long_as_the_longest_of_networkx(plan: PlanDraft) -> None:
    minutes = {task.key: task.minutes for task in plan.tasks}
    weighted: nx.DiGraph = nx.DiGraph()
    weighted.add_nodes_from(f"{key}{end}" for key in minutes for end in "<>")
    weighted.add_weighted_edges_from((f"{key}<", f"{key}>", amount) for key, amount in minutes.items())
    weighted.add_weighted_edges_from((f"{need}>", f"{t.key}<", 0) for t in plan.tasks for need in t.needs)
    found = critical_path(plan)
    assert found.minutes == nx.dag_longest_path_length(weighted)
    assert found.minutes == sum(minutes[key] for key in found.keys)
    assert nx.is_path(graph_of(plan).reverse(), list(found.keys))
