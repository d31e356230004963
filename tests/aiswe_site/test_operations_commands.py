"""`aiswe deploy`, `aiswe target` and `aiswe incident`, also when used wrongly."""

from __future__ import annotations

import pytest

from projects.models import Deployment, Incident, Project, Target
from tests.aiswe_site.answers import CommandLine
from tests.dashboard.operated import operated
from tests.factories import make_project
from tests.tables import each_row

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_process", "enqueued")]


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setattr("projects.services.operations.releases.newest_commit", lambda project: "c" * 40)
    return make_project("Clinic")


def owner(project: Project) -> list[str]:
    return ["--as", project.created_by.username]


def test_the_first_deployment_makes_a_sandbox_target(project: Project, cli: CommandLine) -> None:
    told = cli.answers("deploy", "clinic", *owner(project))
    assert (told["target"], told["host"], told["live"]) == ("staging", "staging.clinic.localhost", None)
    assert (told["newest"]["number"], told["newest"]["status"]) == (1, "queued")
    assert Deployment.objects.get().commit == "c" * 40


def test_what_runs_is_told_and_steered(project: Project, cli: CommandLine) -> None:
    _, live, _ = operated(project)
    told = cli.answers("deploy", "clinic", "--status")
    assert (told["live"]["number"], told["live"]["healthy"]) == (2, True)
    assert "KeyError" in cli.answers("deploy", "clinic", "staging", "--log")["log"]
    cli.answers("deploy", "clinic", "--restart", *owner(project))
    live.refresh_from_db()
    assert live.restart_asked
    assert cli.answers("deploy", "clinic", "--back", *owner(project))["newest"]["commit"] == "a" * 40
    cli.answers("deploy", "clinic", "--stop", *owner(project))
    assert Target.objects.get().wanted is None


def test_targets_are_added_changed_listed_and_removed(project: Project, cli: CommandLine) -> None:
    more = ["--command", "python app.py", "--variable", "A=b=c", "--health", "/ok"]
    made = cli.answers("target", "add", "clinic", "staging", *more, *owner(project))
    assert made["options"] == {"command": "python app.py", "health": "/ok", "environment": {"A": "b=c"}}
    changed = cli.answers("target", "edit", "clinic", "staging", "--health", "/up", "--not-watched", *owner(project))
    assert changed["options"] == {**made["options"], "health": "/up"}
    assert changed["watched"] is False
    assert [row["name"] for row in cli.answers("target", "list", "clinic")] == ["staging"]
    cli.answers("target", "remove", "clinic", "staging", *owner(project))
    assert not Target.objects.exists()


def test_incidents_are_listed_shown_retried_and_closed(project: Project, cli: CommandLine) -> None:
    _, _, incident = operated(project)
    assert [row["status"] for row in cli.answers("incident", "list")] == ["needs_you"]
    shown = cli.answers("incident", "show", str(incident.pk))
    assert shown["timeline"][0]["text"].startswith("It began with #2")
    assert cli.answers("incident", "retry", str(incident.pk), *owner(project))["status"] == "open"
    cli.answers("incident", "close", str(incident.pk), "switched off", *owner(project))
    assert Incident.objects.get().status == "resolved"


@each_row(
    ("argv", "words"),
    [
        (["deploy", "nowhere"], "There is no project 'nowhere'"),
        (["deploy", "clinic", "real"], "clinic has no target 'real'"),
        (["deploy", "clinic", "--status"], "Name one of the targets of clinic"),
        (["target", "edit", "clinic", "real"], "clinic has no target 'real'"),
        (["target", "add", "clinic", "a", "--variable", "x"], "'x' is not NAME=VALUE"),
        (["target", "add", "clinic", "a", "--kind", "moon"], "'moon' is not one of"),
        (["incident", "show", "77"], "There is no incident 77"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_way_out(
    project: Project, cli: CommandLine, argv: list[str], words: str
) -> None:
    assert words in cli.refuses(*argv)


def test_nothing_to_change_is_said(project: Project, cli: CommandLine) -> None:
    Target.objects.create(project=project, name="staging")
    assert "Nothing to change was named" in cli.refuses("target", "edit", "clinic", "staging")
