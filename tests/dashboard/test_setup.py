"""The page that makes the first administrator: there while nobody can sign in, and only for who owns the server."""

import stat
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from projects.services.accounts import console_token
from projects.services.accounts.users import create_first_admin

pytestmark = pytest.mark.django_db
FORM = {"username": "ada", "password": "a long passphrase", "again": "a long passphrase"}


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Client:
    """A browser on the machine itself, and a server that only it can reach."""
    monkeypatch.setattr(console_token, "_bound_to", "127.0.0.1")
    settings.ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
    return Client(headers={"host": "localhost:8000"})


def test_users_of_commands_and_of_the_demo_do_not_hide_it(here: Client, django_user_model: Any) -> None:
    for name in ("operator", "demo-architect"):
        django_user_model.objects.create_user(name)
    assert here.get("/sign-in")["Location"] == "/setup"
    assert b"Set-up token" not in here.get("/setup").content
    assert here.post("/setup", FORM)["Location"] == "/"
    assert django_user_model.objects.get(username="ada").is_superuser


def test_a_name_that_is_taken_is_refused_on_the_page(here: Client, django_user_model: Any) -> None:
    django_user_model.objects.create_user("ada")
    answer = here.post("/setup", FORM)
    assert answer.status_code == 422
    assert "already exists" in answer.content.decode()


def test_it_is_gone_once_somebody_can_sign_in(client: Client, django_user_model: Any) -> None:
    django_user_model.objects.create_user("ada", password="a long passphrase")
    assert client.get("/setup").status_code == 404
    assert client.post("/setup", FORM).status_code == 404
    assert client.get("/sign-in").status_code == 200


def ask(client: Client, token: str = "", **more: Any) -> int:
    """The status of a try to become the administrator."""
    return client.post("/setup", {**FORM, "token": token}, **more).status_code


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "swe.example"},
        {"x-forwarded-for": "203.0.113.9"},
        {"x-forwarded-proto": "http"},
        {"x-real-ip": "203.0.113.9"},
        {"forwarded": "for=203.0.113.9"},
        {"via": "1.1 proxy"},
    ],
)
def test_whoever_may_come_through_a_proxy_needs_the_token(here: Client, settings: Any, headers: dict[str, str]) -> None:
    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, *(["swe.example"] if "host" in headers else [])]
    console_token.issue(console_token.SETUP)
    assert ask(here, headers=headers) == 422
    assert not User.objects.exists()


def test_whoever_is_on_another_machine_needs_the_token(here: Client) -> None:
    assert ask(here, REMOTE_ADDR="192.0.2.7") == 422
    assert not User.objects.exists()


@pytest.mark.parametrize("bound", ["", "0.0.0.0", "::", "192.0.2.1"])
def test_a_server_others_can_reach_asks_everyone(here: Client, monkeypatch: pytest.MonkeyPatch, bound: str) -> None:
    monkeypatch.setattr(console_token, "_bound_to", bound)
    assert b"Set-up token" in here.get("/setup").content
    assert ask(here) == 422
    assert not User.objects.exists()


def test_the_token_works_once_and_only_the_newest_does(client: Client) -> None:
    old = console_token.issue(console_token.SETUP)
    token = console_token.issue(console_token.SETUP)
    assert [ask(client, given) for given in (old, "", "wrong")] == [422, 422, 422]
    assert ask(client, f" {token} ") == 302
    User.objects.all().delete()
    assert ask(Client(), token) == 422


def test_the_token_is_kept_as_a_hash_that_its_owner_alone_can_read(settings: Any) -> None:
    token = console_token.issue(console_token.SETUP)
    path = Path(settings.AISWE_HOME) / console_token.SETUP
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert token not in path.read_text()


def test_guessing_the_token_is_slowed_down(client: Client) -> None:
    console_token.issue(console_token.SETUP)
    tries = [client.post("/setup", {**FORM, "token": f"guess {number}"}) for number in range(40)]
    assert tries[-1].status_code == 429
    assert int(tries[-1]["Retry-After"]) > 0


def test_the_link_of_the_demo_signs_in_once_and_a_preview_of_it_uses_nothing(client: Client) -> None:
    create_first_admin("demo", "a passphrase nobody knows")
    token = console_token.issue(console_token.DEMO)
    link = f"/sign-in/demo?token={token}"
    assert client.get(link).status_code == 200
    assert "_auth_user_id" not in client.session
    assert client.post("/sign-in/demo", {"token": "wrong"}).status_code == 403
    assert client.post("/sign-in/demo", {"token": token})["Location"] == "/"
    assert "_auth_user_id" in client.session
    again = Client()
    assert again.post("/sign-in/demo", {"token": token}).status_code == 403
    assert "_auth_user_id" not in again.session
