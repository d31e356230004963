"""Deliveries: each kept once, in whatever order they come, and forgotten when they are old."""

import hashlib
import hmac
import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from aiswe_site.cli.app import run as command
from aiswe_site.startup import django as site_django
from projects.errors import NotAllowed
from projects.models import ForgeDelivery, PullRequest, Run, SiteEvent
from projects.services.forges import listening, polling, receiving
from tests.factories import make_project, make_user
from tests.projects.services.forges.stand_in import SECRET, MemoryForge, linked
from tests.projects.threads import at_once
from tests.rows import fresh

pytestmark = pytest.mark.django_db
NOW = timezone.now()


@pytest.fixture
def request_7(enqueued: list[Any]) -> PullRequest:
    return linked(Run.objects.create(project=make_project(), kind="build", status="finished"), "a" * 40)


@pytest.fixture
def jobs(enqueued: list[Any]) -> list[Any]:
    enqueued.clear()
    return enqueued


def body_of(number: int = 7, **more: Any) -> bytes:
    told = {"action": "created", "issue": {"number": number}, "repository": {"full_name": "Ada/Shop"}, **more}
    return json.dumps(told).encode()


def deliver(request: PullRequest, ident: str, body: bytes | None = None, event: str = "issue_comment") -> bool:
    body = body or body_of()
    mark = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    headers = {"x-hub-signature-256": f"sha256={mark}", "x-github-delivery": ident, "x-github-event": event}
    return receiving.receive(request.link, headers, body)


def test_a_delivery_is_kept_once_and_its_name_is_taken(
    request_7: PullRequest, jobs: list[Any], django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        assert deliver(request_7, "one")
        assert not deliver(request_7, "one")
        with pytest.raises(receiving.NotTaken, match="Another delivery") as refused:
            deliver(request_7, "one", body_of(8))
        assert deliver(request_7, "two")
    assert refused.value.status == 409
    assert jobs == [("projects.forge_jobs.read_request", (request_7.pk,))]
    assert receiving.waiting(request_7).count() == 2


def test_what_is_not_about_an_open_request_of_ours_wakes_nobody(
    request_7: PullRequest, jobs: list[Any], django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        deliver(request_7, "another", body_of(8))
        deliver(request_7, "elsewhere", body_of(repository={"full_name": "eve/shop"}))
        deliver(request_7, "star", event="star")
        PullRequest.objects.update(state="closed")
        deliver(request_7, "late")
        assert jobs == []
        deliver(request_7, "again", body_of(pull_request={"number": 7}, action="reopened"), "pull_request")
    assert len(jobs) == 1
    rows = ForgeDelivery.objects.exclude(handled_at=None)
    assert {row.outcome for row in rows} == {"not about an open pull request of ours"}
    assert rows.count() == 4


def test_order_does_not_matter_since_the_forge_is_asked(request_7: PullRequest, jobs: list[Any]) -> None:
    """The end of a request is told before its beginning: what counts is how it is there."""
    deliver(request_7, "closed", body_of(pull_request={"number": 7}, action="closed"), "pull_request")
    deliver(request_7, "opened", body_of(pull_request={"number": 7}, action="opened"), "pull_request")
    forge = MemoryForge("a" * 40)
    read = [request_7, forge, lambda *_: "", lambda *_: None, NOW]
    polling.read_request(*read)  # type: ignore[arg-type]  # as much of a forge as is asked here
    assert fresh(request_7).state == "open"
    assert forge.asked == 1
    assert not receiving.waiting(request_7).exists()


def test_a_failed_build_of_our_commit_is_handed_on_once(request_7: PullRequest, jobs: list[Any]) -> None:
    run = {"id": 77, "head_sha": "a" * 40, "conclusion": "failure"}
    for ident in ("one", "two"):
        deliver(request_7, ident, body_of(action="completed", workflow_job=run, issue=None), "workflow_job")
    other = {**run, "head_sha": "b" * 40}
    deliver(request_7, "three", body_of(action="completed", workflow_job=other, issue=None), "workflow_job")
    older = {"id": 78, "head_sha": "b" * 40, "conclusion": "failure", "pull_requests": [{"number": 7}]}
    deliver(request_7, "four", body_of(action="completed", check_run=older, issue=None), "check_run")
    built: list[Any] = []
    forge: Any = MemoryForge("a" * 40)
    polling.read_request(request_7, forge, lambda *_: "", lambda request, build: built.append(build), NOW)
    assert built == ["77"]


def test_old_deliveries_are_forgotten_and_so_are_too_many(
    request_7: PullRequest, jobs: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiving, "MOST_KEPT", 3)
    for number in range(6):
        deliver(request_7, f"d{number}")
    ForgeDelivery.objects.filter(ident="d5").update(received_at=NOW - timedelta(days=31))
    receiving.prune(NOW)
    assert ForgeDelivery.objects.count() == 5  # those that nobody has handled stay
    ForgeDelivery.objects.update(handled_at=NOW)
    receiving.prune(NOW)
    assert set(ForgeDelivery.objects.values_list("ident", flat=True)) == {"d2", "d3", "d4"}


def test_a_new_secret_ends_the_old_one_and_who_listens_is_on_the_trail(request_7: PullRequest, client: Client) -> None:
    link, owner = request_7.link, request_7.link.project.created_by
    hook = reverse("forge-webhook", args=[receiving.key_of(link)])
    made = listening.new_secret(link, by=owner)
    assert made not in link.secret
    mark = hmac.new(SECRET.encode(), body_of(), hashlib.sha256).hexdigest()
    headers = {"X-Hub-Signature-256": f"sha256={mark}", "X-GitHub-Delivery": "d"}
    got = client.post(hook, body_of(), content_type="application/json", headers=headers)
    assert (got.status_code, "set-cookie" in got.headers) == (401, False)
    listening.listen(link, by=owner, polls=True, takes_requests=True)
    assert SiteEvent.objects.latest("seq").detail == {"forge": "github.com/ada/shop", "polls": True}
    with pytest.raises(NotAllowed):
        listening.listen(link, by=make_user("dev", role="developer", project=link.project), takes_requests=False)


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer; the server's test covers it")
def test_the_database_decides_which_of_many_is_the_first(request_7: PullRequest, jobs: list[Any]) -> None:
    assert sum(at_once([lambda: deliver(request_7, "same")] * 8)) == 1
    assert ForgeDelivery.objects.count() == 1


def test_the_command_line_sets_up_what_is_heard(
    request_7: PullRequest, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(site_django, "start", lambda migrate=True: None)
    link, slug = request_7.link, request_7.link.project.slug
    make_user("root", superuser=True)

    def told(*words: str) -> dict[str, Any]:
        command(["forge", *words, "--json"])
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    made = told("webhook", slug, "--as", "root")
    link.refresh_from_db()
    assert made["address"].endswith(reverse("forge-webhook", args=[receiving.key_of(link)]))
    assert receiving.secret_of(link) == made["secret"]
    assert told("listen", slug, "--poll", "--no-requests", "--as", "root")["polls"] is True
    refused = told("poll", slug)  # no token for its host
    assert "github.com" in refused["problem"]
    assert refused["comments"] == []
