"""Who may do what over HTTP, what becomes of a client that dies, and what is written to the standard streams."""

from __future__ import annotations

import json
import socket
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp.client.client import Client
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

from aiswe_site.verbs.callers import token_owner
from dashboard.access import rate
from projects.errors import TooManyTries
from projects.services.accounts import api_tokens
from tests.aiswe_site.mcp.serving import SERVER, Seeded, Served, call, http_server, over_http, refusal, seed
from tests.aiswe_site.running import WAIT_S, environment
from tests.factories import make_user


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with http_server(seed(tmp_path_factory.mktemp("mcp") / "home")) as found:
        yield found


@pytest.fixture
def known(served: Served) -> dict[str, Any]:
    return served.seeded.known


def _rows(seeded: Seeded, question: str, *values: object) -> list[Any]:
    with closing(sqlite3.connect(seeded.home / "db.sqlite3")) as database, database:
        return database.execute(question, values).fetchall()


@pytest.mark.parametrize(
    ("token", "status", "said"),
    [("", 401, "Authorization: Bearer aiswe_"), ("aiswe_0_0", 401, "it is wrong, revoked or expired")],
)
def test_without_a_working_token_nobody_comes_in(served: Served, token: str, status: int, said: str) -> None:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    answer = httpx2.post(served.url, json={}, headers=headers, timeout=WAIT_S)
    assert answer.status_code == status
    assert said in answer.json()["error"]["message"]
    with pytest.raises(ExceptionGroup) as refused:
        over_http(served, token, lambda client: client.list_tools())
    assert said in _last_words(refused.value)


def _last_words(error: BaseException) -> str:
    return _last_words(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else str(error)


def test_a_token_does_what_its_scopes_include(served: Served, known: dict[str, Any]) -> None:
    async def read(client: Client) -> str:
        await call(client, "run_status", run=known["run"])
        return await refusal(client, "pause_run", run=known["run"])

    async def start(client: Client) -> str:
        await call(client, "add_document", project="notes", text="FR-9 It shall count.", relation="adds")
        return await refusal(client, "approve_plan", plan=known["plan"], hash=known["hash"])

    assert over_http(served, "reader", read) == "This token may not run; it may read."
    words = over_http(served, "starter", start)
    assert words == (
        "This token may not approve; it may read, write, run. "
        "A person does it in the dashboard, or with `aiswe plan approve PLAN`."
    )


def test_a_token_does_no_more_than_its_owner_may(served: Served, known: dict[str, Any]) -> None:
    async def view(client: Client) -> str:
        assert (await call(client, "list_approvals"))["approvals"] == []
        return await refusal(client, "pause_run", run=known["run"])

    async def look(client: Client) -> str:
        assert (await call(client, "list_projects"))["projects"] == []
        return await refusal(client, "run_status", run=known["run"])

    assert "does not include run.control. Who may: manager" in over_http(served, "viewer", view)
    assert f"There is no run {known['run']} that you see" in over_http(served, "stranger", look)


def test_a_token_that_is_revoked_ends_within_the_conversation(served: Served) -> None:
    async def work(client: Client) -> None:
        await call(client, "list_projects")
        _rows(served.seeded, "update projects_apitoken set revoked_at = created_at where name = 'leaver'")
        await client.call_tool("list_projects", {})

    with pytest.raises(ExceptionGroup) as refused:
        over_http(served, "leaver", work)
    assert "revoked or expired" in _last_words(refused.value)


@pytest.mark.django_db
def test_a_token_that_calls_too_often_is_told_when_to_come_again(settings: Any) -> None:
    settings.API_PER_MINUTE = 1
    rate._counts.clear()
    token, _ = api_tokens.make_token(make_user("ada"), name="busy", scopes=["read"], days=1)
    sent = AuthenticatedUser(AccessToken(token="", client_id=token.public, scopes=token.scopes))
    before = auth_context_var.set(sent)
    try:
        assert token_owner().user == token.user
        with pytest.raises(TooManyTries, match=r"try again in \d+ seconds"):
            _ = [token_owner() for _ in range(4)]  # a minute may end among them
    finally:
        auth_context_var.reset(before)
        rate._counts.clear()


def test_what_a_program_did_is_on_the_trail_with_its_token(served: Served, known: dict[str, Any]) -> None:
    async def work(client: Client) -> None:
        await call(client, "pause_run", run=known["run"])
        await refusal(client, "pause_run", run=known["run"])
        await call(client, "resume_run", run=known["run"])

    over_http(served, "ada", work)
    question = "select actor, subject, outcome, detail from projects_siteevent where action = 'token.used' order by seq"
    rows = [row for row in _rows(served.seeded, question) if known["tokens"]["ada"].split("_")[1] in row[3]]
    assert [row[:3] for row in rows] == [
        ("ada", "MCP pause_run", "ok"),
        ("ada", "MCP pause_run", "fail"),
        ("ada", "MCP resume_run", "ok"),
    ]


def test_a_body_that_is_too_large_is_not_read(served: Served, known: dict[str, Any]) -> None:
    headers = {"Authorization": f"Bearer {known['tokens']['ada']}"}
    answer = httpx2.post(served.url, content=b"x" * (6 * 1024**2 + 1), headers=headers, timeout=WAIT_S)
    assert (answer.status_code, answer.json()["error"]["message"]) == (
        413,
        "The request body is too large; the limit is 6 MB.",
    )


def test_a_body_without_a_length_is_not_read(served: Served, known: dict[str, Any]) -> None:
    headers = {"Authorization": f"Bearer {known['tokens']['ada']}"}
    answer = httpx2.post(served.url, content=iter([b"{", b"}"]), headers=headers, timeout=WAIT_S)
    assert (answer.status_code, answer.json()["error"]["message"]) == (
        411,
        "Send the request body with its Content-Length.",
    )


def test_another_sites_page_is_refused(served: Served, known: dict[str, Any]) -> None:
    headers = {"Authorization": f"Bearer {known['tokens']['ada']}", "Origin": "https://evil.example"}
    assert httpx2.post(served.url, json={}, headers=headers, timeout=WAIT_S).status_code == 403


CALL = {"jsonrpc": "2.0", "id": 2, "method": "tools/call"}


def test_the_server_outlives_a_client_that_dies_in_mid_call(served: Served, known: dict[str, Any]) -> None:
    place = urlsplit(served.url)
    body = json.dumps({**CALL, "params": {"name": "ask_code", "arguments": {"project": "todo-api", "question": "add"}}})
    head = [
        "POST /mcp HTTP/1.1",
        f"Host: {place.netloc}",
        f"Authorization: Bearer {known['tokens']['ada']}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"Content-Length: {len(body)}",
    ]
    for sent in (body, body[:20]):  # in the answer, and in the request
        with socket.create_connection((str(place.hostname), int(place.port or 0))) as client:
            client.sendall("\r\n".join([*head, "", sent]).encode())

    async def work(client: Client) -> dict[str, Any]:
        return await call(client, "list_projects")

    assert len(over_http(served, "ada", work)["projects"]) == 2


def test_over_stdio_stdout_carries_the_protocol_alone_and_the_end_of_the_client_is_a_clean_end(served: Served) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    messages: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {**CALL, "params": {"name": "list_projects", "arguments": {}}},
    ]
    with subprocess.Popen(
        [*SERVER, "--as", "ada"],
        env=environment(served.seeded.home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write("this is not the protocol\n")
        process.stdin.writelines(json.dumps(message) + "\n" for message in messages)
        process.stdin.flush()
        answers: list[dict[str, Any]] = []
        while not any(answer.get("id") == 2 for answer in answers):
            answers.append(json.loads(process.stdout.readline()))
        assert all(answer["jsonrpc"] == "2.0" for answer in answers)
        # Asks once more and is gone before the answer.
        process.stdin.write(json.dumps({**messages[-1], "id": 3}) + "\n")
        process.stdin.flush()
        process.stdout.close()
        process.stdin.close()
        assert process.wait(WAIT_S) == 0
        assert "Traceback" not in process.stderr.read()
