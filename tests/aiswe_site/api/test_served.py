"""The API of a running server, asked by real clients: a stream of events, and the command line from elsewhere."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.aiswe_site.answers import CommandLine
from tests.aiswe_site.mcp.serving import Seeded, seed
from tests.aiswe_site.running import COMMAND, WAIT_S, Up, aiswe, environment, up
from tests.tables import each_row
from tests.waiting import eventually


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Seeded:
    return seed(tmp_path_factory.mktemp("api") / "home")


@pytest.fixture(scope="module")
def server(seeded: Seeded) -> Iterator[Up]:
    with up(seeded.home) as found:
        found.wait_for("AI SWE is up")
        yield found


@pytest.fixture(scope="module")
def client(server: Up, seeded: Seeded) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {seeded.known['tokens']['ada']}"}
    with httpx.Client(base_url=f"{server.address}api/v1", headers=headers, timeout=WAIT_S, trust_env=False) as found:
        yield found


def _events(client: httpx.Client, path: str, **headers: str) -> tuple[list[int], dict[str, Any]]:
    """The numbers of the events of a stream, and the data of its end."""
    seen: list[int] = []
    with client.stream("GET", path, headers=headers) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["Content-Type"] == "text/event-stream"
        name = ""
        for line in response.iter_lines():
            field, _, value = line.partition(": ")
            if field == "id":
                seen.append(int(value))
            elif field == "event":
                name = value
            elif field == "data" and name == "end":
                return seen, json.loads(value)
            elif field == "data":
                assert json.loads(value)["seq"] == seen[-1]
    raise AssertionError("the stream ended without saying why")


def test_a_stream_goes_on_where_it_was_and_says_why_it_ends(client: httpx.Client, seeded: Seeded) -> None:
    path = f"runs/{seeded.known['run']}/events/stream"
    first, end = _events(client, f"{path}?limit=20")
    assert (first, end) == ([*range(1, 21)], {"why": "limit", "after": 20})
    more, end = _events(client, f"{path}?limit=5", **{"Last-Event-ID": "20"})
    assert (more, end) == ([*range(21, 26)], {"why": "limit", "after": 25})
    rest, end = _events(client, f"{path}?after=25&seconds=1")
    assert rest[0] == 26
    assert end["why"] == "time"
    assert client.get(path, headers={"Last-Event-ID": "x"}).status_code == 422


def test_a_stream_shows_what_happens_and_ends_with_the_run(client: httpx.Client, seeded: Seeded) -> None:
    run_id = client.post("projects/notes/plans", json={}).json()["run"]
    client.post(f"runs/{run_id}/say", json={"text": "Be brief."})
    with client.stream("GET", f"runs/{run_id}/events/stream") as response:
        lines = response.iter_lines()
        assert any('"human.message"' in line for line in lines)
        assert client.post(f"runs/{run_id}/stop").status_code == 200
        assert any('{"why": "over"' in line for line in lines)


def test_a_token_follows_a_few_streams_at_a_time(client: httpx.Client, seeded: Seeded) -> None:
    path = f"runs/{seeded.known['run']}/events/stream"
    held = [client.send(client.build_request("GET", path), stream=True) for _ in range(4)]
    begun = [each.iter_raw() for each in held]
    for each in begun:
        next(each)
    refused = client.get(f"{path}?limit=1")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "5")
    for response in held:
        response.close()

    def follows() -> bool:
        time.sleep(0.3)  # the token has so many requests a minute
        return client.get(f"{path}?limit=1").status_code == 200

    assert eventually(follows), "who is gone counts no more"


def test_a_body_that_is_too_large_is_a_problem_before_the_application_sees_it(client: httpx.Client) -> None:
    answer = client.post("projects", content=b'{"name": "' + b"x" * 7_000_000 + b'"}')
    assert (answer.status_code, answer.headers["Content-Type"]) == (413, "application/problem+json")
    assert answer.json()["status"] == 413


Remote = Any


@pytest.fixture(scope="module")
def remote(server: Up, seeded: Seeded, tmp_path_factory: pytest.TempPathFactory) -> Remote:
    """The command line on another machine: its data folder is empty and stays so."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    token = elsewhere / "token"
    token.write_text(seeded.known["tokens"]["ada"] + "\n")

    def call(*words: str, code: int = 0, **more: str) -> str:
        how = {**environment(elsewhere / "home"), "AISWE_SERVER": server.address, **more}
        argv = [*COMMAND, "--token-file", str(token), *words]
        done = subprocess.run(argv, env=how, capture_output=True, text=True, timeout=WAIT_S)
        assert done.returncode == code, done
        assert not (elsewhere / "home").exists()
        assert seeded.known["tokens"]["ada"] not in done.stdout + done.stderr
        return done.stdout if code == 0 else done.stdout + done.stderr

    return call


def test_commands_print_elsewhere_what_they_print_here(remote: Remote, seeded: Seeded) -> None:
    run_id, plan = str(seeded.known["run"]), str(seeded.known["plan"])
    for words in (
        ["plan", "show", plan],
        ["approvals", "show", "1"],
        ["plan", "list"],
        ["history"],
        ["project", "list"],
    ):
        here = json.loads(aiswe(*words, "--json", home=seeded.home).stdout)
        there = json.loads(remote(*words, "--json"))
        one_here, one_there = (here[0], there[0]) if isinstance(here, list) else (here, there)
        assert set(one_here) <= set(one_there), words
        assert {name: one_here[name] for name in ("project", "status") if name in one_here}.items() <= one_there.items()
    shown = aiswe("plan", "show", plan, home=seeded.home).stdout
    assert remote("plan", "show", plan).splitlines()[1:] == shown.splitlines()[1:]  # the first has the project's name
    here = json.loads(aiswe("run", "show", run_id, "--json", home=seeded.home).stdout)
    there = json.loads(remote("run", "show", run_id, "--json"))
    assert set(here) <= set(there)
    assert [set(row) for row in here["by_task"]] <= [set(row) for row in there["by_task"]]


def test_a_project_goes_from_its_document_to_a_planning_run_from_elsewhere(remote: Remote, tmp_path: Path) -> None:
    prd = tmp_path / "prd.md"
    prd.write_text("# Shop\n\nFR-01 The shop shall sell.\n")
    made = json.loads(remote("project", "new", "Shop", "--prd", str(prd), "--json"))
    assert made["slug"] == "shop"
    assert "FR-01" in remote("requirements", "show", "shop")
    confirmed = json.loads(remote("requirements", "confirm", "shop", "--json"))
    assert confirmed["accepted"]
    assert f"Run {made['run']} of shop" in remote("run", "cancel", str(made["run"]))
    watched = remote("run", "watch", str(made["run"]), code=1)
    assert "run.queued" in watched
    assert "cancelled" in watched
    tickets = tmp_path / "tickets.txt"
    tickets.write_text("S-1 Sell more\n")
    assert "S-1" in remote("backlog", "add", "shop", str(tickets))
    assert "Assigned: S-1" in remote("backlog", "assign", "shop", "S-1")


def test_decisions_are_made_and_trails_verified_from_elsewhere(remote: Remote, seeded: Seeded) -> None:
    assert "Install httpx" in remote("approvals", "list", "--project", "todo-api")
    number = str(seeded.known["approval"])
    assert "Rejected: Install httpx" in remote("approvals", "answer", number, "no", "--reason", "Do without.")
    assert "Do without." in remote("approvals", "show", number)
    assert "was rejected by ada" in remote("approvals", "answer", number, "yes", code=1)
    assert "nothing changed" in remote("audit", "verify", str(seeded.known["run"]))
    assert "audit.export" in remote("audit", "export", str(seeded.known["run"]), code=1)
    assert "delivered" in remote("report", "weekly")
    assert "There is no run 999" in remote("run", "show", "999", code=2)


@pytest.mark.parametrize("words", ["up", "doctor", "sandbox run ls", "plan validate x.json", "requirements read x.md"])
def test_a_command_of_the_installations_machine_says_so(
    monkeypatch: pytest.MonkeyPatch, cli: CommandLine, words: str
) -> None:
    monkeypatch.setenv("AISWE_SERVER", "https://swe.example.org")
    assert "on the machine of the installation alone" in cli.refuses(*words.split())


TOKEN = f"aiswe_{'0' * 10}_{'x' * 43}"


@each_row(
    ("server", "token", "code", "said"),
    [
        ("http://swe.example.org", TOKEN, 2, "A token is not sent to swe.example.org without encryption."),
        ("http://127.0.0.1.example.org", TOKEN, 2, "without encryption"),
        ("http://localhost@evil.example", TOKEN, 2, "without a name or token"),
        ("ftp://localhost", TOKEN, 2, "The server is not an address."),
        ("localhost:8000", TOKEN, 2, "The server is not an address."),
        ("http://[::1", TOKEN, 2, "cannot be read"),
        ("http://127.0.0.1:1", "", 2, "A server needs a token."),
        ("http://127.0.0.1:1", "secret\nX-Other: 1", 2, "AISWE_TOKEN does not hold a token"),
        ("http://127.0.0.1:1", TOKEN, 3, "127.0.0.1 cannot be reached (ConnectError)."),
    ],
)
def test_a_server_that_cannot_be_is_refused_and_the_token_is_not_said(
    monkeypatch: pytest.MonkeyPatch, cli: CommandLine, server: str, token: str, code: int, said: str
) -> None:
    monkeypatch.setenv("AISWE_TOKEN", token)
    refusal = cli.refuses("--server", server, "project", "list", code=code)
    assert said in refusal
    assert "x" * 43 not in refusal
    assert "secret" not in refusal


def test_a_wrong_token_is_named_with_the_way_to_another(
    server: Up, monkeypatch: pytest.MonkeyPatch, cli: CommandLine
) -> None:
    monkeypatch.setenv("AISWE_TOKEN", TOKEN)
    answer = cli.answers("--server", server.address, "project", "list", code=1)
    assert "wrong, revoked or expired" in answer["error"]
    assert "aiswe config token" in cli.err


def test_a_token_without_a_server_is_wrong_use(cli: CommandLine, tmp_path: Path) -> None:
    words = ("--token-file", str(tmp_path / "none"), "project", "list")
    cli.refuses(*words)
    assert "cannot be read as a token" in cli.refuses("--server", "http://127.0.0.1:1", *words)
