"""The page Ask: places with links to their lines, and nothing of a repository or model as markup."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from projects.services.insight import lessons, questions
from tests.dashboard.story import CODE, Story, add_code, tell
from tests.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def story(tmp_path: Path, settings: Any, enqueued: list[Any]) -> Iterator[Story]:
    settings.AISWE_HOME = tmp_path
    lessons.store.cache_clear()
    told = tell()
    add_code(told, {**CODE, "app/hostile.py": "def todos():\n    return '<img src=x onerror=alert(1)>'\n"})
    yield told
    lessons.store().close()
    lessons.store.cache_clear()


def test_a_place_links_to_its_line_at_the_commit_that_was_searched(story: Story, client: Client) -> None:
    client.force_login(story.owner)
    found = questions.search(story.project, "todos")
    place = next(one for one in found.places if one.in_repository)
    address = reverse("project-files", args=[story.project.pk, f"{found.commit}/{place.path}"])
    text = client.get(reverse("project-ask", args=[story.project.pk]), {"q": "todos"}).content.decode()
    assert f'href="{address}#L{place.line}"' in text
    assert "<img src=x" not in text
    assert f'id="L{place.line}"' in client.get(address).content.decode()


def test_a_models_answer_is_text_and_says_who_wrote_it(story: Story, client: Client, monkeypatch: Any) -> None:
    def answer(project: Any, question: str, found: Any, *, by: Any) -> None:
        found.answer = "<script>alert(1)</script> [1]"

    monkeypatch.setattr(questions, "answer", answer)
    client.force_login(story.owner)
    text = client.post(reverse("project-ask", args=[story.project.pk]), {"q": "todos"}).content.decode()
    assert "&lt;script&gt;alert(1)" in text
    assert "Written by the model" in text


def test_a_viewer_is_not_offered_the_model(story: Story, client: Client) -> None:
    client.force_login(make_user("vera", role="viewer", project=story.project))
    text = client.get(reverse("project-ask", args=[story.project.pk]), {"q": "todos"}).content.decode()
    assert "disabled>Ask the model for an answer" in text


def test_indexing_again_is_a_job_that_replaces_what_another_embedding_made(
    story: Story, client: Client, enqueued: list[Any], django_capture_on_commit_callbacks: Any
) -> None:
    client.force_login(story.owner)
    with django_capture_on_commit_callbacks(execute=True):
        client.post(reverse("project-index", args=[story.project.pk]))
    assert ("projects.jobs.index_project", (story.project.pk, "", True)) in enqueued
