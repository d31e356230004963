"""aiswe config: tokens and second factors, for whoever runs the server."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pyotp
import pytest

from aiswe_site.cli.app import run
from aiswe_site.startup import django
from projects.models import ApiToken, SiteEvent
from projects.services.accounts import api_tokens, second_factor
from tests.factories import make_user
from tests.rows import undone
from tests.tables import each_row

pytestmark = pytest.mark.django_db
Said = Callable[..., tuple[int, Any]]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Said:
    """Exit code and JSON of `aiswe config …`, in this process and its database."""
    monkeypatch.setattr(django, "start", lambda **_: None)

    def config(*words: str) -> tuple[int, Any]:
        code = run(["config", *words, "--json"])
        return code, json.loads(capsys.readouterr().out or "null")

    return config


def test_a_token_is_made_listed_and_revoked(said: Said) -> None:
    ada = make_user("ada")
    code, made = said("token", "ada", "--for", "CI", "--scope", "read", "--scope", "run", "--days", "7")
    assert (code, made["scopes"]) == (0, ["read", "run"])
    found = api_tokens.find(made["token"])
    assert found is not None
    assert found.user == ada
    (row,) = said("tokens", "ada")[1]["tokens"]
    assert (row["id"], row["works"]) == (made["id"], True)
    assert "token" not in row
    assert said("revoke", made["id"])[0] == 0
    assert api_tokens.find(made["token"]) is None
    assert SiteEvent.objects.get(action="token.revoked").actor == "command line"


@each_row(
    "words",
    [
        ("token", "eve", "--for", "CI"),
        ("token", "ada", "--for", "CI", "--scope", "root"),
        ("token", "ada", "--for", " "),
        ("token", "ada", "--for", "CI", "--days", "9999"),
        ("tokens", "eve"),
        ("revoke", "0000000000"),
        ("second-factor-off", "eve"),
    ],
)
@undone()
def test_what_cannot_be_is_wrong_use_with_a_way_out(said: Said, words: tuple[str, ...]) -> None:
    make_user("ada")
    code, answer = said(*words)
    assert code == 2
    assert answer["hint"]
    assert not ApiToken.objects.exists()


def test_a_lost_second_factor_is_turned_off_and_noted(said: Said) -> None:
    ada = make_user("ada")
    secret = second_factor.new_secret()
    second_factor.turn_on(ada, secret, pyotp.TOTP(secret).at(time.time()))
    assert said("second-factor-off", "ada") == (0, {"user": "ada", "was_on": True})
    assert said("second-factor-off", "ada") == (0, {"user": "ada", "was_on": False})
    assert not second_factor.has_one(ada)
    assert SiteEvent.objects.filter(action="second_factor.off", actor="command line").count() == 1


def test_a_new_password_by_the_operator_ends_the_sessions(said: Said) -> None:
    from tests.e2e.scenes import session_of

    ada = make_user("ada")
    session_of(ada)
    assert said("admin", "ada", "--password", "correct-horse-battery")[0] == 0
    assert not ada.browser_sessions.exists()
