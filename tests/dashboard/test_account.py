"""One's own account: each change takes the password again, and others are signed out where they should be."""

import re
from typing import Any

import pyotp
import pytest
from django.test import Client

from dashboard.views.account import qr_path
from projects.models import ApiToken, BrowserSession
from projects.services.accounts import api_tokens, second_factor
from tests.factories import PASSWORD, make_user
from tests.rows import fresh

pytestmark = pytest.mark.django_db
NEW = "quite another passphrase"


@pytest.fixture
def ada(client: Client) -> Any:
    user = make_user("ada")
    client.force_login(user)
    return user


@pytest.fixture
def elsewhere(ada: Any) -> Client:
    """Ada's other browser."""
    other = Client()
    other.force_login(ada)
    return other


def change(client: Client, old: str = PASSWORD, new: str = NEW, again: str = NEW) -> Any:
    return client.post("/account/password", {"pw-old": old, "pw-new": new, "pw-again": again})


def make(client: Client, **more: Any) -> Any:
    form = {"name": "CI", "scopes": ["read"], "days": 30, "password": PASSWORD, **more}
    return client.post("/account/tokens", {f"tok-{name}": value for name, value in form.items()})


def test_a_new_password_signs_other_browsers_out(ada: Any, client: Client, elsewhere: Client) -> None:
    assert change(client)["Location"] == "/account"
    assert client.get("/runs").status_code == 200
    assert elsewhere.get("/runs").status_code == 302
    assert fresh(ada).check_password(NEW)


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"old": "wrong"}, "not your current password"),
        ({"again": "other"}, "differ"),
        ({"new": "12345678", "again": "12345678"}, "too common"),
        ({"new": PASSWORD, "again": PASSWORD}, "is the same as the old one"),
        ({"old": ""}, "required"),
    ],
)
def test_a_password_that_cannot_be_is_refused_on_the_page(ada: Any, client: Client, form: dict, words: str) -> None:
    answer = change(client, **form)
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert fresh(ada).check_password(PASSWORD)


def test_guessing_the_password_in_an_open_browser_is_slow_too(ada: Any, client: Client) -> None:
    statuses = [change(client, old="wrong").status_code for _ in range(6)]
    assert statuses == [422] * 5 + [429]
    answer = make(client)
    assert answer.status_code == 429
    assert "Retry-After" in answer


def test_signing_out_everywhere_leaves_this_browser(ada: Any, client: Client, elsewhere: Client) -> None:
    token, _ = api_tokens.make_token(ada, name="x", scopes=["read"], days=1)
    client.post("/account/sign-out-everywhere")
    assert elsewhere.get("/runs").status_code == 302
    assert client.get("/runs").status_code == 200
    assert fresh(token).works
    client.post("/account/sign-out-everywhere", {"tokens": "on"})
    assert not fresh(token).works


def test_sessions_of_others_go_on(ada: Any, client: Client) -> None:
    eve = Client()
    eve.force_login(make_user("eve"))
    client.post("/account/sign-out-everywhere")
    assert eve.get("/runs").status_code == 200
    assert BrowserSession.objects.count() == 2


def offered(client: Client) -> str:
    client.get("/account/second-factor")
    return str(client.session["offered_secret"])


def test_a_second_factor_shows_its_qr_code_and_codes_once(ada: Any, client: Client, elsewhere: Client) -> None:
    page = client.get("/account/second-factor")
    secret = client.session["offered_secret"]
    assert page["Cache-Control"].count("no-store") == 1
    assert secret in page.content.decode().replace(" ", "")
    assert qr_path(second_factor.address_of(secret, ada))[0] in page.content.decode()
    answer = client.post("/account/second-factor", {"password": PASSWORD, "code": pyotp.TOTP(secret).now()})
    codes = re.findall(r"<li>([a-z2-9]{4}-[a-z2-9]{4}-[a-z2-9]{4})</li>", answer.content.decode())
    assert len(codes) == 10
    assert second_factor.check(ada, codes[0])
    assert codes[1] not in client.get("/account").content.decode()
    assert "offered_secret" not in client.session
    assert elsewhere.get("/runs").status_code == 302
    assert client.get("/account/second-factor")["Location"] == "/account"


def test_the_qr_code_reads_as_the_address() -> None:
    path, side = qr_path("otpauth://totp/AI%20SWE:ada?secret=JBSWY3DPEHPK3PXP&issuer=AI%20SWE")
    assert re.fullmatch(r"(M\d+ \d+h1v1h-1z)+", path)
    assert (side - 8 - 17) % 4 == 0, "the sides QR codes have"


@pytest.mark.parametrize("wrong", ["password", "code"])
def test_it_takes_password_and_code_to_turn_it_on_and_off(ada: Any, client: Client, wrong: str) -> None:
    secret = offered(client)
    form = {"password": PASSWORD, "code": pyotp.TOTP(secret).now(), wrong: "000"}
    assert client.post("/account/second-factor", form).status_code == 422
    assert not second_factor.has_one(ada)
    codes = second_factor.turn_on(ada, secret, pyotp.TOTP(secret).now())
    form = {"off-password": PASSWORD, "off-code": codes[0], f"off-{wrong}": "000"}
    assert client.post("/account/second-factor/change", {**form, "do": "off"}).status_code == 422
    assert second_factor.has_one(ada)
    form = {"off-password": PASSWORD, "off-code": codes[1], "do": "codes"}
    assert "shown only once" in client.post("/account/second-factor/change", form).content.decode()
    assert not second_factor.check(ada, codes[2])
    form |= {"off-code": second_factor.renew_codes(ada)[0], "do": "off"}
    assert client.post("/account/second-factor/change", form)["Location"] == "/account"
    assert not second_factor.has_one(ada)


def test_a_token_is_shown_once_and_can_be_revoked(ada: Any, client: Client) -> None:
    answer = make(client, scopes=["read", "run"])
    text = re.search(r"aiswe_[0-9a-f]{10}_[\w-]{43}", answer.content.decode())
    assert text
    assert "no-store" in answer["Cache-Control"]
    token = api_tokens.find(text[0])
    assert token is not None
    assert token.scopes == ["read", "run"]
    assert text[0] not in client.get("/account").content.decode()
    client.post(f"/account/tokens/{token.pk}/revoke")
    assert api_tokens.find(text[0]) is None
    assert client.post(f"/account/tokens/{token.pk}/revoke").status_code == 422


@pytest.mark.parametrize(
    "form", [{"password": "wrong"}, {"scopes": []}, {"scopes": ["root"]}, {"days": 0}, {"name": ""}]
)
def test_a_token_that_cannot_be_is_not_made(ada: Any, client: Client, form: dict[str, Any]) -> None:
    assert make(client, **form).status_code == 422
    assert not ApiToken.objects.exists()
