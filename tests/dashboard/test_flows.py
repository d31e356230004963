"""What a person does from the first page to the end of a build, by forms alone."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from projects.models import Approval, Project, Run, Task
from projects.services.accounts import console_token
from tests.dashboard.story import Story
from tests.rows import fresh

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def told() -> None:
    """Each test has the story for itself: one begins without any person."""


def test_the_first_person_becomes_administrator_and_is_signed_in(client: Client, django_user_model: Any) -> None:
    token = console_token.issue(console_token.SETUP)
    assert client.get("/sign-in")["Location"] == "/setup"
    weak = client.post("/setup", {"username": "ada", "password": "12345678", "again": "12345678"})
    assert weak.status_code == 422
    assert "too common" in weak.content.decode()
    differ = client.post("/setup", {"username": "ada", "password": "a long passphrase", "again": "another one"})
    assert "differ" in differ.content.decode()
    good = client.post(
        "/setup", {"username": "ada", "password": "a long passphrase", "again": "a long passphrase", "token": token}
    )
    assert good["Location"] == "/"
    assert django_user_model.objects.get().is_superuser
    assert client.get("/").status_code == 200


def test_a_run_is_paused_resumed_and_stopped(owner: Client, story: Story) -> None:
    for verb, state in (("pause", "paused"), ("resume", "running"), ("stop", "cancelled")):
        owner.post(reverse("run-control", args=[story.run.pk, verb]))
        assert fresh(story.run).status == state
    assert owner.post(reverse("run-control", args=[story.run.pk, "pause"])).status_code == 409


def test_what_a_person_says_is_part_of_the_stream(owner: Client, story: Story) -> None:
    owner.post(reverse("run-say", args=[story.run.pk]), {"text": "Use a dict."})
    assert story.run.events.filter(type="human.message", actor="ada").exists()
    assert owner.post(reverse("run-say", args=[story.run.pk]), {"text": "  "}).status_code == 422


def test_an_escalated_task_is_tried_again_with_a_note(owner: Client, story: Story) -> None:
    owner.post(reverse("task-retry", args=[story.stuck.pk]), {"note": "Return a dict."})
    assert (fresh(story.stuck).status, story.stuck.note) == ("ready", "Return a dict.")


def test_skipping_needs_a_reason(owner: Client, story: Story) -> None:
    address = reverse("task-skip", args=[story.stuck.pk])
    assert owner.post(address, {"reason": ""}).status_code == 422
    owner.post(address, {"reason": "Not needed."})
    assert Task.objects.get(pk=story.stuck.pk).status == "skipped"


def test_after_a_decision_comes_the_next(owner: Client, story: Story) -> None:
    address = reverse("approval", args=[story.approval.pk])
    assert owner.post(address, {"answer": "no"}).status_code == 422
    answer = owner.post(address, {"answer": "yes"})
    upcoming = Approval.objects.get(status="pending")
    assert answer["Location"] == reverse("approval", args=[upcoming.pk])
    assert owner.post(address, {"answer": "no", "reason": "late"}).status_code == 409
    last = owner.post(answer["Location"], {"answer": "no", "reason": "Too big."})
    assert last["Location"] == reverse("approvals")


def test_a_severe_finding_waits_for_a_second_person(story: Story) -> None:
    from tests.factories import make_user

    client = Client()
    client.force_login(make_user("sue", role="security", project=story.project))
    data = {"disposition": "override", "reason": "Tests only.", "days": "7", "second": ""}
    text = client.post(reverse("finding-dispose", args=[story.finding.pk]), data, follow=True).content.decode()
    assert "second person" in text
    assert fresh(story.finding).disposition == ""
    bad = client.post(reverse("finding-dispose", args=[story.finding.pk]), {**data, "second": "nobody"})
    assert bad.status_code == 422


def test_a_broken_chain_is_red_and_names_the_row(owner: Client, story: Story, unguarded: None) -> None:
    story.run.events.filter(seq=5).update(summary="forged")
    text = owner.post(reverse("audit-verify", args=[story.run.pk])).content.decode()
    assert "The chain breaks at row 5" in text


def test_the_theme_and_the_shortcut_switch_stay(owner: Client) -> None:
    owner.post("/preferences", {"theme": "dark", "keys": "off"})
    text = owner.get("/keys").content.decode()
    assert 'data-theme="dark"' in text
    assert 'data-keys="off"' in text
    owner.post("/preferences", {"theme": "<script>"})
    assert 'data-theme="dark"' in owner.get("/keys").content.decode()


def test_the_demo_starts_and_is_watched(owner: Client, story: Story) -> None:
    from projects.services.work import demo

    demo.register(lambda user: story.run)
    try:
        assert owner.post("/demo")["Location"] == reverse("run", args=[story.run.pk])
    finally:
        demo.register(None)  # type: ignore[arg-type]


def test_a_recording_says_so_on_every_page_of_the_project(owner: Client, story: Story) -> None:
    Project.objects.filter(pk=story.project.pk).update(model="scripted:household")
    Run.objects.filter(pk=story.run.pk).update(recording=True)
    for address in (
        reverse("project", args=[story.project.pk]),
        reverse("requirements", args=[story.project.pk]),
        reverse("plan", args=[story.project.pk]),
        reverse("run", args=[story.run.pk]),
        reverse("task", args=[story.stuck.pk]),
        reverse("gate", args=[story.stuck.pk]),
        reverse("audit-run", args=[story.run.pk]),
    ):
        assert "model's replies are recorded" in owner.get(address).content.decode()


def test_a_full_chunk_may_be_kept_and_a_growing_one_not(owner: Client, story: Story) -> None:
    from tests.rows import emit

    address = reverse("run-chunk", args=[story.run.pk, 0])
    assert owner.get(address)["Cache-Control"] == "no-store"
    for number in range(100):
        emit(story.run.pk, "thought", summary=f"row {number}")
    answer = owner.get(address)
    assert "immutable" in answer["Cache-Control"]
    assert answer.content.decode().count('<article class="ev') == 100
    assert owner.get(reverse("run-chunk", args=[story.run.pk, 99])).status_code == 404


def test_a_hole_is_filled_by_http_with_the_same_frame(owner: Client, story: Story) -> None:
    found = owner.get(reverse("run-rows", args=[story.run.pk]) + "?after=3&upto=9").json()
    assert (found["from"], found["to"], found["n"]) == (4, 9, 6)


def test_errors_show_no_traceback(owner: Client, story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    from dashboard.views import runs

    def broken(*args: Any) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(runs.stream, "tasks_of", broken)
    owner.raise_request_exception = False
    answer = owner.get(reverse("run", args=[story.run.pk]))
    assert answer.status_code == 500
    assert "secret detail" not in answer.content.decode()
    assert "The server failed" in answer.content.decode()
    assert "There is nothing here" in owner.get("/nowhere").content.decode()


def test_the_newest_project_comes_first(page: Callable[..., str], story: Story) -> None:
    from tests.factories import make_project

    for name in ("Earlier", "Later"):
        make_project(name, by=story.owner)
    text = page("projects")
    assert text.index("Later") < text.index("Earlier")
