"""The memory page: where a lesson is from, what came of it, and who may switch it off."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from agents.memory.base import Lesson, Showing
from projects.models import SiteEvent
from projects.services.memory import lessons
from tests.dashboard.story import Story
from tests.factories import make_user
from tests.texts import shows

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def memory(settings: Any, tmp_path: Any) -> Iterator[None]:
    settings.AISWE_HOME = tmp_path / "home"
    lessons.store.cache_clear()
    yield
    lessons.store().close()
    lessons.store.cache_clear()


def learn(story: Story, id: str = "one", **changes: Any) -> None:
    words = {"signature": "s", "cause": "a <b>price</b> was a float", "fix": "make prices Decimal"}
    place = {"project": story.project.slug, "run": str(story.run.pk), "task": "T-01", "attempt": 2}
    lessons.store().add(Lesson(**{"id": id, "reward": 1.0, "learned_at": time.time(), **words, **place, **changes}))


def read(client: Client, person: Any, query: str = "") -> str:
    client.force_login(person)
    return client.get(reverse("memory") + query).content.decode()


def test_an_empty_memory_says_when_something_will_be_there_and_a_run_that_is_gone_is_no_link(
    story: Story, client: Client
) -> None:
    assert "Nothing learned yet" in read(client, story.owner)
    learn(story, run="999999")
    assert reverse("run", args=[999_999]) not in read(client, story.owner)


def test_a_lesson_shows_its_origin_and_its_track_record_and_no_markup_of_a_model(story: Story, client: Client) -> None:
    learn(story)
    lessons.store().record([Showing("one", f"a/{number}", number < 2, time.time()) for number in range(3)])
    text = read(client, story.owner)
    assert "2 of 3" in text
    assert reverse("run", args=[story.run.pk]) in text
    shows(text, "try 2", "a &lt;b&gt;price&lt;/b&gt; was a float")


def test_lessons_of_projects_one_is_no_member_of_do_not_exist(story: Story, client: Client) -> None:
    learn(story)
    stranger = make_user("eve")
    assert "make prices Decimal" not in read(client, stranger)
    assert client.post(reverse("lesson-switch", args=["one"]), {"to": "off", "why": "x"}).status_code == 404


def test_a_lesson_is_switched_off_with_a_reason_that_stays_and_on_again(story: Story, client: Client) -> None:
    learn(story)
    client.force_login(story.owner)
    address = reverse("lesson-switch", args=["one"])
    assert client.post(address, {"to": "off", "why": " "}).status_code == 422
    assert client.post(address, {"to": "off", "why": "it is wrong"}).status_code == 302
    assert "it is wrong" in read(client, story.owner, "?state=disabled")
    assert "make prices" not in read(client, story.owner, "?state=active")
    assert client.post(address, {"to": "off", "why": "again"}).status_code == 409
    assert client.post(address, {"to": "on"}).status_code == 302
    assert "make prices" in read(client, story.owner, "?state=active")
    trail = SiteEvent.objects.filter(action__startswith="lesson.").order_by("seq")
    assert [(row.action, row.actor, row.detail["why"]) for row in trail] == [
        ("lesson.off", "ada", "it is wrong"),
        ("lesson.on", "ada", ""),
    ]


def test_lessons_are_found_by_words_project_and_state(story: Story, client: Client) -> None:
    learn(story)
    learn(story, id="two", cause="the file was opened twice", fix="open it once", failure="OSError: busy")
    learn(story, id="three", cause="the mock hid it", project=story.waiting_plan.project.slug)
    assert "open it once" in read(client, story.owner, "?q=BUSY+opened")
    assert "make prices" not in read(client, story.owner, "?q=busy")
    assert "No lesson matches the search." in read(client, story.owner, "?q=nothing+like+it")
    text = read(client, story.owner, f"?project={story.waiting_plan.project.slug}&state=active")
    assert "the mock hid it" in text
    assert "open it once" not in text
    assert f"?state=sunk&amp;project={story.waiting_plan.project.slug}" in text, "another state keeps the search"


def test_each_lesson_says_what_its_state_means(story: Story, client: Client) -> None:
    learn(story, id="old", learned_at=time.time() - 400 * 86_400)
    learn(story, id="bad", cause="a wrong one")
    lessons.store().record([Showing("bad", f"a/{number}", False, time.time()) for number in range(6)])
    text = read(client, story.owner)
    shows(text, "too long ago, no longer shown", "did not help, no longer shown")
    assert "No lesson is in this state." in read(client, story.owner, "?state=active")


def test_who_may_only_look_cannot_switch(story: Story, client: Client) -> None:
    learn(story)
    viewer = make_user("vera", role="viewer", project=story.project)
    assert "disabled>Switch off" in read(client, viewer)
    assert client.post(reverse("lesson-switch", args=["one"]), {"to": "off", "why": "x"}).status_code == 403
    assert not lessons.store().all()[0].disabled_by


def test_with_workers_of_its_own_a_page_leaves_the_memory_to_them(story: Story, client: Client, settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert "The workers own the memory" in read(client, story.owner)
    assert not (settings.AISWE_HOME / "chroma").exists()


def test_the_page_says_when_the_embedding_model_is_away(story: Story, client: Client, settings: Any) -> None:
    settings.EMBEDDING = "embedder"
    settings.MODEL_URLS = {**settings.MODEL_URLS, "ollama": "http://127.0.0.1:9"}
    lessons.store.cache_clear()
    learn(story)
    lessons.store().similar("a price")
    text = read(client, story.owner)
    shows(text, "The embedding model does not answer", "make prices Decimal")
