"""`aiswe deploy`, `aiswe target` and `aiswe incident`, also when used wrongly."""

from __future__ import annotations

from typing import Any

import pytest

from aiswe_site.cli.app import run
from projects.models import Deployment, Incident, Project, Target
from tests.aiswe_site.answers import said
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


def test_the_first_deployment_makes_a_sandbox_target(project: Project, capsys: Any) -> None:
    told = said(capsys, "deploy", "clinic", *owner(project))
    assert (told["target"], told["host"], told["live"]) == ("staging", "staging.clinic.localhost", None)
    assert (told["newest"]["number"], told["newest"]["status"]) == (1, "queued")
    assert Deployment.objects.get().commit == "c" * 40


def test_what_runs_is_told_and_steered(project: Project, capsys: Any) -> None:
    _, live, _ = operated(project)
    told = said(capsys, "deploy", "clinic", "--status")
    assert (told["live"]["number"], told["live"]["healthy"]) == (2, True)
    assert "KeyError" in said(capsys, "deploy", "clinic", "staging", "--log")["log"]
    said(capsys, "deploy", "clinic", "--restart", *owner(project))
    live.refresh_from_db()
    assert live.restart_asked
    assert said(capsys, "deploy", "clinic", "--back", *owner(project))["newest"]["commit"] == "a" * 40
    said(capsys, "deploy", "clinic", "--stop", *owner(project))
    assert Target.objects.get().wanted is None


def test_targets_are_added_changed_listed_and_removed(project: Project, capsys: Any) -> None:
    more = ["--command", "python app.py", "--variable", "A=b=c", "--health", "/ok"]
    made = said(capsys, "target", "add", "clinic", "staging", *more, *owner(project))
    assert made["options"] == {"command": "python app.py", "health": "/ok", "environment": {"A": "b=c"}}
    changed = said(capsys, "target", "edit", "clinic", "staging", "--health", "/up", "--not-watched", *owner(project))
    assert changed["options"] == {**made["options"], "health": "/up"}
    assert changed["watched"] is False
    assert [row["name"] for row in said(capsys, "target", "list", "clinic")] == ["staging"]
    said(capsys, "target", "remove", "clinic", "staging", *owner(project))
    assert not Target.objects.exists()


def test_incidents_are_listed_shown_retried_and_closed(project: Project, capsys: Any) -> None:
    _, _, incident = operated(project)
    assert [row["status"] for row in said(capsys, "incident", "list")] == ["needs_you"]
    shown = said(capsys, "incident", "show", str(incident.pk))
    assert shown["timeline"][0]["text"].startswith("It began with #2")
    assert said(capsys, "incident", "retry", str(incident.pk), *owner(project))["status"] == "open"
    said(capsys, "incident", "close", str(incident.pk), "switched off", *owner(project))
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
    project: Project, capsys: Any, argv: list[str], words: str
) -> None:
    assert run(argv) == 2
    assert words in capsys.readouterr().err


def test_nothing_to_change_is_said(project: Project, capsys: Any) -> None:
    Target.objects.create(project=project, name="staging")
    assert run(["target", "edit", "clinic", "staging"]) == 2
    assert "Nothing to change was named" in capsys.readouterr().err
