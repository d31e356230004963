"""What people wrote on a pull request, and what a forge sent, on the page of the result."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from projects.models import ForgeComment, ForgeDelivery, PullRequest
from tests.dashboard.story import Story
from tests.projects.services.forges.stand_in import linked

pytestmark = pytest.mark.django_db
EVIL = '<script>alert(1)</script>"onx="'


@pytest.fixture
def pull(story: Story) -> PullRequest:
    return linked(story.run, "a" * 40)


def wrote(pull: PullRequest, **more: Any) -> ForgeComment:
    fields = {"place": "line", "ident": "5", "author_ident": "66", "author_login": "mallory", "text": "Hello"}
    return ForgeComment.objects.create(request=pull, written_at=timezone.now(), **{**fields, **more})


def test_the_page_shows_who_wrote_what_and_what_became_of_it(story: Story, pull: PullRequest, owner: Client) -> None:
    wrote(
        pull,
        user=story.owner,
        text="Rename it.",
        outcome="answered",
        why="Done in abc.",
        run=story.run,
        changed="edited",
    )
    ForgeDelivery.objects.create(link=pull.link, ident="d-1", digest="0" * 64, event="comment", number=7)
    text = " ".join(owner.get(reverse("run-result", args=[story.run.pk])).content.decode().split())
    for part in (
        "Comments on pull request 7",
        "Rename it.",
        "answered",
        "Edited later",
        "Done in abc.",
        "d-1",
        "waits",
    ):
        assert part in text


def test_words_of_strangers_are_escaped_wherever_they_stand(story: Story, pull: PullRequest, owner: Client) -> None:
    wrote(pull, author_login=EVIL, text=EVIL, path=EVIL, line=3, why=EVIL)
    ForgeDelivery.objects.create(link=pull.link, ident=EVIL[:20], digest="0" * 64, event="comment", number=7)
    text = owner.get(reverse("run-result", args=[story.run.pk])).content.decode()
    assert "<script>alert" not in text
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 4


def test_a_run_without_a_pull_request_shows_nothing_of_forges(story: Story, owner: Client) -> None:
    assert b"pull request" not in owner.get(reverse("run-result", args=[story.run.pk])).content
