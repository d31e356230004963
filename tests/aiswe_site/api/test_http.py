"""The HTTP API: JSON in, JSON out, and every no is a problem that says why."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aiswe_site.startup import home
from dashboard.access import rate
from projects.models import ApiAnswer, Project, RequirementDocument, SiteEvent
from projects.services.accounts import api_tokens, idempotency
from projects.services.planning import projects
from tests.dashboard.conftest import told
from tests.dashboard.hostile import STRINGS
from tests.dashboard.story import Story
from tests.tables import each_row

__all__ = ["told"]
pytestmark = pytest.mark.django_db
Call = Callable[..., Any]


@pytest.fixture
def story(told: Story, enqueued: list[Any]) -> Story:
    rate._counts.clear()
    return deepcopy(told)


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


def test_a_project_that_approves_its_own_plans_needs_the_scope_for_approvals(story: Story, call: Call) -> None:
    _, writes = api_tokens.make_token(story.owner, name="Writes", scopes=["read", "write", "run"], days=1)
    only = {"Authorization": f"Bearer {writes}"}
    for autonomy, status in (("none", 403), ("gates_only", 403), ("plan_gates", 201)):
        body = {"name": f"Shop {autonomy}", "autonomy": autonomy}
        assert call("projects", body, **only).status_code == status
    assert call("projects", {"name": "Shop", "autonomy": "none"}).status_code == 201


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


def test_lists_are_read_page_by_page_without_a_hole(story: Story, call: Call) -> None:
    for number in range(5):
        call("projects", {"name": f"P{number}"})
    for path, name in (("projects", "projects"), ("approvals?which=all", "approvals"), ("runs/1/findings", "findings")):
        path = path.replace("runs/1", f"runs/{story.run.pk}")
        whole = call(path).json()
        assert whole["next"] is None
        paged: list[Any] = []
        cursor = ""
        while cursor is not None:
            page = call(f"{path}{'&' if '?' in path else '?'}limit=2&cursor={cursor}").json()
            assert len(page[name]) <= 2
            paged, cursor = [*paged, *page[name]], page["next"]
        assert paged == whole[name]
        assert len(paged) > 2


def test_a_program_takes_a_project_from_document_to_run(call: Call) -> None:
    project = call("projects", {"name": "By a program"}).json()["project"]
    read = call(f"projects/{project}/documents", {"text": "# A\n\nFR-01 The API shall add."})
    assert read.status_code == 201
    assert [row["author_id"] for row in read.json()["requirements"]] == ["FR-01"]
    number = read.json()["document"]
    assert "FR-01 The API shall add." in call(f"projects/{project}/documents/{number}").json()["text"]
    confirmed = call(f"projects/{project}/documents/{number}/confirm", {})
    assert confirmed.json()["status"] == "confirmed"
    run = call(f"projects/{project}/plans", {"document": number}).json()
    assert (run["kind"], run["status"]) == ("plan", "queued")
    assert call(f"projects/{project}").json()["runs"] == [run["run"]]
    assert [row["run"] for row in call(f"runs?project={project}").json()["runs"]] == [run["run"]]


def test_a_file_of_another_format_is_sent_as_base64(call: Call) -> None:
    path = f"projects/{call('projects', {'name': 'By a program'}).json()['project']}/documents"
    page = b"<h1>A</h1><p>FR-01 The API shall add.</p>"
    sent = {"text": b64encode(page).decode(), "filename": "prd.html", "encoding": "base64"}
    assert call(path, sent).json()["requirements"][0]["text"] == "The API shall add."
    refused = call(path, {**sent, "text": "no base64!"})
    assert (refused.status_code, refused.json()["detail"]) == (422, "'text' is not base64.")


def test_a_program_says_whether_a_document_replaces_or_adds(call: Call) -> None:
    path = f"projects/{call('projects', {'name': 'By a program'}).json()['project']}/documents"
    first, same, other = (
        call(path, {"text": f"FR-{number} The API shall add.", **more}).json()["document"]
        for number, more in enumerate([{}, {}, {"relation": "adds"}], 1)
    )
    replaces = dict(RequirementDocument.objects.values_list("pk", "replaces"))
    assert (replaces[first], replaces[same], replaces[other]) == (None, first, None)
    assert call(path, {"text": "FR-9 It shall.", "relation": "hides"}).json()["errors"][0]["name"] == "relation"


def test_suggestions_are_accepted_by_key_and_the_others_rejected(call: Call) -> None:
    project = call("projects", {"name": "By a program"}).json()["project"]
    text = "FR-01 Users shall sign in with a password.\n\nFR-02 The API shall store personal data."
    read = call(f"projects/{project}/documents", {"text": text}).json()
    found = [row for row in read["requirements"] if row["origin"] != "explicit"]
    suggested = [row["key"] for row in found if row["status"] == "proposed"]
    path = f"projects/{project}/documents/{read['document']}/confirm"
    assert "is not a suggestion" in call(path, {"accept": ["REQ-999"]}).json()["detail"]
    done = call(path, {"accept": suggested[:1], "reject_others": True}).json()
    states = {row["key"]: row["status"] for row in done["requirements"]}
    assert [states[key] for key in suggested] == ["accepted"] + ["rejected"] * (len(suggested) - 1)


def test_tickets_are_added_and_assigned(story: Story, call: Call) -> None:
    path = f"projects/{story.project.slug}/backlog"
    added = call(path, {"text": "A-1 Sort the list\nA-2 Print it"}).json()["items"]
    assert [(row["key"], row["assigned"]) for row in added] == [("A-1", None), ("A-2", None)]
    assigned = call(f"{path}/assign", {"keys": ["A-2"], "minutes": "30"}).json()["items"]
    assert (assigned[0]["minutes"], bool(assigned[0]["assigned"])) == (30, True)
    assert [row["key"] for row in call(path).json()["items"]] == ["A-1", "A-2"]
    assert "no open ticket 'A-9'" in call(f"{path}/assign", {"keys": ["A-9"]}).json()["detail"]


def test_a_run_tells_its_result_and_its_trail_verifies(story: Story, call: Call) -> None:
    run = f"runs/{story.run.pk}"
    assert call(f"{run}/result").json()["whole"] is False
    assert {row["tool"] for row in call(f"{run}/findings").json()["findings"]} == {"bandit", "semgrep"}
    found = call(f"{run}/audit").json()
    story.run.refresh_from_db()
    assert (found["ok"], found["events"], found["head_hash"]) == (True, story.run.last_seq, story.run.head_hash)


KEYED = {"Idempotency-Key": "one"}


def test_a_request_with_a_key_is_done_once(call: Call) -> None:
    first = call("projects", {"name": "Once"}, **KEYED)
    again = call("projects", b'{ "name" : "Once" }', **KEYED)
    assert (first.status_code, again.status_code, again.content) == (201, 201, first.content)
    assert (first.get("Idempotency-Replayed"), again["Idempotency-Replayed"]) == (None, "true")
    assert Project.objects.filter(name="Once").count() == 1
    other = call("projects", {"name": "Twice"}, **KEYED)
    assert (other.status_code, "used for another request" in other.json()["detail"]) == (422, True)


def test_a_key_of_a_refused_request_may_be_used_again(story: Story, call: Call) -> None:
    path = f"runs/{story.run.pk}/resume"
    assert call(path, {}, **KEYED).status_code == 409  # it is running
    call(f"runs/{story.run.pk}/pause", {})
    assert call(path, {}, **KEYED).status_code == 200
    assert call(path, {}, **KEYED)["Idempotency-Replayed"] == "true"


def test_a_request_that_was_interrupted_is_not_done_again(call: Call) -> None:
    call("projects", {"name": "Once"}, **KEYED)
    ApiAnswer.objects.update(status=0)  # as one leaves it that died in mid-request
    answer = call("projects", {"name": "Once"}, **KEYED)
    assert (answer.status_code, "See what became of it" in answer.json()["detail"]) == (409, True)


def test_keys_are_each_tokens_own_and_forgotten_in_time(story: Story, call: Call) -> None:
    call("projects", {"name": "Once"}, **KEYED)
    _, other = api_tokens.make_token(story.owner, name="Other", scopes=["write"], days=1)
    assert call("projects", {"name": "Other"}, Authorization=f"Bearer {other}", **KEYED).status_code == 201
    ApiAnswer.objects.update(created_at=timezone.now() - idempotency.KEPT)
    assert call("projects", {"name": "Later"}, **KEYED).status_code == 201
    assert ApiAnswer.objects.count() == 1


def test_a_token_keeps_a_bounded_number_of_answers(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "MOST", 2)
    for number in range(4):
        call("projects", {"name": f"P{number}"}, **{"Idempotency-Key": str(number)})
    assert list(ApiAnswer.objects.order_by("pk").values_list("key", flat=True)) == ["2", "3"]


@pytest.mark.parametrize("key", ["", "two words", "x" * 201, "é"])
def test_a_key_that_is_none_is_refused(call: Call, key: str) -> None:
    assert call("projects", {"name": "Once"}, **{"Idempotency-Key": key}).status_code == 422
    assert not Project.objects.filter(name="Once").exists()


def test_what_nobody_foresaw_is_a_problem_without_details(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("the secret is 42")

    kept: list[BaseException] = []
    monkeypatch.setattr(home, "note", kept.append)
    monkeypatch.setattr(projects, "create_project", broken)
    answer = call("projects", {"name": "Once"}, **KEYED)
    assert [str(error) for error in kept] == ["the secret is 42"]
    assert (answer.status_code, answer["Content-Type"]) == (500, "application/problem+json")
    assert "42" not in answer.content.decode()
    assert call("projects", {"name": "Once"}, **KEYED).status_code == 409  # what it did is not known


def test_an_address_that_is_none_is_a_problem(story: Story, call: Call) -> None:
    for path in ("", "nothing", "projects/", f"runs/{story.run.pk}/dance", "runs/x", "runs/0", f"runs/{'9' * 30}"):
        answer = call(path)
        assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json"), path


def test_an_approval_binds_to_what_was_read(story: Story, call: Call) -> None:
    path = f"approvals/{story.approval.pk}"
    asked = call(path).json()
    wrong = call(path, {"answer": "yes", "subject": "requests"})
    assert wrong.status_code == 422
    assert "read it again" in wrong.json()["detail"]
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
    assert "revoked or expired" in answers[0].json()["detail"]
    assert answers[-1].status_code == 429


@each_row("header", ["", "Basic YTpi", "Bearer", "Bearer ", "bearer x", "Token x"])
def test_without_a_token_it_says_how_to_send_one(story: Story, header: str) -> None:
    answer = Client().get("/api/v1/projects", headers={"Authorization": header} if header else {})
    assert answer.status_code == 401
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["title"] == "Unauthorized"


@each_row(
    "body",
    ["{", "[]", "1", '"x"', b"\xff", "[" * 100_000, '{"answer": 1}', '{"answer": "maybe"}', '{"answer": "yes"}', "{}"],
)
def test_a_body_that_cannot_be_read_is_named(story: Story, call: Call, body: Any) -> None:
    answer = call(f"approvals/{story.approval.pk}", body)
    assert answer.status_code == 422
    assert answer.json()["detail"]


@pytest.mark.parametrize("text", ['"\\ud800"', '"a\\u0000b"', '"\\udc00\\ud800"'])
def test_half_a_character_is_no_text(story: Story, call: Call, text: str) -> None:
    for path, name in ((f"runs/{story.run.pk}/say", "text"), ("projects", "name")):
        assert call(path, f'{{"{name}": {text}}}').status_code == 422
    body = f'{{"answer": "no", "subject": "httpx", "reason": {text}}}'
    assert call(f"approvals/{story.approval.pk}", body).status_code == 422


def test_a_form_is_no_json(story: Story, token: str) -> None:
    answer = Client().post("/api/v1/projects", {"name": "x"}, headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 415
    assert "application/json" in answer.json()["detail"]


def test_a_body_that_is_too_large_is_not_read(story: Story, call: Call) -> None:
    assert call("projects", b'{"name": "' + b"x" * 7_000_000 + b'"}').status_code == 413


@each_row("number", ["-1", "x", "1.5", "9" * 30, "%00", "１"])
def test_a_cursor_that_is_no_number_is_named(story: Story, call: Call, number: str) -> None:
    answer = call(f"runs/{story.run.pk}/events?after={number}")
    assert answer.status_code == 422
    assert "after" in answer.json()["detail"]


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
    st.sampled_from("projects projects/{p}/documents runs/{r}/say approvals/{a} runs/{r}/tasks/{t}/retry".split()),
)
def test_any_body_gets_an_answer(story: Story, call: Call, body: dict[str, Any], path: str) -> None:
    rate._counts.clear()
    numbers = {"p": story.project.slug, "r": story.run.pk, "a": story.approval.pk, "t": story.stuck.key}
    answer = call(path.format(**numbers), body)
    assert answer.status_code in (200, 201, 409, 422)
    answer.json()
