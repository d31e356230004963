"""A plan that may be approved has no problem; every other one hears all that is wrong with it."""

from dataclasses import replace

import pytest
from hypothesis import given

from agents.planning.model import PlanDraft, PlanProblem, PlanTask
from agents.planning.validate import PlanLimits, validate_plan
from tests.agents.planning.strategies import graph_of, plan_of, plans
from tests.tables import each_row

FINE = PlanTask(
    "T-01", "Write router", "…", requirements=("FR-1",), expects="routes answer", files=("app/router.py",), minutes=60
)
REQUIREMENTS = {"FR-1": "functional"}


def problems_of(*tasks: PlanTask, requirements: dict[str, str] | None = None) -> dict[str, PlanProblem]:
    return {p.code: p for p in validate_plan(PlanDraft(tasks), REQUIREMENTS if requirements is None else requirements)}


def test_a_sound_plan_has_no_problems() -> None:
    assert problems_of(FINE, replace(FINE, key="T-02", needs=("T-01",))) == {}


def test_an_empty_plan_is_refused() -> None:
    assert list(problems_of()) == ["empty_plan"]


def test_a_cycle_is_named_with_its_tasks() -> None:
    found = problems_of(replace(FINE, key="A", needs=("B",)), replace(FINE, key="B", needs=("A",)))
    assert "A → B → A" in found["cycle"].message
    assert found["cycle"].task_keys == ("A", "B")


@each_row(
    ("change", "code", "said"),
    [
        ({"needs": ("T-01",)}, "self_dependency", "needs itself"),
        ({"needs": ("T-99",)}, "dangling_need", "T-99"),
        ({"requirements": ("FR-1", "FR-9")}, "unknown_requirement", "FR-9"),
        ({"minutes": 61}, "too_long", "61 minutes; the limit is 60"),
        ({"minutes": 0}, "bad_minutes", "0 minutes"),
        ({"kind": "poem"}, "unknown_kind", "poem"),
        ({"files": ("../etc/passwd",)}, "bad_path", "../etc/passwd"),
        ({"files": ("/etc/passwd",)}, "bad_path", "/etc/passwd"),
        ({"files": ("C:\\x",)}, "bad_path", "C:"),
        ({"key": " "}, "no_key", "no key"),
    ],
)
def test_what_is_wrong_with_a_task_is_an_error_that_names_it(change: dict[str, object], code: str, said: str) -> None:
    found = problems_of(replace(FINE, **change))  # type: ignore[arg-type]
    assert list(found) == [code]
    assert said in found[code].message
    assert found[code].severity == "error"
    assert found[code].task_keys == (change.get("key", "T-01"),)


def test_one_key_for_two_tasks_is_an_error() -> None:
    assert problems_of(FINE, FINE)["duplicate_key"].task_keys == ("T-01",)


@pytest.mark.parametrize("kind", ["functional", "non_functional", "story"])
def test_what_must_be_built_must_be_covered(kind: str) -> None:
    found = problems_of(FINE, requirements={**REQUIREMENTS, "X-1": kind})
    assert "X-1" in found["uncovered_requirement"].message
    assert found["uncovered_requirement"].severity == "error"


@pytest.mark.parametrize("kind", ["goal", "constraint", "acceptance"])
def test_goals_and_constraints_only_warn(kind: str) -> None:
    assert problems_of(FINE, requirements={**REQUIREMENTS, "X-1": kind})["uncovered_requirement"].severity == "warning"


def test_non_goals_need_no_task_and_warn_when_they_get_one() -> None:
    requirements = {**REQUIREMENTS, "NG-1": "non_goal"}
    assert problems_of(FINE, requirements=requirements) == {}
    planned = problems_of(replace(FINE, requirements=("FR-1", "NG-1")), requirements=requirements)
    assert planned["plans_non_goal"].severity == "warning"


def test_tasks_without_requirement_or_expectation_warn() -> None:
    found = problems_of(FINE, replace(FINE, key="T-02", requirements=(), expects="", files=()))
    assert {p.severity for p in found.values()} == {"warning"}
    assert set(found) == {"no_requirement", "no_expectation"}


def test_errors_come_before_warnings() -> None:
    severities = [p.severity for p in validate_plan(PlanDraft((replace(FINE, expects="", minutes=99),)), REQUIREMENTS)]
    assert severities == ["error", "warning"]


def test_limits_are_named_with_figures() -> None:
    many = PlanDraft(tuple(replace(FINE, key=f"T-{n}") for n in range(1_001)))
    (problem,) = validate_plan(many, REQUIREMENTS)
    assert "1,001 tasks; the limit is 1,000" in problem.message
    (problem,) = validate_plan(plan_of({"A": ["B", "C"]}), REQUIREMENTS, PlanLimits(max_needs=1))
    assert problem.code == "too_many_needs"


def test_a_thoroughly_broken_plan_stays_readable() -> None:
    tasks = tuple(replace(FINE, key=f"T-{n}", minutes=999, needs=("gone",), files=()) for n in range(1_000))
    found = validate_plan(PlanDraft(tasks), REQUIREMENTS)
    assert len(found) == 102
    assert sum("950 more of the same" in p.message for p in found) == 2


def test_a_thousand_tasks_with_a_hundred_thousand_needs_are_checked() -> None:
    keys = [f"T-{n:03d}" for n in range(1_000)]
    plan = plan_of({key: keys[max(0, n - 100) : n] for n, key in enumerate(keys)})
    assert sum(len(t.needs) for t in plan.tasks) > 90_000
    assert validate_plan(plan, REQUIREMENTS) == []


@given(plans())
def test_a_graph_is_valid_exactly_when_it_has_no_circle(plan: PlanDraft) -> None:
    import networkx as nx

    codes = {p.code for p in validate_plan(plan, REQUIREMENTS)}
    assert codes == (set() if nx.is_directed_acyclic_graph(graph_of(plan)) else {"cycle"})


def test_what_is_built_needs_no_task_and_what_was_removed_needs_one() -> None:
    kinds = {"FR-1": "functional", "FR-2": "functional", "FR-3": "removed"}
    found = validate_plan(PlanDraft((FINE,)), kinds, built={"FR-2"})
    assert [problem.message for problem in found] == [
        "No task removes what requirement FR-3 asked for. A task that names FR-3 must."
    ]
    removing = replace(FINE, key="T-02", requirements=("FR-3",), files=())
    assert not validate_plan(PlanDraft((FINE, removing)), kinds, built={"FR-2"})
