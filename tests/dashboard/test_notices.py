"""The page of notifications, and the news that open pages ask for."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from projects.models import Approval, NoticePreferences, SiteEvent
from projects.services.decisions import approvals
from projects.services.notices import outbox
from projects.services.work.approval_requests import ask
from tests.factories import make_project, make_user

pytestmark = pytest.mark.django_db
PAGE = "/account/notifications"
FORM = {"decision": ["page", "email"], "time_zone": "Europe/Vienna", "quiet_from": "22:00", "quiet_until": "07:00"}


@pytest.fixture
def ada(client: Client, settings: Any) -> Any:
    settings.WEBHOOK_HOSTS = ["127.0.0.1"]
    user = make_user("ada")
    client.force_login(user)
    return user


def test_a_choice_is_kept(ada: Any, client: Client) -> None:
    assert client.post(PAGE, FORM)["Location"] == PAGE
    saved = NoticePreferences.objects.get(user=ada)
    assert saved.channels == {"decision": ["page", "email"], "finished": [], "failed": [], "report": []}
    assert "from 22:00 to 07:00" in client.get(PAGE).content.decode()


@pytest.mark.parametrize(
    "wrong", [{"quiet_until": ""}, {"quiet_until": "22:00"}, {"time_zone": "Mars/Base"}, {"quiet_from": "noon"}]
)
def test_half_a_choice_is_refused(ada: Any, client: Client, wrong: dict[str, str]) -> None:
    assert client.post(PAGE, FORM | wrong).status_code == 422
    assert not NoticePreferences.objects.exists()


def test_only_managers_and_administrators_name_a_webhook(ada: Any, client: Client) -> None:
    hook = FORM | {"webhook_url": "http://127.0.0.1:9/hook"}
    assert client.post(PAGE, hook).status_code == 403
    make_project(by=ada)
    shown = client.post(PAGE, hook).content.decode()
    assert "whsec_" in shown
    assert "whsec_" not in client.get(PAGE).content.decode()
    stored = NoticePreferences.objects.get(user=ada)
    assert "whsec_" not in stored.webhook_secret
    assert SiteEvent.objects.filter(action="webhook.changed", actor="ada").count() == 1
    client.post(PAGE, hook)
    assert NoticePreferences.objects.get(user=ada).webhook_secret == stored.webhook_secret


def test_a_test_goes_out_by_every_chosen_way(ada: Any, client: Client) -> None:
    client.post(PAGE, FORM)
    client.post(f"{PAGE}/test")
    assert set(ada.notices.values_list("channel", "status")) == {("page", "sent"), ("email", "waiting")}


def test_browser_notifications_are_offered_after_the_first_answer(ada: Any, client: Client) -> None:
    assert 'id="browser-ask"' not in client.get(PAGE).content.decode()
    project = make_project(by=ada)
    approval = ask(project, kind=Approval.Kind.PACKAGE, subject="x", title="y")
    approvals.decide(approval, by=ada, yes=True)
    assert 'id="browser-ask"' in client.get(PAGE).content.decode()


def test_news_are_what_came_since_the_last_look(ada: Any, client: Client) -> None:
    project = make_project("Clinic", by=ada)
    first = client.get(f"{PAGE}/news").json()
    assert first == {"waiting": 0, "last": 0, "news": []}
    ask(project, kind=Approval.Kind.PACKAGE, subject="x", title="y")
    told = client.get(f"{PAGE}/news?after=0").json()
    assert told["waiting"] == 1
    assert [item["title"] for item in told["news"]] == ["AI SWE, Clinic: needs a decision"]
    assert client.get(f"{PAGE}/news?after={told['last']}").json()["news"] == []


def test_news_of_others_are_not_told(ada: Any, client: Client) -> None:
    outbox.put(make_user(), ["page"], {"project": "x", "text": "y", "link": "/"}, key="k", now=timezone.now())
    assert client.get(f"{PAGE}/news?after=0").json()["news"] == []


def test_the_icon_says_that_something_waits(ada: Any, client: Client) -> None:
    assert 'href="/static/favicon.svg"' in client.get("/runs").content.decode()
    ask(make_project(by=ada), kind=Approval.Kind.PACKAGE, subject="x", title="y")
    assert 'href="/static/favicon-waiting.svg"' in client.get("/runs").content.decode()
