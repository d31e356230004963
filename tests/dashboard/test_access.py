"""What a page says to somebody whose role does not reach. Who gets what at all: tests/abuse, case 20."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tests.dashboard.story import Story, tell
from tests.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def story(enqueued: list[Any]) -> Story:
    """The story, with a viewer called vera."""
    story = tell()
    make_user("vera", role="viewer", project=story.project).memberships.create(
        project=story.waiting_plan.project, role="viewer"
    )
    return story


def test_a_button_a_role_cannot_use_says_who_can(story: Story, client: Client, django_user_model: Any) -> None:
    client.force_login(django_user_model.objects.get(username="vera"))
    text = client.get(reverse("plan", args=[story.waiting_plan.project_id])).content.decode()
    assert re.search(r"disabled>\s*Approve plan v1", text)
    assert "Architect can" in text
    assert "can control it" in client.get(reverse("run", args=[story.run.pk])).content.decode()


def test_back_leads_only_to_this_site(story: Story, client: Client) -> None:
    client.force_login(story.owner)
    for page in ("https://evil.example/x", "//evil.example", "http://testserver//evil.example", "javascript:alert(1)"):
        assert client.post("/preferences", {"theme": "dark"}, headers={"Referer": page})["Location"] == "/"
    kept = client.post("/preferences", {"theme": "dark"}, headers={"Referer": "http://testserver/runs?state=paused"})
    assert kept["Location"] == "/runs?state=paused"
