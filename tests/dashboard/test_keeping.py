"""Pages that keep or give up data: deleting a project, taking in a moved base, backups."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from projects.models import Project
from projects.services.installation import backups
from projects.storage.paths import repository_of
from tests.dashboard.story import Story, finish, move_base
from tests.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def story(story_with_code: Story) -> Story:
    return story_with_code


@pytest.fixture
def root() -> Client:
    client = Client()
    client.force_login(make_user("root", superuser=True))
    return client


def text(client: Client, address: str) -> str:
    return " ".join(client.get(address).content.decode().split())


def test_an_administrator_deletes_a_project_by_typing_its_name(story: Story, client: Client, root: Client) -> None:
    page, go = reverse("project", args=[story.project.pk]), reverse("project-delete", args=[story.project.pk])
    finish(story)
    assert "An administrator can" in text(client, page)
    assert reverse("backups") in text(root, page)
    assert root.post(go, {"named": "todo"}).status_code == 422
    assert Project.objects.filter(pk=story.project.pk).exists()
    assert "is deleted" in root.post(go, {"named": story.project.slug}, follow=True).content.decode()
    assert not Project.objects.filter(pk=story.project.pk).exists()


def test_a_moved_base_is_shown_and_taken_in(story: Story, client: Client) -> None:
    page, result = reverse("run", args=[story.run.pk]), reverse("run-result", args=[story.run.pk])
    assert "has moved since the run left it" not in text(client, page) + text(client, result)
    move_base(story, {"theirs.py": "theirs = 1\n"})
    assert "has moved since the run left it" in text(client, page)
    assert "has moved since the run left it" in text(client, result)
    answer = client.post(reverse("run-take-in", args=[story.run.pk]), follow=True)
    assert "1 commit now stands on the newest main" in answer.content.decode()
    assert "has moved since" not in text(client, result)
    repository = repository_of(story.project, story.run)
    assert {"app/new.py", "theirs.py"} <= set(repository.files(repository.head()))


def test_a_moved_base_that_changed_the_same_lines_moves_nothing(story: Story, client: Client) -> None:
    move_base(story, {"app/new.py": "theirs = 1\n"})
    head = repository_of(story.project, story.run).head()
    answer = client.post(reverse("run-take-in", args=[story.run.pk]), follow=True)
    assert "Both sides changed app/new.py" in answer.content.decode()
    assert repository_of(story.project, story.run).head() == head


def test_backups_are_taken_listed_and_downloaded_by_administrators(
    story: Story, root: Client, enqueued: list[Any], django_capture_on_commit_callbacks: Any
) -> None:
    assert "No backup in the data folder" in text(root, reverse("backups"))
    with django_capture_on_commit_callbacks(execute=True):
        root.post(reverse("backups"))
    assert enqueued[-1][0] == "projects.jobs.take_backup"
    path = backups.kept_folder() / "aiswe-20261122-120000.zip"
    path.write_bytes(b"zip")
    assert path.name in text(root, reverse("backups"))
    answer = root.get(reverse("backup", args=[path.name]))
    assert answer["Content-Disposition"] == f'attachment; filename="{path.name}"'
    with backups._turn():
        assert "A backup is being taken." in text(root, reverse("backups"))
    assert reverse("backups") in text(root, reverse("system"))
    answer.close()
