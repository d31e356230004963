"""A pull request is opened on a person's yes, kept current without force, and read back."""

import json
import subprocess
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from agents.forges.contract import ForgeRefused
from aiswe_site.cli.app import run as command
from projects.errors import BadInput, IllegalMove, NotAllowed, StaleVersion
from projects.models import Approval, SiteEvent
from projects.models.forges import ForgeLink, PullRequest
from projects.services.forges import requests
from projects.services.forges.links import link_project, map_person, unlink_project
from projects.services.forges.requests import keep_current, look, open_request
from projects.storage.paths import repository_of
from tests.dashboard.story import Story
from tests.factories import make_user
from tests.forge_server import ServedForge, ServedRepository

pytestmark = pytest.mark.django_db


@pytest.fixture
def story(story_with_code: Story, served: ServedForge) -> Story:
    """With a branch of results of its run, whose project is linked to `acme/todo`."""
    story = story_with_code
    ours = repository_of(story.project)
    ours.branch(f"aiswe/run-{story.run.pk}", story.done.commit)
    shop = served.repository("acme/todo")
    push = ["git", "-C", str(ours.git_dir), "push", "-q", "--force", str(shop.git_dir)]
    subprocess.run([*push, f"{story.done.commit}^:refs/heads/main"], check=True)
    link_project(story.project, by=story.owner, address=served.web("acme/todo"))
    return story


@pytest.fixture
def todo(story: Story, served: ServedForge) -> ServedRepository:
    return served.repositories["acme/todo"]


def ask(story: Story, **changes: Any) -> PullRequest:
    return open_request(story.run, **{"by": story.owner, "commit": story.done.commit, **changes})


def newer(story: Story, onto: str = "") -> str:
    """The run's branch gets another commit."""
    git = ["git", "-C", str(repository_of(story.project).git_dir), "-c", "user.name=E", "-c", "user.email=e@e.org"]
    onto, name = onto or story.done.commit, f"refs/heads/aiswe/run-{story.run.pk}"
    made = subprocess.run(
        [*git, "commit-tree", f"{story.done.commit}^{{tree}}", "-p", onto, "-m", "More"], capture_output=True, text=True
    )
    commit = made.stdout.strip()
    subprocess.run([*git, "update-ref", name, commit], check=True)
    return commit


def test_a_yes_pushes_the_branch_and_opens_a_request_that_says_what_was_done(
    story: Story, todo: ServedRepository, served: ServedForge
) -> None:
    made = ask(story)
    pull = todo.pulls[made.number]
    branch = f"aiswe/run-{story.run.pk}"
    assert (pull.head, pull.base, pull.head_commit) == (branch, "main", story.done.commit)
    assert (made.state, made.web_address.startswith(served.address), made.opened_by) == ("open", True, story.owner)
    for words in (
        "## What was asked",
        "FR-01",
        "lines",
        "## Tests",
        "## Findings",
        "B602",
        "tokens",
        "aiswe audit verify",
    ):
        assert words in pull.text
    said = {one.name: one.state for one in todo.said(story.done.commit)}
    assert said.keys() == {"aiswe/tests", "aiswe/gates"}
    assert said["aiswe/gates"] in ("failure", "failed")
    assert Approval.objects.get(kind="push").decided_by == story.owner
    assert SiteEvent.objects.get(action="request.opened").detail["commit"] == story.done.commit
    assert ask(story).number == made.number
    assert len(todo.pulls) == 1


def test_nothing_leaves_without_a_right_a_link_and_the_commit_that_was_shown(
    story: Story, todo: ServedRepository, served: ServedForge
) -> None:
    with pytest.raises(NotAllowed):
        ask(story, by=make_user("vera", role="viewer", project=story.project))
    with pytest.raises(StaleVersion):
        ask(story, commit="0" * 40)
    unlink_project(story.project, by=story.owner)
    with pytest.raises(BadInput, match="not linked to a forge"):
        ask(story)
    assert "main" in todo.branches()
    assert len(todo.branches()) == 1
    assert not todo.pulls


def test_newer_results_go_to_the_same_request_and_words_of_people_stay(story: Story, todo: ServedRepository) -> None:
    made = ask(story)
    pull = todo.pulls[made.number]
    pull.text = f"Ada says hello.\n\n{pull.text}\n\nAnd goodbye."
    commit = newer(story)
    kept = keep_current(made, story.run, by=story.owner)
    assert (kept.aside, pull.head_commit, kept.request.commit) == ("", commit, commit)
    assert pull.text.startswith("Ada says hello.\n\n<!--")
    assert pull.text.endswith("And goodbye.")
    assert {one.name for one in todo.said(commit)} == {"aiswe/tests", "aiswe/gates"}


def test_what_somebody_else_pushed_is_never_overwritten_but_said(story: Story, todo: ServedRepository) -> None:
    made = ask(story)
    theirs = todo.commit(made.branch, {"theirs.py": "x = 1\n"}, by="eve")
    commit = newer(story)
    kept = keep_current(made, story.run, by=story.owner)
    assert kept.aside == f"{made.branch}-{commit[:8]}"
    assert (todo.branches()[made.branch], todo.branches()[kept.aside]) == (theirs, commit)
    said = todo.pulls[made.number].notes[-1].text
    assert "Somebody else pushed" in said
    assert kept.aside in said
    assert SiteEvent.objects.filter(action="request.set_aside").exists()


def test_without_a_person_the_projects_setting_decides_and_a_push_counts_whose_words_cannot_follow(
    story: Story, todo: ServedRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ask(story)
    commit = newer(story)
    with pytest.raises(IllegalMove, match="takes no requests"):
        keep_current(made, story.run)
    ForgeLink.objects.update(takes_requests=True)
    made.refresh_from_db()

    def refuse(*_: Any) -> None:
        raise ForgeRefused("It is in trouble.", status=502)

    monkeypatch.setattr(requests, "renew", refuse)
    assert not keep_current(made, story.run).aside
    assert todo.branches()[made.branch] == commit
    assert SiteEvent.objects.get(action="request.renewed").detail["problem"] == "It is in trouble."


def test_a_merge_on_the_forge_is_seen_and_ends_it(story: Story, todo: ServedRepository) -> None:
    made = ask(story)
    merge = todo.merge(made.number)
    assert look(made).state == "merged"
    assert SiteEvent.objects.get(action="request.merged").detail["merge_commit"] == merge
    look(made)
    assert SiteEvent.objects.filter(action="request.merged").count() == 1
    with pytest.raises(IllegalMove, match="is merged"):
        keep_current(made, story.run, by=story.owner)


def test_a_link_is_asked_for_and_accounts_numbered(story: Story, todo: ServedRepository, served: ServedForge) -> None:
    link = ForgeLink.objects.get()
    assert (link.kind, link.host, link.path) == (served.kind, served.host, "acme/todo")
    with pytest.raises(BadInput, match="no such thing"):
        link_project(story.project, by=story.owner, address=served.web("acme/other"))
    ask(story)
    served.repository("acme/another")
    with pytest.raises(BadInput, match="unlink it"):
        link_project(story.project, by=story.owner, address=served.web("acme/another"))
    with pytest.raises(NotAllowed, match="administrators"):
        map_person(link, "eve", story.owner, by=story.owner)
    served.account("eve")
    root = User.objects.create_superuser("root")
    assert map_person(link, "eve", story.owner, by=root).ident == str(served.account("eve").ident)


def test_a_forges_no_or_later_is_put_in_words(story: Story, todo: ServedRepository, served: ServedForge) -> None:
    made = ask(story)
    served.forced.append((429, {"Retry-After": "600"}, {"message": "slow down"}))
    with pytest.raises(BadInput, match="limits how often it is asked: try again in 10 min"):
        look(made)


def test_the_button_needs_a_tick_the_command_a_yes_and_both_show_what_became_of_it(
    story: Story, todo: ServedRepository, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    client.force_login(story.owner)
    where, given = reverse("run-request", args=[story.run.pk]), {"commit": story.done.commit}
    assert client.post(where, given).status_code == 422
    assert command(["run", "request", str(story.run.pk), "--as", "ada", "--json"]) == 2
    assert not todo.pulls
    assert client.post(where, {**given, "confirm": "on"}).status_code == 302
    [number] = todo.pulls
    capsys.readouterr()
    assert command(["run", "request", str(story.run.pk), "--as", "ada", "--yes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["number"] == number
    todo.merge(number)
    assert client.post(reverse("run-request-look", args=[story.run.pk])).status_code == 302
    shown = client.get(reverse("run-result", args=[story.run.pk])).content.decode()
    assert "merged at" in " ".join(shown.split())
    assert command(["forge", "show", story.project.slug, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["requests"][0]["state"] == "merged"
    assert client.post(reverse("project-forge", args=[story.project.pk]), {"unlink": "yes"}).status_code == 302
    assert command(["forge", "show", story.project.slug, "--json"]) != 0
