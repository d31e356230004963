"""The page Ask: places with links to their lines, and nothing of a repository or model as markup."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from projects.engine import questions
from projects.services.memory import lessons
from tests.dashboard.story import CODE, Story, add_code
from tests.factories import make_user
from tests.texts import shows

pytestmark = pytest.mark.django_db


@pytest.fixture
def story(story: Story, tmp_path: Path, settings: Any) -> Iterator[Story]:
    settings.AISWE_HOME = tmp_path
    lessons.store.cache_clear()
    add_code(story, {**CODE, "app/hostile.py": "def todos():\n    return '<img src=x onerror=alert(1)>'\n"})
    yield story
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
    shows(text, "&lt;script&gt;alert(1)", "Written by the model")


def test_the_search_answers_first_and_the_models_order_follows(story: Story, client: Client, monkeypatch: Any) -> None:
    def order(project: Any, question: str, found: Any, *, by: Any) -> None:
        questions.put_first(found, [1], "Ordered by <b>coder</b>.")

    address, plain = reverse("project-ask", args=[story.project.pk]), questions.search(story.project, "todos")
    monkeypatch.setattr(questions, "order", lambda *_, **__: pytest.fail("a page waited for the model"))
    monkeypatch.setattr(questions, "may_order", lambda *_, **__: True)
    client.force_login(story.owner)
    text = client.get(address, {"q": "todos"}).content.decode()
    shows(text, "Ordered by words and vectors.", 'hx-trigger="load"')
    monkeypatch.setattr(questions, "order", order)
    headers = {"HX-Request": "true"}
    part = client.post(address, {"q": "todos", "order": "1"}, headers=headers).content.decode()
    assert "<html" not in part
    assert "Ordered by &lt;b&gt;coder" in part
    assert 'hx-trigger="load"' not in part
    assert part.index(f"{plain.places[1].path}:{plain.places[1].line}<") < part.index(
        f"{plain.places[0].path}:{plain.places[0].line}<"
    )
    assert f'name="first" value="{plain.commit}:1"' in part
    assert "<html" in client.post(address, {"q": "todos", "order": "1"}).content.decode()


@pytest.mark.parametrize(
    ("first", "order"),
    [
        ("{commit}:1,0", "Ordered by the model."),
        ("{commit}:x,², 99", "Ordered by words and vectors."),
        ("another:1", "Ordered by words and vectors."),
        ("", "Ordered by words and vectors."),
    ],
)
def test_an_answer_is_from_the_order_that_was_shown(
    story: Story, client: Client, monkeypatch: Any, first: str, order: str
) -> None:
    monkeypatch.setattr(questions, "answer", lambda *_, **__: None)
    commit = questions.search(story.project, "todos").commit
    client.force_login(story.owner)
    sent = {"q": "todos", "first": first.format(commit=commit)}
    text = client.post(reverse("project-ask", args=[story.project.pk]), sent).content.decode()
    assert order in text


def test_a_viewer_is_not_offered_the_model(story: Story, client: Client) -> None:
    client.force_login(make_user("vera", role="viewer", project=story.project))
    text = client.get(reverse("project-ask", args=[story.project.pk]), {"q": "todos"}).content.decode()
    assert "disabled>Ask the model for an answer" in text
    assert "Let the model order these" not in text


def test_indexing_again_is_a_job_that_replaces_what_another_embedding_made(
    story: Story, client: Client, enqueued: list[Any], django_capture_on_commit_callbacks: Any
) -> None:
    client.force_login(story.owner)
    with django_capture_on_commit_callbacks(execute=True):
        client.post(reverse("project-index", args=[story.project.pk]))
    assert ("projects.jobs.index_project", (story.project.pk, "", True)) in enqueued
