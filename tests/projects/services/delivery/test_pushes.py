"""A push sends the branch of one build to one address, on a person's yes, and never by force."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from aiswe_site.cli.app import run as command
from projects.errors import BadInput, NotAllowed, StaleVersion
from projects.models import Approval, SiteEvent
from projects.services.delivery.pushes import push_run
from projects.services.planning.projects import update_settings
from projects.storage.paths import repository_of
from tests.dashboard.story import Story
from tests.factories import make_user
from tests.tables import each_row

pytestmark = pytest.mark.django_db


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Path:
    """A repository behind "ssh": a program of that name that runs the command here, and notes how it was called."""
    programs = tmp_path / "programs"
    programs.mkdir()
    ssh = programs / "ssh"
    ssh.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/called\nfor last; do :; done\nexec sh -c "$last"\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    settings.GIT_HOSTS = ["localhost"]
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "remote.git")], check=True)
    return tmp_path / "remote.git"


@pytest.fixture
def story(remote: Path, story_with_code: Story) -> Story:
    told = story_with_code
    repository_of(told.project).branch(f"aiswe/run-{told.run.pk}", told.done.commit)
    update_settings(told.project, by=told.owner, push_remote=f"ssh://git@localhost{remote}")
    told.run.project.refresh_from_db()
    return told


def refs(remote: Path) -> dict[str, str]:
    shown = subprocess.run(["git", "-C", str(remote), "show-ref"], capture_output=True, text=True).stdout
    return {name: sha for sha, name in (row.split() for row in shown.splitlines())}


def push(story: Story, **changes: Any) -> None:
    given = {"by": story.owner, "address": story.project.push_remote, "commit": story.done.commit}
    push_run(story.run, **{**given, **changes})


def test_only_the_branch_of_the_run_goes_out_and_the_yes_is_on_the_trail(story: Story, remote: Path) -> None:
    push(story)
    assert refs(remote) == {f"refs/heads/aiswe/run-{story.run.pk}": story.done.commit}
    asked = Approval.objects.get(kind="push")
    assert (asked.status, asked.decided_by, story.done.commit in asked.subject) == ("approved", story.owner, True)
    decided = story.run.events.filter(type="approval.decided").latest("seq")
    assert decided.payload["kind"] == "push"
    noted = SiteEvent.objects.get(action="run.pushed")
    assert (noted.outcome, noted.detail["commit"]) == ("ok", story.done.commit)
    push(story)  # again changes nothing


def test_what_others_put_there_is_never_overwritten(story: Story, remote: Path) -> None:
    empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    git = ["git", "-C", str(remote), "-c", "user.name=E", "-c", "user.email=e@example.org"]
    made = subprocess.run([*git, "commit-tree", empty, "-m", "Theirs"], capture_output=True, text=True, check=True)
    elsewhere = made.stdout.strip()
    name = f"refs/heads/aiswe/run-{story.run.pk}"
    subprocess.run(["git", "-C", str(remote), "update-ref", name, elsewhere], check=True)
    with pytest.raises(BadInput, match="nothing is ever forced"):
        push(story)
    assert refs(remote) == {name: elsewhere}
    assert SiteEvent.objects.get(action="run.pushed").outcome == "fail"


def test_the_yes_counts_for_what_was_shown_alone_and_from_whom_it_may_come(story: Story, remote: Path) -> None:
    with pytest.raises(StaleVersion):
        push(story, address="ssh://git@localhost/elsewhere.git")
    with pytest.raises(StaleVersion):
        push(story, commit="0" * 40)
    with pytest.raises(NotAllowed):
        push(story, by=make_user("vera", role="viewer", project=story.project))
    assert refs(remote) == {}
    assert not Approval.objects.filter(kind="push").exists()


def test_an_unlisted_private_host_is_not_spoken_to(story: Story, remote: Path, settings: Any, tmp_path: Path) -> None:
    settings.GIT_HOSTS = []
    with pytest.raises(BadInput, match="private address"):
        push(story)
    assert not (tmp_path / "called").exists()


@each_row(
    "address",
    ["file:///tmp/x", "/tmp/x", "http://host/x", "https://me:secret@host/x", "ext::sh -c id", "ssh://-oProxy/x", "-x"],
)
def test_a_remote_is_checked_like_an_address_to_import_from(story: Story, address: str) -> None:
    with pytest.raises(BadInput, match="Push to: "):
        update_settings(story.project, by=story.owner, push_remote=address)
    update_settings(story.project, by=story.owner, push_remote="")
    story.run.project.refresh_from_db()
    with pytest.raises(BadInput, match="has no remote"):
        push(story)


def test_the_button_needs_a_tick_and_the_command_a_yes(
    story: Story, remote: Path, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    client.force_login(story.owner)
    shown = client.get(reverse("run-result", args=[story.run.pk])).content.decode()
    assert story.project.push_remote in shown
    given = {"address": story.project.push_remote, "commit": story.done.commit}
    where = reverse("run-push", args=[story.run.pk])
    assert client.post(where, given).status_code == 422
    slug = story.project.slug
    assert command(["project", "push", slug, "--as", "ada", "--json"]) == 2
    assert refs(remote) == {}
    assert client.post(where, {**given, "confirm": "on"}).status_code == 302
    assert len(refs(remote)) == 1
    capsys.readouterr()
    assert command(["project", "push", slug, "--as", "ada", "--yes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["branch"] == f"aiswe/run-{story.run.pk}"
