"""Coming in: password, code, waits, session keys; and going out."""

import time
from typing import Any

import pyotp
import pytest
from django.conf import settings as site
from django.test import Client
from django.urls import reverse

from dashboard.access import address, gatekeeper
from projects.models import BrowserSession, SiteEvent
from projects.services.accounts import second_factor
from tests.factories import PASSWORD, make_user
from tests.tables import each_row

pytestmark = pytest.mark.django_db
FORM = {"username": "ada", "password": PASSWORD}


@pytest.fixture
def ada() -> Any:
    return make_user("ada")


@pytest.fixture
def secret(ada: Any) -> str:
    """Ada's second factor; the present code was not used yet."""
    secret = second_factor.new_secret()
    second_factor.turn_on(ada, secret, pyotp.TOTP(secret).at(time.time() - 30))
    return secret


def now(secret: str) -> str:
    return pyotp.TOTP(secret).now()


def signed_in(client: Client) -> bool:
    return client.get("/runs").status_code == 200


def test_a_password_opens_and_the_session_gets_a_new_key(ada: Any, client: Client) -> None:
    client.get("/sign-in")
    session = client.session
    session["planted"] = True
    session.save()
    before = session.session_key
    answer = client.post("/sign-in?next=/runs", {**FORM, "next": "/runs"})
    assert answer["Location"] == "/runs"
    assert client.session.session_key != before
    assert not BrowserSession.objects.filter(session_key=before).exists()
    assert BrowserSession.objects.get().user == ada
    assert SiteEvent.objects.get(action="session.started").actor == "ada"


@pytest.mark.parametrize("there", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_the_way_after_it_stays_on_this_site(ada: Any, client: Client, there: str) -> None:
    assert client.post("/sign-in", {**FORM, "next": there})["Location"] == "/"


def test_wrong_passwords_make_it_wait_and_the_page_says_how_long(ada: Any, client: Client) -> None:
    for _ in range(5):
        assert client.post("/sign-in", {**FORM, "password": "wrong"}).status_code == 200
    answer = client.post("/sign-in", FORM)
    assert answer.status_code == 429
    assert 0 < int(answer["Retry-After"]) <= 5
    assert "Try again in" in answer.content.decode()
    assert not signed_in(client)
    refused = SiteEvent.objects.filter(action="session.refused")
    assert {(row.subject, row.outcome) for row in refused} == {("ada", "fail")}


def test_who_is_unknown_is_answered_like_who_is_known(ada: Any, client: Client) -> None:
    def plain(name: str) -> str:
        page = client.post("/sign-in", {"username": name, "password": "wrong"}).content.decode()
        return "".join(line for line in page.splitlines() if "csrf" not in line).replace(name, "NAME")

    assert plain("ada") == plain("eve")


def test_what_was_typed_for_a_name_is_kept_only_if_somebody_has_it(ada: Any, client: Client) -> None:
    client.post("/sign-in", {"username": "my secret passphrase", "password": "x"})
    assert "passphrase" not in str(list(SiteEvent.objects.values()))


@each_row("name", ["", "\x00", "ada\x00", "\ud800", "x" * 10_000, "\u202eada", " ada "])
def test_any_name_gets_an_answer(ada: Any, client: Client, name: str) -> None:
    written = name.encode("utf-8", "surrogatepass")
    body = b"username=" + b"".join(b"%%%02X" % byte for byte in written) + b"&password=wrong"
    assert client.post("/sign-in", body, content_type="application/x-www-form-urlencoded").status_code == 200


def test_a_forwarded_address_counts_only_behind_the_proxy(ada: Any, client: Client, settings: Any) -> None:
    def tries(count: int) -> int:
        for number in range(count):
            answer = client.post("/sign-in", {**FORM, "password": "x"}, headers={"X-Forwarded-For": f"8.8.8.{number}"})
        return answer.status_code

    assert tries(7) == 429, "whoever is not behind it may write what they like there"
    settings.HTTPS = True
    assert tries(7) == 200
    headers = {"X-Forwarded-For": "1.2.3.4, 9.9.9.9"}
    for number in range(6):
        headers["X-Forwarded-For"] = f"1.2.3.{number}, 9.9.9.9"
        answer = client.post("/sign-in", {**FORM, "password": "x"}, headers=headers)
    assert answer.status_code == 429, "only what the proxy itself added counts"


@each_row(
    ("text", "place"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("10.0.0.1:4711", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("[2001:db8:1:2:3::4]:443", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::9", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("unknown", "unknown"),
        ("x" * 100, "x" * 64),
    ],
)
def test_one_household_is_one_place(text: str, place: str) -> None:
    assert address.one_place(text) == place


def test_with_a_second_factor_the_password_alone_opens_nothing(ada: Any, secret: str, client: Client) -> None:
    assert client.post("/sign-in", {**FORM, "next": "/runs"})["Location"] == "/sign-in/code"
    assert not signed_in(client)
    assert client.get("/admin/").status_code == 302
    before = client.session.session_key
    assert client.post("/sign-in/code", {"code": now(secret)})["Location"] == "/runs"
    assert signed_in(client)
    assert client.session.session_key != before
    assert "awaits_code" not in client.session


def test_a_wrong_code_is_refused_and_many_wait(ada: Any, secret: str, client: Client) -> None:
    client.post("/sign-in", FORM)
    statuses = [client.post("/sign-in/code", {"code": "12 34"}).status_code for _ in range(6)]
    assert statuses == [422] * 5 + [429]
    assert client.post("/sign-in/code", {"code": now(secret)}).status_code == 429
    # The wait holds for the account here, so beginning anew does not get around it.
    client.post("/sign-in", FORM)
    assert client.post("/sign-in/code", {"code": now(secret)}).status_code == 429
    assert not signed_in(client)


def test_a_recovery_code_stands_in_for_the_app(ada: Any, client: Client) -> None:
    secret = second_factor.new_secret()
    codes = second_factor.turn_on(ada, secret, now(secret))
    client.post("/sign-in", FORM)
    assert client.post("/sign-in/code", {"code": codes[3]}).status_code == 302
    assert signed_in(client)


@pytest.mark.parametrize("what", ["late", "password", "inactive", "future"])
def test_a_half_done_sign_in_does_not_wait_for_ever(ada: Any, secret: str, client: Client, what: str) -> None:
    client.post("/sign-in", FORM)
    if what in ("late", "future"):
        session = client.session
        session["awaits_code"] = {**session["awaits_code"], "at": time.time() + (-601 if what == "late" else 600)}
        session.save()
    elif what == "password":
        ada.set_password("another passphrase")
        ada.save()
    else:
        type(ada).objects.update(is_active=False)
    assert client.post("/sign-in/code", {"code": now(secret)})["Location"] == "/sign-in"
    assert not signed_in(client)


@pytest.mark.parametrize(("which", "age"), [(gatekeeper.SEEN, 12 * 3600 + 60), (gatekeeper.BEGAN, 7 * 86_400 + 60)])
def test_a_session_ends_when_it_is_not_used_or_too_old(ada: Any, client: Client, which: str, age: int) -> None:
    client.post("/sign-in", FORM)
    session = client.session
    session[which] = int(time.time()) - age
    session.save()
    assert client.get("/runs")["Location"].startswith("/sign-in")
    assert "too old or idle" in client.get("/sign-in").content.decode()


def test_only_a_person_keeps_a_session_alive(ada: Any, client: Client) -> None:
    client.post("/sign-in", FORM)

    def seen_after(**headers: str) -> bool:
        session = client.session
        long_ago = session[gatekeeper.SEEN] = int(time.time()) - 3600
        session.save()
        client.get("/runs", headers=headers)
        return bool(client.session[gatekeeper.SEEN] != long_ago)

    assert seen_after(**{"Sec-Fetch-Mode": "navigate"})
    assert seen_after(), "an old browser says nothing"
    assert not seen_after(**{"HX-Request": "true"})
    assert not seen_after(**{"Sec-Fetch-Mode": "cors"})


def test_signing_out_ends_the_session_for_good(ada: Any, client: Client) -> None:
    client.post("/sign-in", FORM)
    key = client.cookies[site.SESSION_COOKIE_NAME].value
    client.post("/sign-out")
    client.cookies[site.SESSION_COOKIE_NAME] = key
    assert not signed_in(client)
    assert not BrowserSession.objects.filter(user=ada).exists()


def test_a_session_cookie_is_not_for_scripts_nor_for_other_sites(ada: Any, client: Client) -> None:
    client.post("/sign-in", FORM)
    cookie = client.cookies[site.SESSION_COOKIE_NAME]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
    client.get("/account")
    cookie = client.cookies[site.CSRF_COOKIE_NAME]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")


def test_a_demanded_second_factor_is_set_up_before_anything_else(ada: Any, client: Client, settings: Any) -> None:
    settings.REQUIRE_SECOND_FACTOR = True
    client.post("/sign-in", FORM)
    for page in ("/", "/runs", "/account", "/admin/"):
        assert client.get(page)["Location"] == "/account/second-factor"
    assert client.get("/runs", headers={"HX-Request": "true"}).status_code == 403
    text = client.get("/account/second-factor").content.decode()
    assert "This server requires one." in text
    secret = client.session["offered_secret"]
    form = {"password": PASSWORD, "code": now(secret)}
    assert client.post("/account/second-factor", form).status_code == 200
    assert signed_in(client)


def test_the_back_office_has_no_door_of_its_own(ada: Any, client: Client) -> None:
    root = make_user("root", superuser=True)
    answer = client.post("/admin/login/?next=/admin/", {"username": "root", "password": PASSWORD})
    assert answer.status_code == 405
    assert client.get("/admin/login/?next=/admin/")["Location"] == "/sign-in?next=%2Fadmin%2F"
    client.force_login(ada)
    assert client.get("/admin/", follow=True).status_code == 403
    client.force_login(root)
    assert "Account of root" in client.get(reverse("admin:password_change")).content.decode()


def test_what_is_done_in_the_back_office_is_on_the_trail(ada: Any, client: Client) -> None:
    client.force_login(make_user("root", superuser=True))
    client.post(
        reverse("admin:auth_user_change", args=[ada.pk]),
        {"username": "ada", "is_staff": "on", "date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"},
    )
    row = SiteEvent.objects.get(action="back_office.changed")
    assert (row.actor, row.subject) == ("root", "user ada")
    assert "Staff status" in row.detail["what"]
