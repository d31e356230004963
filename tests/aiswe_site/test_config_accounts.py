"""aiswe config: tokens and second factors, for whoever runs the server."""

from __future__ import annotations

import time

import pyotp
import pytest

from projects.models import ApiToken, SiteEvent
from projects.services.accounts import api_tokens, second_factor
from tests.aiswe_site.answers import CommandLine
from tests.factories import make_user
from tests.rows import undone
from tests.tables import each_row

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_process")]


def test_a_token_is_made_listed_and_revoked(cli: CommandLine) -> None:
    ada = make_user("ada")
    made = cli.answers("config", "token", "ada", "--for", "CI", "--scope", "read", "--scope", "run", "--days", "7")
    assert made["scopes"] == ["read", "run"]
    found = api_tokens.find(made["token"])
    assert found is not None
    assert found.user == ada
    (row,) = cli.answers("config", "tokens", "ada")["tokens"]
    assert (row["id"], row["works"]) == (made["id"], True)
    assert "token" not in row
    cli.answers("config", "revoke", made["id"])
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
def test_what_cannot_be_is_wrong_use_with_a_way_out(cli: CommandLine, words: tuple[str, ...]) -> None:
    make_user("ada")
    assert cli.answers("config", *words, code=2)["hint"]
    assert not ApiToken.objects.exists()


def test_a_lost_second_factor_is_turned_off_and_noted(cli: CommandLine) -> None:
    ada = make_user("ada")
    secret = second_factor.new_secret()
    second_factor.turn_on(ada, secret, pyotp.TOTP(secret).at(time.time()))
    assert cli.answers("config", "second-factor-off", "ada") == {"user": "ada", "was_on": True}
    assert cli.answers("config", "second-factor-off", "ada") == {"user": "ada", "was_on": False}
    assert not second_factor.has_one(ada)
    assert SiteEvent.objects.filter(action="second_factor.off", actor="command line").count() == 1


def test_a_new_password_by_the_operator_ends_the_sessions(cli: CommandLine) -> None:
    from tests.e2e.scenes import session_of

    ada = make_user("ada")
    session_of(ada)
    cli.answers("config", "admin", "ada", "--password", "correct-horse-battery")
    assert not ada.browser_sessions.exists()
