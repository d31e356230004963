"""The hash that an approval pins."""

from dataclasses import astuple, replace

from hypothesis import given
from hypothesis import strategies as st

from agents.planning.model import PlanDraft, PlanTask, content_hash
from tests.agents.planning.strategies import plans

A = PlanTask("A", "a", needs=("B", "C"))
B = PlanTask("B", "b")


def meaning(plan: PlanDraft) -> tuple[object, str]:
    """What a plan says: its tasks in no order, their lists as sets."""
    values = ((frozenset(value) if isinstance(value, tuple) else value for value in astuple(t)) for t in plan.tasks)
    return frozenset(map(tuple, values)), plan.notes


def test_order_says_nothing() -> None:
    assert content_hash(PlanDraft((A, B))) == content_hash(PlanDraft((B, replace(A, needs=("C", "B")))))


def test_a_changed_note_is_a_change() -> None:
    assert content_hash(PlanDraft((A,))) != content_hash(PlanDraft((A,), "hurry"))


def test_the_hash_of_a_plan_is_fixed_for_ever() -> None:
    assert content_hash(PlanDraft((A,), "é")) == "9c7fc136c5eb4e4d0a3e9418942d1ec2efe1d09b66709855c272bbcd35e4f5bd"


@given(plans(), st.randoms(use_true_random=False))
def test_a_plan_equals_itself_in_any_order(plan: PlanDraft, random: object) -> None:
    tasks = list(plan.tasks)
    random.shuffle(tasks)  # type: ignore[attr-defined]
    assert content_hash(plan) == content_hash(replace(plan, tasks=tuple(tasks)))


@given(plans(), plans())
def test_the_hash_differs_exactly_when_the_plans_do(old: PlanDraft, new: PlanDraft) -> None:
    assert (meaning(old) == meaning(new)) == (content_hash(old) == content_hash(new))
