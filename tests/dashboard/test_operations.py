"""Pages of deployments and incidents."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from projects.models import Approval, Deployment, Incident, Project, Target
from projects.services.operations import incidents, releases
from tests.dashboard.operated import operated
from tests.factories import make_project, make_user
from tests.projects.engine.operations.support import commit, shop, version
from tests.rows import fresh
from tests.texts import shows

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(enqueued: list[Any]) -> Project:
    return make_project("Shop")


@pytest.fixture
def ada(project: Project, client: Client) -> Client:
    assert project.created_by is not None
    client.force_login(project.created_by)
    return client


def text_of(client: Client, name: str, *args: object, **more: Any) -> str:
    return client.get(reverse(name, args=args), **more).content.decode()


def test_a_project_without_code_is_told_what_comes_first(ada: Client, project: Project) -> None:
    shown = text_of(ada, "deployments", project.pk)
    shows(shown, "Nothing is deployed yet", "There is no code yet")
    assert "Try it on this machine" not in shown


def test_one_button_makes_a_sandbox_target_and_deploys_the_newest_commit(
    ada: Client, project: Project, monkeypatch: pytest.MonkeyPatch, enqueued: list[Any]
) -> None:
    monkeypatch.setattr("projects.services.operations.releases.newest_commit", lambda project: "c" * 40)
    assert "Try it on this machine" in text_of(ada, "deployments", project.pk)
    assert ada.post(reverse("target-add", args=[project.pk]), {"try": "1"}).status_code == 302
    row = Deployment.objects.get()
    assert (row.target.name, row.commit, row.status) == ("staging", "c" * 40, "queued")
    shown = text_of(ada, "deployments", project.pk)
    shows(shown, "queued", "every 3s")


def test_what_runs_is_shown_with_its_incident(ada: Client, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("projects.services.operations.releases.newest_commit", lambda project: "c" * 40)
    target, _, _ = operated(project)
    shown = text_of(ada, "deployments", project.pk)
    assert f'href="http://staging.{project.slug}.localhost/"' in shown
    for words in (
        "healthy",
        "95 % within",
        "KeyError in shop/prices.py",
        "Deploy the newest commit",
        "Roll back",
        "42 MB",
    ):
        assert words in shown, words
    assert re.search(r"to #1,\s*<code>aaaaaaa", shown)
    assert (
        text_of(ada, "deployments", project.pk, headers={"HX-Request": "true"})
        .lstrip()
        .startswith('<div class="stack"')
    )
    for verb, status in (("restart", "live"), ("back", "queued"), ("deploy", "queued"), ("stop", "stopped")):
        assert ada.post(reverse("target-act", args=[target.pk, verb])).status_code == 302
        newest = Deployment.objects.order_by("-number").first()
        assert newest is not None
        assert newest.status == status, verb


def test_a_failed_deployment_says_why_and_what_goes_on(ada: Client, project: Project) -> None:
    target, _, _ = operated(project)
    Deployment.objects.create(
        target=target, number=3, commit="c" * 40, status="failed", reason="Its process ended 4 times"
    )
    shown = text_of(ada, "deployments", project.pk)
    shows(shown, "failed: Its process ended 4 times", "What ran before goes on.")


@pytest.mark.parametrize("name", ["incidents", "deployments", "baseline"])
def test_the_navigation_says_that_the_page_is_one_of_projects(ada: Client, project: Project, name: str) -> None:
    shown = text_of(ada, name, *([] if name == "incidents" else [project.pk]))
    assert re.search(r'data-key="p"\s+aria-current="true"', shown)


def test_options_are_kept_and_wrong_ones_named(ada: Client, project: Project) -> None:
    target = Target.objects.create(project=project, name="staging")
    page = reverse("target", args=[target.pk])
    given = {"command": "uvicorn app:app --port $PORT", "health": "/ok", "environment": "A=1\nB=x=y\n", "watched": "on"}
    assert ada.post(page, given).status_code == 302
    assert fresh(target).options == {
        "command": "uvicorn app:app --port $PORT",
        "health": "/ok",
        "environment": {"A": "1", "B": "x=y"},
    }
    assert (target.watched, target.follows) == (True, False)
    for wrong, words in (
        ({"environment": "nothing"}, "is not NAME=value"),
        ({"health": "ok"}, "begins with a slash"),
        ({"command": "run 'x"}, "quotation mark"),
    ):
        answer = ada.post(page, wrong)
        assert answer.status_code == 422
        assert words in answer.content.decode()


def test_a_target_that_exists_or_is_production_is_refused_in_words(ada: Client, project: Project) -> None:
    page = reverse("target-add", args=[project.pk])
    assert ada.post(page, {"name": "staging", "kind": "sandbox"}).status_code == 302
    again = ada.post(page, {"name": "staging", "kind": "sandbox"})
    assert again.status_code == 422
    assert "has a target named staging already" in again.content.decode()
    real = ada.post(page, {"name": "real", "kind": "sandbox", "production": "on"})
    assert real.status_code == 403
    assert "is for administrators" in real.content.decode()


def test_the_requests_of_a_minute_have_their_names_on_a_phone(ada: Client, project: Project) -> None:
    shown = text_of(ada, "deployment", operated(project)[1].pk)
    assert re.findall(r'data-label="(Requests|Errors|Mean ms)"', shown)[:3] == ["Requests", "Errors", "Mean ms"]


def test_a_deployment_shows_its_log_and_its_requests_escaped(ada: Client, project: Project) -> None:
    _, live, _ = operated(project)
    Deployment.objects.filter(pk=live.pk).update(log="<script>alert(1)</script>\n")
    live.bad_requests.update(path="/<b>x</b>")
    shown = text_of(ada, "deployment", live.pk)
    assert "<script>alert" not in shown
    shows(shown, "&lt;script&gt;", "/&lt;b&gt;x&lt;/b&gt;", "Requests by the minute")


def test_an_incident_tells_its_cause_its_steps_and_what_a_person_can_do(ada: Client, project: Project) -> None:
    _, _, incident = operated(project)
    shown = text_of(ada, "incident", incident.pk)
    order = [
        shown.index(words) for words in ("waits for a yes: plan v2", "Rolled back to", "It began with #2, which")[:2]
    ]
    assert order == sorted(order)  # the newest step first
    for words in ("Have it fixed", "Close it", "POST /orders?a=1", "KeyError"):
        assert words in shown
    page = reverse("incident", args=[incident.pk])
    refused = ada.post(page, {"reason": " "})
    assert refused.status_code == 422
    assert "Give a reason" in refused.content.decode()
    assert ada.post(page, {"retry": "1"}).status_code == 302
    assert Incident.objects.get().status == "open"
    assert ada.post(page, {"reason": "the client was mended"}).status_code == 302
    assert (fresh(incident).status, incident.timeline[-1]["text"]) == ("resolved", "the client was mended")
    assert "Have it fixed" not in text_of(ada, "incident", incident.pk)


def test_incidents_of_all_projects_are_listed_for_their_members_alone(ada: Client, project: Project) -> None:
    operated(project)
    assert "KeyError in shop/prices.py" in text_of(ada, "incidents")
    other = Client()
    other.force_login(make_user("stranger"))
    assert "Nothing went wrong" in text_of(other, "incidents")


def test_an_incident_that_ends_says_how_long_it_took(ada: Client, project: Project) -> None:
    _, _, incident = operated(project)
    incidents.step(incident, "Quiet since the fix is live.", status="resolved")
    assert "Took" in text_of(ada, "incident", incident.pk)


def test_incidents_of_the_installation_are_for_administrators(ada: Client, project: Project) -> None:
    incident, _ = incidents.report(None, kind="product", signature="Disk", title="Disk: <b>full</b>")
    incidents.step(incident, "Free some space.", status="needs_you")
    assert ada.get(reverse("incident", args=[incident.pk])).status_code == 404
    assert "Disk:" not in text_of(ada, "incidents")
    assert "Disk:" not in text_of(ada, "system")
    root = Client()
    root.force_login(make_user("root", superuser=True))
    for name in ("incidents", "system"):
        shown = text_of(root, name)
        shows(shown, "Disk: &lt;b&gt;full&lt;/b&gt;", "This installation")
    shown = text_of(root, "incident", incident.pk)
    assert "Free some space." in shown
    assert "Have it fixed" not in shown, "no agent works on the product itself"
    answer = root.post(reverse("incident", args=[incident.pk]), {"reason": "a larger disk"}, follow=True)
    assert "The incident is closed." in answer.content.decode()


def test_a_question_about_a_deployment_shows_what_it_would_bring(client: Client, settings: Any, tmp_path: Path) -> None:
    settings.AISWE_HOME = tmp_path
    ada = make_user("ada", superuser=True)
    project = shop(ada)
    client.force_login(ada)
    target = Target.objects.create(project=project, name="live", is_production=True)

    def asked() -> str:
        releases.deploy(target, releases.newest_commit(project), by=ada)
        return text_of(client, "approval", Approval.objects.latest("pk").pk)

    assert "Nothing runs on live yet" in asked()
    first = target.deployments.get()
    Target.objects.filter(pk=target.pk).update(live=first)
    commit(project, version(2, discounts_py="<b> = 1"))
    shown = asked()
    shows(shown, "Since #1, which runs now on live", "By hand", "discounts.py")
