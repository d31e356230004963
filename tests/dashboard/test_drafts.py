"""The draft of a plan on its pages: forms alone, checks after every edit, one version at the end."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from projects.models import Plan, PlanEdits
from projects.services.planning import plan_drafts
from projects.services.planning.plan_edits import tasks_of
from tests.dashboard.story import Story
from tests.factories import make_user
from tests.texts import shows

pytestmark = pytest.mark.django_db


def where(plan: Plan, name: str = "plan-draft", *more: str) -> str:
    return reverse(name, args=[plan.pk, *more])


def read(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def test_edits_by_forms_become_one_version(owner: Client, story: Story) -> None:
    plan = story.waiting_plan
    assert where(plan) in read(owner, reverse("plan", args=[plan.project_id]))
    assert "No edits on v1 yet" in read(owner, where(plan))
    parts = {"title": "A", "minutes": 10, "requirements": ["FR-01"]}
    second = {"second_title": "B", "second_minutes": 20, "second_requirements": ["FR-02"]}
    assert owner.post(where(plan, "plan-split", "T-01"), parts | second)["Location"] == where(plan)
    more = {"title": "Write the docs", "minutes": "15", "requirements": ["FR-02"], "needs": ["T-02"]}
    assert owner.post(where(plan, "plan-add"), more).status_code == 302
    changed = {"title": "Other", "minutes": "25", "requirements": ["FR-02"], "needs": ["T-03"], "into": "draft"}
    assert owner.post(where(plan, "plan-task", "T-02"), changed).status_code == 302
    for data in ({"do": "up", "key": "T-04"}, {"do": "join", "key": "T-02", "other": "T-04"}):
        assert owner.post(where(plan), data).status_code == 302
    text = read(owner, where(plan))
    shows(text, "5 edits on v1, not saved yet", "Save 5 edits as v2")
    assert "v1 →" not in read(owner, reverse("plan", args=[plan.project_id])), "the plan is as it was"
    owner.post(where(plan), {"do": "save", "seen": "5", "comment": "in parts"})
    newest = plan.project.plans.first()
    assert newest is not None
    assert (newest.version, newest.status, newest.comment) == (2, "proposed", "in parts")
    assert [(task["key"], task["title"], task["minutes"]) for task in tasks_of(newest.content)] == [
        ("T-01", "A", 10),
        ("T-03", "B", 20),
        ("T-02", "Other", 40),
    ]


def test_checks_are_shown_while_drafting_and_saving_waits_for_them(owner: Client, story: Story) -> None:
    plan = story.waiting_plan
    owner.post(where(plan), {"do": "remove", "key": "T-01"})
    text = read(owner, where(plan))
    shows(text, "No task covers requirement FR-01", 'value="save" disabled')
    refused = owner.post(where(plan), {"do": "save", "seen": "1"})
    assert refused.status_code == 422
    assert plan.project.plans.count() == 1
    owner.post(where(plan), {"do": "back"})
    assert not PlanEdits.objects.exists()


def test_a_stale_draft_shows_both_and_goes_on_with_the_newest(owner: Client, story: Story, client: Client) -> None:
    plan = story.waiting_plan
    owner.post(where(plan), {"do": "remove", "key": "T-02"})
    vera = make_user("vera", role="architect", project=plan.project)
    edit: dict[str, Any] = {"do": "change", "key": "T-01", "fields": {"title": "Theirs"}}
    plan_drafts.save_draft(plan_drafts.add_edit(plan, edit, by=vera), by=vera, seen=1)
    text = read(owner, where(plan))
    shows(text, "v2 appeared since this draft began on v1", "vera", "<ins>Theirs</ins>")
    owner.post(where(plan), {"do": "save", "seen": "1"})
    assert plan.project.plans.count() == 2, "nothing is overwritten"
    owner.post(where(plan), {"do": "onto"})
    newest = plan.project.plans.first()
    assert newest is not None
    assert "1 edit on v2" in read(owner, where(newest))
    owner.post(where(newest), {"do": "save", "seen": "1"})
    third = plan.project.plans.first()
    assert third is not None
    assert [(task["key"], task["title"]) for task in tasks_of(third.content)] == [("T-01", "Theirs")]


def test_an_earlier_version_is_restored_from_the_list(owner: Client, story: Story) -> None:
    plan = story.waiting_plan
    owner.post(where(plan), {"do": "remove", "key": "T-02"})
    owner.post(where(plan), {"do": "save", "seen": "1"})
    assert where(plan, "plan-restore") in read(owner, reverse("plan", args=[plan.project_id]))
    owner.post(where(plan, "plan-restore"))
    newest = plan.project.plans.first()
    assert newest is not None
    assert (newest.version, newest.content) == (3, plan.content)


def test_a_draft_is_seen_by_nobody_else_and_its_text_stays_text(owner: Client, story: Story) -> None:
    plan = story.waiting_plan
    owner.post(where(plan, "plan-add"), {"title": "<script>alert(1)</script>", "minutes": "5"})
    assert "<script>alert(1)" not in read(owner, where(plan))
    viewer = Client()
    viewer.force_login(make_user("victor", role="viewer", project=plan.project))
    text = read(viewer, where(plan))
    assert "No edits on v1 yet" in text
    assert "alert(1)" not in text


@pytest.mark.parametrize("data", [{"do": "save", "seen": "1"}, {"do": "fly"}, {"do": "drop"}, {"do": "remove"}])
def test_what_does_not_fit_is_refused_in_words(owner: Client, story: Story, data: dict[str, str]) -> None:
    answer = owner.post(where(story.waiting_plan), data)
    assert answer.status_code == 422
    assert not PlanEdits.objects.exists()
