"""The API: JSON in, JSON out, and every no says why."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.api import rate
from projects.models import RequirementDocument, SiteEvent
from projects.services.accounts import api_tokens
from tests.dashboard.hostile import STRINGS
from tests.dashboard.story import Story, tell

pytestmark = pytest.mark.django_db
Call = Callable[..., Any]


@pytest.fixture
def story(enqueued: list[Any]) -> Story:
    rate._counts.clear()
    return tell()


@pytest.fixture
def token(story: Story) -> str:
    return api_tokens.make_token(story.owner, name="CI", scopes=list(api_tokens.SCOPES), days=1)[1]


@pytest.fixture
def call(token: str) -> Call:
    client = Client()

    def ask(path: str, body: Any = None, **headers: str) -> Any:
        headers = {"Authorization": f"Bearer {token}", **headers}
        if body is None:
            return client.get(f"/api/v1/{path}", headers=headers)
        data = body if isinstance(body, str | bytes) else json.dumps(body)
        return client.post(f"/api/v1/{path}", data, content_type="application/json", headers=headers)

    return ask


def test_every_type_of_event_in_a_stream_is_described(story: Story, call: Call) -> None:
    kinds = {row["type"]: row for row in call("events/kinds").json()["kinds"]}
    assert {row.type for row in story.run.events.all()} <= set(kinds)
    assert kinds["human.message"]["payload"] == {"text": "string"}


def test_events_are_read_after_a_number_without_a_hole(story: Story, call: Call) -> None:
    seen: list[int] = []
    after = 0
    while True:
        page = call(f"runs/{story.run.pk}/events?after={after}&limit=7").json()
        if not page["events"]:
            break
        seen += [row["seq"] for row in page["events"]]
        after = page["to"]
    story.run.refresh_from_db()
    assert seen == list(range(1, story.run.last_seq + 1))
    assert page["last"] == story.run.last_seq


def test_a_program_takes_a_project_from_document_to_run(call: Call) -> None:
    project = call("projects", {"name": "By a program"}).json()["id"]
    document = call(f"projects/{project}/documents", {"text": "# A\n\nFR-01 The API shall add."}).json()["document"]
    run = call(f"documents/{document}/plan", {}).json()
    assert (run["kind"], run["status"]) == ("plan", "queued")
    assert call(f"projects/{project}").json()["runs"] == [run["id"]]


def test_a_program_says_whether_a_document_replaces_or_adds(call: Call) -> None:
    path = f"projects/{call('projects', {'name': 'By a program'}).json()['id']}/documents"
    first, same, other = (
        call(path, {"text": f"FR-{number} The API shall add.", **more}).json()["document"]
        for number, more in enumerate([{}, {}, {"relation": "adds"}], 1)
    )
    replaces = dict(RequirementDocument.objects.values_list("pk", "replaces"))
    assert (replaces[first], replaces[same], replaces[other]) == (None, first, None)
    refused = call(path, {"text": "FR-9 It shall.", "relation": "hides"})
    assert 'is "replaces" or' in refused.json()["error"]


def test_an_approval_binds_to_what_was_read(story: Story, call: Call) -> None:
    path = f"approvals/{story.approval.pk}"
    asked = call(path).json()
    wrong = call(path, {"answer": "yes", "subject": "requests"})
    assert wrong.status_code == 422
    assert "read it again" in wrong.json()["error"]
    answered = call(path, {"answer": "yes", "subject": asked["subject"]}).json()
    assert (answered["status"], answered["decided_by"]) == ("approved", "ada")
    assert call(path, {"answer": "no", "subject": asked["subject"], "reason": "late"}).status_code == 409


def test_what_a_token_did_is_on_the_trail(story: Story, call: Call) -> None:
    call(f"runs/{story.run.pk}/pause", {})
    call(f"runs/{story.run.pk}/pause", {})
    rows = list(SiteEvent.objects.filter(action="token.used").values_list("actor", "subject", "outcome"))
    subject = f"POST /api/v1/runs/{story.run.pk}/pause"
    assert rows == [("ada", subject, "ok"), ("ada", subject, "fail")]


def test_who_asks_too_often_waits(story: Story, call: Call, settings: Any) -> None:
    settings.API_PER_MINUTE = 5
    answers = [call("me") for _ in range(8)]
    assert {answer.status_code for answer in answers} == {200, 429}
    assert 0 < int(answers[-1]["Retry-After"]) <= 60


def test_wrong_tokens_are_refused_and_then_not_even_looked_at(story: Story) -> None:
    client = Client()
    answers = [client.get("/api/v1/me", headers={"Authorization": "Bearer aiswe_x_y"}) for _ in range(35)]
    assert answers[0].status_code == 401
    assert "revoked or expired" in answers[0].json()["error"]
    assert answers[-1].status_code == 429


@pytest.mark.parametrize("header", ["", "Basic YTpi", "Bearer", "Bearer ", "bearer x", "Token x"])
def test_without_a_token_it_says_how_to_send_one(story: Story, header: str) -> None:
    answer = Client().get("/api/v1/projects", headers={"Authorization": header} if header else {})
    assert answer.status_code == 401
    assert answer["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    "body",
    ["{", "[]", "1", '"x"', b"\xff", "[" * 100_000, '{"answer": 1}', '{"answer": "maybe"}', '{"answer": "yes"}', "{}"],
)
def test_a_body_that_cannot_be_read_is_named(story: Story, call: Call, body: Any) -> None:
    answer = call(f"approvals/{story.approval.pk}", body)
    assert answer.status_code == 422
    assert answer.json()["error"]


@pytest.mark.parametrize("text", ['"\\ud800"', '"a\\u0000b"', '"\\udc00\\ud800"'])
def test_half_a_character_is_no_text(story: Story, call: Call, text: str) -> None:
    for path, name in ((f"runs/{story.run.pk}/say", "text"), ("projects", "name")):
        assert call(path, f'{{"{name}": {text}}}').status_code == 422
    body = f'{{"answer": "no", "subject": "httpx", "reason": {text}}}'
    assert call(f"approvals/{story.approval.pk}", body).status_code == 422


def test_a_form_is_no_json(story: Story, token: str) -> None:
    answer = Client().post("/api/v1/projects", {"name": "x"}, headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 422
    assert "application/json" in answer.json()["error"]


def test_a_body_that_is_too_large_is_not_read(story: Story, call: Call) -> None:
    assert call("projects", b'{"name": "' + b"x" * 7_000_000 + b'"}').status_code == 422


@pytest.mark.parametrize("number", ["-1", "x", "1.5", "9" * 30, "%00", "１"])
def test_a_cursor_that_is_no_number_is_named(story: Story, call: Call, number: str) -> None:
    answer = call(f"runs/{story.run.pk}/events?after={number}")
    assert answer.status_code == 422
    assert "after" in answer.json()["error"]


def test_words_of_strangers_are_data_and_never_a_page(story: Story, call: Call) -> None:
    for words in STRINGS:
        if words.strip() and "\x00" not in words:
            call(f"runs/{story.run.pk}/say", {"text": words[:4_000]})
    answer = call(f"runs/{story.run.pk}/events")
    assert (answer["Content-Type"], answer["X-Content-Type-Options"]) == ("application/json", "nosniff")
    assert answer["Cache-Control"] == "no-store"
    assert len(answer.json()["events"]) > 40


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.sampled_from(["text", "filename", "name", "answer", "subject"]),
        st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=30), st.lists, max_leaves=4),
    ),
    st.sampled_from(["projects", "projects/{p}/documents", "runs/{r}/say", "approvals/{a}", "tasks/{t}/retry"]),
)
def test_any_body_gets_an_answer(story: Story, call: Call, body: dict[str, Any], path: str) -> None:
    rate._counts.clear()
    numbers = {"p": story.project.pk, "r": story.run.pk, "a": story.approval.pk, "t": story.stuck.pk}
    answer = call(path.format(**numbers), body)
    assert answer.status_code in (200, 201, 409, 422)
    answer.json()
