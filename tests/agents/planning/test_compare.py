"""Which of several plans is recommended, and why."""

from dataclasses import replace

from agents.planning.compare import Measures, Variant, different, drafts_of, measure, recommend
from agents.planning.model import PlanDraft, PlanTask
from agents.planning.writers import order_writers
from tests.agents.planning.strategies import plan_of

PLAN = plan_of({"A": [], "B": ["A"], "C": ["A"]}, {"A": 10, "B": 20, "C": 60})


def variant(
    name: str, makespan: int, *, work: int = 150, covered: int = 5, loosens: bool = False, valid: bool = True
) -> Variant:
    measures = Measures(makespan, work, 3, 60, 10, 2, 2, covered, 0) if valid else None
    return Variant(name, "", PLAN, name, loosens=loosens, measures=measures)


CURRENT = variant("current", 100)


def test_the_measures_of_a_plan() -> None:
    assert measure(PLAN, 1, {"FR-1", "FR-2"}) == Measures(
        makespan=90, work=90, tasks=3, longest_task=60, risk_done=10, depth=2, width=2, covered=1, unordered=0
    )
    assert measure(PLAN, 2, set()).makespan == 70


def test_writers_of_one_file_without_an_order_are_counted() -> None:
    plan = PlanDraft(tuple(PlanTask(key, key, files=("a.py",)) for key in "ABC"))
    assert measure(plan, 3, set()).unordered == 2
    assert measure(order_writers(plan)[0], 3, set()).unordered == 0


def test_the_current_plan_comes_first_and_no_plan_twice() -> None:
    plan = plan_of({"A": [], "B": ["A"]}, {"A": 10, "B": 20})
    found = drafts_of(plan)
    assert found[0].plan == plan
    assert len({one.digest for one in found}) == len(found) > 1
    same = replace(variant("same", 1), digest=CURRENT.digest)
    assert different([CURRENT, variant("other", 1), same]) == [CURRENT, variant("other", 1)]


def test_the_shortest_variant_is_recommended_with_what_it_saves() -> None:
    best, why = recommend([CURRENT, variant("slow", 120), variant("fast", 80)])
    assert best.name == "fast"
    assert why == (
        "fast takes 80 minutes for 150 minutes of work; the current plan takes 100 for 150. "
        "It covers the same requirements."
    )


def test_a_plan_of_smaller_estimates_is_not_better_for_them_alone() -> None:
    assert recommend([CURRENT, variant("optimist", 50, work=75)])[0] == CURRENT
    assert recommend([CURRENT, variant("wider", 110, work=200)])[0].name == "wider"


def test_the_current_plan_stays_where_nothing_is_clearly_shorter() -> None:
    assert recommend([CURRENT, variant("a little", 96)])[0] == CURRENT
    assert recommend([CURRENT])[0] == CURRENT


def test_a_variant_that_covers_less_or_is_not_valid_is_never_recommended() -> None:
    others = [variant("less", 10, covered=4), variant("broken", 10, valid=False)]
    assert recommend([CURRENT, *others])[0] == CURRENT


def test_a_variant_that_drops_needs_is_named_but_not_recommended() -> None:
    best, why = recommend([CURRENT, variant("widest", 50, loosens=True)])
    assert best == CURRENT
    assert "widest would take 50, but it drops needs: look first at which ones." in why
