"""The palette: what a few letters find, and what they do not show to others."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tests.dashboard.story import Story
from tests.factories import make_project, make_user

pytestmark = pytest.mark.django_db
Page = Callable[..., str]


def test_without_letters_the_newest_work_and_all_pages_are_offered(story: Story, page: Page) -> None:
    text = page("find")
    assert reverse("run", args=[story.run.pk]) in text
    assert "Import a repository" in text
    assert f'href="{reverse("incidents")}"' in text
    assert "<h2>Tasks</h2>" not in text


def test_a_task_is_found_by_key_and_by_words_of_its_title(story: Story, page: Page) -> None:
    for asked in (story.stuck.key, story.stuck.title.split()[0]):
        assert reverse("task", args=[story.stuck.pk]) in page("find", query=f"?q={asked}")


def test_a_run_is_found_by_its_number(story: Story, page: Page) -> None:
    text = page("find", query=f"?q=run {story.run.pk}")
    assert f'href="{reverse("run", args=[story.run.pk])}"' in text


def test_a_requirement_leads_to_its_card(story: Story, page: Page) -> None:
    wish = story.document.requirements.get(ordinal=1)
    assert f"#R-{wish.pk}" in page("find", query=f"?q={wish.text[:12]}")


def test_the_page_of_a_project_is_found_by_both_names(story: Story, page: Page) -> None:
    text = page("find", query="?q=plan todo")
    assert f'href="{reverse("plan", args=[story.project.pk])}"' in text


def test_all_words_must_match(story: Story, page: Page) -> None:
    assert "Nothing is called like" in page("find", query="?q=todo zebra")


def test_what_is_typed_is_text(story: Story, page: Page) -> None:
    text = page("find", query="?q=<img src=x>")
    assert "<img src=x" not in text


def test_projects_of_others_are_not_found(story: Story, client: Client) -> None:
    client.force_login(make_user("stranger"))
    text = client.get(reverse("find"), {"q": "todo"}).content.decode()
    assert "Nothing is called like" in text


def test_an_answer_to_the_palette_is_the_list_alone(story: Story, owner: Client) -> None:
    text = owner.get(reverse("find"), {"q": "todo"}, headers={"HX-Request": "true"}).content.decode()
    assert text.lstrip().startswith('<div class="found" data-q="todo">')


def test_more_projects_cost_no_more_queries(
    story: Story, owner: Client, django_assert_max_num_queries: Callable[..., Any]
) -> None:
    for number in range(8):
        make_project(f"Todo {number}", by=story.owner)
    with django_assert_max_num_queries(16):
        owner.get(reverse("find"), {"q": "todo"})
