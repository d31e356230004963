"""What changed between two plans, and the hash that an approval pins."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from agents.planning import PlanDraft, PlanTask, content_hash, diff_plans
from tests.agents.planning.strategies import plans

A = PlanTask("A", "a", needs=("B", "C"))
B = PlanTask("B", "b")


def test_added_removed_and_changed_tasks_are_told_apart() -> None:
    diff = diff_plans(
        PlanDraft((A, B)), PlanDraft((replace(A, minutes=5, title="x"), PlanTask("C", "c"), PlanTask("D", "d")))
    )
    assert [t.key for t in diff.added] == ["C", "D"]
    assert [t.key for t in diff.removed] == ["B"]
    assert [(c.new.key, c.fields) for c in diff.changed] == [("A", ("title", "minutes"))]
    assert diff.summary == "+2 −1 ~1"


def test_order_says_nothing() -> None:
    old, new = PlanDraft((A, B)), PlanDraft((B, replace(A, needs=("C", "B"))))
    assert diff_plans(old, new).is_empty
    assert content_hash(old) == content_hash(new)


def test_a_changed_note_is_a_change() -> None:
    diff = diff_plans(PlanDraft((A,)), PlanDraft((A,), "hurry"))
    assert diff.notes_changed
    assert diff.summary == "notes"
    assert content_hash(PlanDraft((A,))) != content_hash(PlanDraft((A,), "hurry"))


def test_the_hash_of_a_plan_is_fixed_for_ever() -> None:
    assert content_hash(PlanDraft((A,), "é")) == "9c7fc136c5eb4e4d0a3e9418942d1ec2efe1d09b66709855c272bbcd35e4f5bd"


@given(plans(), st.randoms(use_true_random=False))
def test_a_plan_equals_itself_in_any_order(plan: PlanDraft, random: object) -> None:
    tasks = list(plan.tasks)
    random.shuffle(tasks)  # type: ignore[attr-defined]
    shuffled = replace(plan, tasks=tuple(tasks))
    assert diff_plans(plan, shuffled).is_empty
    assert content_hash(plan) == content_hash(shuffled)


@given(plans(), plans())
def test_the_hash_differs_exactly_when_the_plans_do(old: PlanDraft, new: PlanDraft) -> None:
    assert diff_plans(old, new).is_empty == (content_hash(old) == content_hash(new))
