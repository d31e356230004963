"""Variants by rule: what each does, and what none of them may lose."""

from collections import Counter
from dataclasses import replace

import networkx as nx
import pytest
from hypothesis import given

from agents.planning.model import PlanDraft, PlanTask
from agents.planning.parse import parse_plan
from agents.planning.rules import RULES, Rule, merge_chains, risk_first, risky, split, widen
from agents.planning.validate import validate_plan
from agents.planning.writers import order_writers, plain_path
from tests.agents.planning.strategies import graph_of, plan_of, plans_with_files

KINDS = {f"FR-{number}": "functional" for number in range(1, 6)}


def needs(plan: PlanDraft) -> dict[str, tuple[str, ...]]:
    return {task.key: task.needs for task in plan.tasks}


def of(*tasks: PlanTask) -> PlanDraft:
    return PlanDraft(tasks)


def test_a_chain_of_small_tasks_is_one_task_with_the_words_of_all() -> None:
    plan = plan_of({"A": [], "B": ["A"], "C": ["B"], "D": ["C"]}, {"A": 10, "B": 20, "C": 30, "D": 30})
    merged = merge_chains(plan)
    assert [(task.key, task.minutes, task.needs) for task in merged.tasks] == [("A", 60, ()), ("D", 30, ("A",))]
    assert merged.tasks[0].title == "Do A; Do B; Do C"


def test_a_task_that_several_wait_for_stays_on_its_own() -> None:
    plan = plan_of({"A": [], "B": ["A"], "C": ["A"]}, {"A": 10, "B": 10, "C": 10})
    assert merge_chains(plan) == plan


def test_tasks_of_different_agents_are_not_merged() -> None:
    plan = of(PlanTask("A", "A", minutes=5), PlanTask("B", "B", minutes=5, needs=("A",), agent="tester"))
    assert merge_chains(plan) == plan


def test_a_task_of_several_requirements_becomes_a_chain_that_others_wait_for_to_its_end() -> None:
    task = PlanTask("A", "A", minutes=25, requirements=("FR-1", "FR-2", "FR-3"), files=("a.py",), needs=("Z",))
    plan = split(of(PlanTask("Z", "Z"), task, PlanTask("B", "B", needs=("A",))))
    assert needs(plan) == {"Z": (), "Aa": ("Z",), "Ab": ("Aa",), "B": ("Ab",)}
    assert [(part.minutes, part.requirements) for part in plan.tasks[1:3]] == [(13, ("FR-1", "FR-3")), (12, ("FR-2",))]
    assert "only the part for FR-2" in plan.tasks[2].description


def test_a_part_takes_no_key_that_is_there() -> None:
    task = PlanTask("A", "A", minutes=20, requirements=("FR-1", "FR-2"), files=("a.py",))
    assert [one.key for one in split(of(task, PlanTask("Aa", "Other"))).tasks] == ["Aax", "Ab", "Aa"]


def test_a_need_stays_between_tasks_that_share_something_and_on_the_foundation() -> None:
    plan = of(
        PlanTask("base", "Skeleton", files=("app.py",)),
        PlanTask("tables", "Tables", needs=("base",), files=("store.py",)),
        PlanTask("page", "Page", needs=("tables",), files=("page.py",)),
        PlanTask("list", "List from the store", needs=("page",), files=("list.py",)),
    )
    assert needs(widen(plan)) == {"base": (), "tables": ("base",), "page": ("base",), "list": ("tables",)}


def test_a_shared_requirement_keeps_the_order_that_a_dropped_need_carried() -> None:
    plan = of(
        PlanTask("A", "A", requirements=("FR-1",)),
        PlanTask("B", "B", needs=("A",), requirements=("FR-2",)),
        PlanTask("C", "C", needs=("B",), requirements=("FR-1",)),
        PlanTask("D", "D"),
    )
    assert needs(widen(plan)) == {"A": (), "B": (), "C": ("A",), "D": ()}


def test_the_risky_tasks_come_before_all_that_they_do_not_need() -> None:
    plan = of(
        PlanTask("easy", "Easy", files=("a.py",), expects="x"),
        PlanTask("under", "Under", files=("b.py",), expects="x"),
        PlanTask("odd", "Odd", packages=("torch", "onnx"), needs=("under",)),
        PlanTask("last", "Last", files=("c.py",), expects="x"),
    )
    assert risky(plan) == ["odd"]
    assert needs(risk_first(plan)) == {"easy": ("odd",), "under": (), "odd": ("under",), "last": ("odd",)}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
@given(plan=plans_with_files())
def test_no_variant_loses_a_requirement_a_file_or_a_package_or_closes_a_circle(rule: Rule, plan: PlanDraft) -> None:
    plan = order_writers(plan)[0]
    variant = rule.apply(plan)
    assert nx.is_directed_acyclic_graph(graph_of(variant))
    for name, read in (("requirements", str), ("files", plain_path), ("packages", str)):
        before, after = ({read(one) for task in each.tasks for one in getattr(task, name)} for each in (plan, variant))
        assert before == after, name
    assert sum(task.minutes for task in variant.tasks) == sum(task.minutes for task in plan.tasks)
    assert parse_plan(variant.to_json()) == (variant, [])
    before, after = (Counter(problem.code for problem in validate_plan(each, KINDS)) for each in (plan, variant))
    assert {code for code in after if after[code] > before[code]} <= {"no_requirement"}  # a warning
    assert order_writers(variant) == (variant, [])


@pytest.mark.parametrize("rule", [rule for rule in RULES if not rule.loosens], ids=lambda rule: rule.name)
@given(plan=plans_with_files())
def test_what_came_before_a_requirement_comes_before_it_still(rule: Rule, plan: PlanDraft) -> None:
    """Each task gets a requirement of its own, by which it is found again in a variant that keeps the order."""
    marked = tuple(replace(task, requirements=(f"R-{task.key}",)) for task in plan.tasks)
    plan = order_writers(replace(plan, tasks=marked))[0]
    variant = rule.apply(plan)
    graph, place = graph_of(variant), {key: task.key for task in variant.tasks for key in task.requirements}
    for task in plan.tasks:
        for need in task.needs:
            assert nx.has_path(graph, place[f"R-{task.key}"], place[f"R-{need}"])
