"""Every address × every kind of person. A new address without a line here fails the test."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from dashboard.urls import urlpatterns
from tests.dashboard.story import Story, tell
from tests.factories import make_user

pytestmark = pytest.mark.django_db

# kind: what is asked for.   open: anybody · any: who is signed in · own: members only, 404 for a stranger
# method, arguments (names of what is in the story), data, then the status for a viewer and for the owner.
OPEN, ANY, OWN = "open", "any", "own"
PAGE = (200, 200)
TABLE: dict[str, tuple[str, str, tuple[str, ...], dict[str, Any], tuple[int, int]]] = {
    "sign-in": (OPEN, "get", (), {}, (302, 302)),
    "setup": (OPEN, "get", (), {}, (404, 404)),
    "preferences": (OPEN, "post", (), {"theme": "dark"}, (302, 302)),
    "sign-out": (ANY, "post", (), {}, (302, 302)),
    "projects": (ANY, "get", (), {}, PAGE),
    "keys": (ANY, "get", (), {}, PAGE),
    "preview": (ANY, "post", (), {"text": "# A\n\nThe API shall add."}, PAGE),
    "project-new": (ANY, "get", (), {}, PAGE),
    "runs": (ANY, "get", (), {}, PAGE),
    "approvals": (ANY, "get", (), {}, PAGE),
    "audit": (ANY, "get", (), {}, PAGE),
    "system": (ANY, "get", (), {}, PAGE),
    "demo": (ANY, "post", (), {}, (422, 422)),
    "project": (OWN, "get", ("project",), {}, PAGE),
    "project-settings": (OWN, "post", ("project",), {"max_retries": "3", "autonomy": "plan_gates"}, (403, 302)),
    "project-members": (OWN, "post", ("project",), {"username": "vera", "role": "auditor"}, (403, 302)),
    "project-upload": (OWN, "post", ("project",), {"text": "# B\n\nThe API shall add."}, (403, 302)),
    "requirements": (OWN, "get", ("project",), {}, PAGE),
    "plan": (OWN, "get", ("project",), {}, PAGE),
    "requirements-confirm": (OWN, "post", ("document",), {}, (403, 302)),
    "requirement-add": (OWN, "post", ("document",), {"text": "More.", "kind": "functional"}, (403, 302)),
    "planning-start": (OWN, "post", ("document",), {}, (403, 302)),
    "requirement": (OWN, "post", ("requirement",), {"status": "rejected"}, (403, 302)),
    "plan-approve": (OWN, "post", ("waiting_plan",), {"hash": "HASH"}, (403, 302)),
    "plan-changes": (OWN, "post", ("waiting_plan",), {"comment": "smaller"}, (403, 302)),
    "plan-build": (OWN, "post", ("plan",), {}, (403, 302)),
    "plan-task": (OWN, "get", ("plan", "T-01"), {}, PAGE),
    "run": (OWN, "get", ("run",), {}, PAGE),
    "run-event": (OWN, "get", ("run", "1"), {}, PAGE),
    "run-chunk": (OWN, "get", ("run", "0"), {}, PAGE),
    "run-inspect": (OWN, "get", ("run", "1"), {}, PAGE),
    "run-rows": (OWN, "get", ("run",), {}, PAGE),
    "run-control": (OWN, "post", ("run", "pause"), {}, (403, 302)),
    "run-next": (OWN, "get", ("run",), {}, PAGE),
    "run-say": (OWN, "post", ("run",), {"text": "hello"}, (403, 302)),
    "task": (OWN, "get", ("stuck",), {}, PAGE),
    "task-retry": (OWN, "post", ("stuck",), {"note": "again"}, (403, 302)),
    "task-skip": (OWN, "post", ("stuck",), {"reason": "later"}, (403, 302)),
    "gate": (OWN, "get", ("stuck",), {}, PAGE),
    "finding-dispose": (
        OWN,
        "post",
        ("finding",),
        {"disposition": "accepted", "reason": "known", "days": "7"},
        (403, 403),  # HIGH: not even the owner, who is no security person
    ),
    "approval": (OWN, "post", ("approval",), {"answer": "yes"}, (403, 302)),
    "audit-run": (OWN, "get", ("run",), {}, PAGE),
    "audit-verify": (OWN, "post", ("run",), {}, PAGE),
    "audit-export": (OWN, "get", ("run", "csv"), {}, (403, 403)),  # for auditors and security alone
}
POST_ONLY = sorted(
    name for name, line in TABLE.items() if line[1] == "post" and name not in {"requirement", "approval"}
)


@pytest.fixture
def story(enqueued: list) -> Story:
    story = tell()
    make_user("vera", role="viewer", project=story.project).memberships.create(
        project=story.waiting_plan.project, role="viewer"
    )
    return story


def ask(client: Client, story: Story, name: str, method: str = "") -> Any:
    _, wanted, names, data, _ = TABLE[name]
    rows = {**vars(story), "requirement": story.document.requirements.first()}
    args = [rows[part].pk if part in rows else part for part in names]
    sent = {key: story.waiting_plan.content_hash if value == "HASH" else value for key, value in data.items()}
    return getattr(client, method or wanted)(reverse(name, args=args), sent)


def test_the_table_is_complete() -> None:
    assert sorted(TABLE) == sorted(str(pattern.name) for pattern in urlpatterns)


@pytest.mark.parametrize("name", sorted(TABLE))
def test_who_gets_what(story: Story, name: str) -> None:
    kind, _, _, _, (viewer, owner) = TABLE[name]
    anonymous = ask(Client(), story, name)
    if kind == OPEN:
        assert anonymous.status_code in (200, 302, 404)
    else:
        assert anonymous.status_code == 302, "anonymous people are sent to the sign-in"
        assert anonymous["Location"].startswith("/sign-in")

    def signed_in(user: Any) -> Client:
        client = Client()
        client.force_login(user)
        return client

    stranger = ask(signed_in(make_user("stranger")), story, name)
    # What is somebody else's does not exist: the same answer as for a number nobody has.
    assert stranger.status_code == (404 if kind == OWN else stranger.status_code)
    if kind == OWN:
        assert "Todo API" not in stranger.content.decode()
    from django.contrib.auth import get_user_model

    vera = get_user_model().objects.get(username="vera")
    assert ask(signed_in(vera), story, name).status_code == viewer
    assert ask(signed_in(story.owner), story, name).status_code == owner


@pytest.mark.parametrize("name", POST_ONLY)
def test_what_changes_something_is_not_done_by_a_link(story: Story, client: Client, name: str) -> None:
    client.force_login(story.owner)
    assert ask(client, story, name, "get").status_code == (302 if name == "sign-out" else 405) or name == "sign-out"


@pytest.mark.parametrize("name", sorted(name for name, line in TABLE.items() if line[1] == "post"))
def test_a_post_without_the_token_is_refused(story: Story, name: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(story.owner)
    assert ask(client, story, name).status_code == 403


@pytest.mark.parametrize("name", sorted(name for name, line in TABLE.items() if line[0] == OWN))
def test_a_number_nobody_has_is_not_found(story: Story, client: Client, name: str) -> None:
    client.force_login(story.owner)
    _, method, names, _, _ = TABLE[name]
    for number in (999_999, 10**18 - 1, 10**17):
        address = reverse(name, args=[number, *names[1:]])
        assert getattr(client, method)(address).status_code == 404


def test_a_button_a_role_cannot_use_says_who_can(story: Story, client: Client, django_user_model: Any) -> None:
    client.force_login(django_user_model.objects.get(username="vera"))
    text = client.get(reverse("plan", args=[story.waiting_plan.project_id])).content.decode()
    assert "disabled>Approve plan v1" in text
    assert "Architect can" in text
    assert "can control it" in client.get(reverse("run", args=[story.run.pk])).content.decode()


def test_nobody_can_be_made_administrator_by_extra_fields(client: Client, django_user_model: Any) -> None:
    data = {"username": "root", "password": "a long enough passphrase", "again": "a long enough passphrase"}
    client.post("/setup", {**data, "is_superuser": "on"})
    assert django_user_model.objects.get().username == "root"
    assert Client().post("/setup", {**data, "username": "second"}).status_code == 404
    assert django_user_model.objects.count() == 1


def test_back_leads_only_to_this_site(story: Story, client: Client) -> None:
    client.force_login(story.owner)
    for back in ("https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)"):
        assert client.post("/preferences", {"theme": "dark", "back": back})["Location"] == "/"
