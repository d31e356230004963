"""The demo's answers come from a user of its own, one at a time, and go on after a crash."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model

from aiswe_site.demo import result, story
from projects.models import Plan, RequirementDocument, Run
from projects.services.planning import documents, plans, runs
from tests.factories import plan_content

pytestmark = pytest.mark.django_db

REQUIREMENTS: list[dict[str, Any]] = [
    {"key": "FR-01", "text": "It shall work.", "kind": "functional", "lines": [1, 1], "acceptance": []}
]
PLAN = plan_content({"T-01": []})
PLAN["tasks"][0]["requirements"] = ["FR-01"]


def reach_extraction(planning: Run) -> RequirementDocument:
    assert planning.document is not None
    documents.record_extraction(planning.document, REQUIREMENTS, [])
    return RequirementDocument.objects.get(pk=planning.document.pk)


def test_a_demo_is_a_recording_and_says_so() -> None:
    planning = story.begin()
    assert planning.recording
    assert planning.project.is_recording
    assert planning.status == Run.Status.QUEUED
    assert story.open_demos() == [planning]


def test_nobody_can_sign_in_as_the_demo_s_architect() -> None:
    story.begin()
    assert not get_user_model().objects.get(username=story.ARCHITECT).has_usable_password()


def test_the_person_who_asked_may_watch_and_steer_but_approves_nothing() -> None:
    from projects.services.accounts.rights import can

    viewer = get_user_model().objects.create_user("vera")
    planning = story.begin(viewer)
    assert can(viewer, planning.project, "run.control")
    assert not can(viewer, planning.project, "plan.approve")


def test_before_there_is_anything_to_answer_nothing_happens() -> None:
    planning = story.begin()
    story.advance(planning)
    assert RequirementDocument.objects.get().status != RequirementDocument.Status.CONFIRMED
    assert not Plan.objects.exists()


def test_requirements_are_confirmed_then_the_plan_is_approved_and_built_once() -> None:
    planning = story.begin()
    document = reach_extraction(planning)
    planning.refresh_from_db()
    story.advance(planning)
    document.refresh_from_db()
    assert document.status == RequirementDocument.Status.CONFIRMED

    plan = plans.propose_plan(document, content=PLAN)
    for again in story.open_demos():
        story.advance(again)
    plan.refresh_from_db()
    build = story.build_of(planning)
    assert plan.status == Plan.Status.APPROVED
    assert plan.decided_by is not None
    assert plan.decided_by.username == story.ARCHITECT
    assert build is not None
    assert story.open_demos() == []

    story.advance(Run.objects.select_related("document").get(pk=planning.pk))
    assert Run.objects.filter(kind=Run.Kind.BUILD).count() == 1


def test_after_a_crash_between_approval_and_build_the_build_still_begins() -> None:
    planning = story.begin()
    document = reach_extraction(planning)
    documents.confirm_requirements(document, by=story.architect())
    plan = plans.propose_plan(document, content=PLAN)
    plans.approve_plan(plan, content_hash=plan.content_hash, by=story.architect())
    (waiting,) = story.open_demos()
    story.advance(waiting)
    assert story.build_of(planning) is not None


def test_a_cancelled_demo_is_left_alone() -> None:
    planning = story.begin()
    runs.cancel_run(planning, by=story.architect())
    assert story.open_demos() == []


def test_two_demos_do_not_disturb_each_other() -> None:
    first, second = story.begin(), story.begin()
    assert first.project_id != second.project_id
    assert {run.pk for run in story.open_demos()} == {first.pk, second.pk}


def test_a_run_that_did_not_finish_is_no_success() -> None:
    planning = story.begin()
    assert not result.all_merged(planning)
    runs.cancel_run(planning, by=story.architect())
    assert "cancelled" in result.standstill(result.newest_run(planning))


def test_the_summary_has_exactly_the_documented_fields() -> None:
    summary = result.summary(story.begin(), 1.25)
    assert list(summary) == "run status tasks repairs findings tests repository audit seconds".split()
    assert summary["audit"] == {"verified": True, "events": 1}
    assert set(summary["tasks"]) == {"merged", "escalated"}
