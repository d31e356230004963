"""The account pages and both steps of signing in, in a real browser; and a frame over the server's limit."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pyotp
import pytest
from playwright.sync_api import expect

from tests.e2e.accessibility import complaints_of
from tests.e2e.server import Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
THEMES = ("light", "dark")


def test_a_token_is_made_shown_once_and_opens_the_api(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    page = window("/account", theme="dark")
    page.get_by_label("Name").fill("CI")
    page.get_by_label("run: start").check()
    page.locator("#id_tok-password").fill(story["password"])
    page.get_by_role("button", name="Make a token").click()
    text = page.locator("#token").inner_text()
    assert complaints_of(page) == []
    answer = page.request.get(f"{site.url}/api/v1/me", headers={"Authorization": f"Bearer {text}"})
    assert answer.json()["user"] == "ada"
    assert page.request.get(f"{site.url}/api/v1/me").status == 401, "the cookie alone does not open it"
    page.get_by_role("link", name="I have it").click()
    page.get_by_role("button", name="Revoke CI").first.click()
    expect(page.locator("main")).to_contain_text("CI is revoked")
    answer = page.request.get(f"{site.url}/api/v1/me", headers={"Authorization": f"Bearer {text}"})
    assert answer.status == 401


@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing_where_a_secret_is_shown_once(
    site: Site, story: dict[str, Any], window: Callable[..., Any], theme: str
) -> None:
    session = site.do("person", name=f"joan-{theme}")["session"]
    page = window("/sign-in", signed_in=False, theme=theme)
    page.context.add_cookies([{"name": "aiswe_session", "value": session, "url": site.url}])
    page.goto(f"{site.url}/account")
    page.get_by_label("Name").fill("CI")
    page.locator("#id_tok-password").fill(story["password"])
    page.get_by_label("run: start").check()
    page.get_by_role("button", name="Make a token").click()
    expect(page.locator("#token")).to_be_visible()
    assert complaints_of(page) == []
    page.goto(f"{site.url}/account/second-factor")
    secret = page.locator("#secret").inner_text().replace(" ", "")
    page.get_by_label("Your password").fill(story["password"])
    page.get_by_label("Code", exact=True).fill(pyotp.TOTP(secret).now())
    page.get_by_role("button", name="Turn it on").click()
    expect(page.locator(".codes li")).to_have_count(10)
    assert complaints_of(page) == []
    page.set_viewport_size({"width": 320, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing_on_the_trails_an_administrator_sees(
    site: Site, story: dict[str, Any], window: Callable[..., Any], theme: str
) -> None:
    session = site.do("person", name=f"root-{theme}", superuser=True)["session"]
    page = window("/sign-in", signed_in=False, theme=theme)
    page.context.add_cookies([{"name": "aiswe_session", "value": session, "url": site.url}])
    for path in (f"/audit/{story['run']}", "/audit/site"):
        page.goto(site.url + path)
        page.get_by_role("button", name="Verify now").click()
        expect(page.locator("main")).to_contain_text("no gaps, all hashes match")
        assert complaints_of(page) == []
    with page.expect_download() as found:
        page.get_by_role("link", name="Export, signed").click()
    assert found.value.suggested_filename == "site-audit-jsonl-signed.zip"
    page.set_viewport_size({"width": 320, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_the_second_factor_from_set_up_to_signing_in_without_javascript(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    site.do("person", name="grace")
    page = window("/sign-in", signed_in=False, java_script_enabled=False)
    page.get_by_label("Username").fill("grace")
    page.get_by_label("Password").fill(story["password"])
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="grace").click()
    page.get_by_role("link", name="Set it up").click()
    secret = page.locator("#secret").inner_text().replace(" ", "")
    page.get_by_label("Your password").fill(story["password"])
    page.get_by_label("Code", exact=True).fill(pyotp.TOTP(secret).now())
    page.get_by_role("button", name="Turn it on").click()
    codes = page.locator(".codes li").all_inner_texts()
    assert len(codes) == 10
    page.get_by_role("button", name="Sign out").click()

    page.get_by_label("Username").fill("grace")
    page.get_by_label("Password").fill(story["password"])
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading")).to_have_text("Your code")
    page.goto(f"{site.url}/runs")
    expect(page).to_have_url(re.compile("/sign-in"))
    page.goto(f"{site.url}/sign-in/code")
    page.get_by_label("Code", exact=True).fill(codes[4])
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(f"{site.url}/")


@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing_on_the_second_step_nor_on_a_wait(
    site: Site, story: dict[str, Any], window: Callable[..., Any], theme: str
) -> None:
    site.do("person", name=f"hedy-{theme}", factor=True)
    page = window("/sign-in", signed_in=False, theme=theme, quiet=True)
    page.get_by_label("Username").fill(f"hedy-{theme}")
    page.get_by_label("Password").fill(story["password"])
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading")).to_have_text("Your code")
    assert complaints_of(page) == []
    for _ in range(6):
        page.get_by_label("Code", exact=True).fill("000 000")
        page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("Try again in")
    assert complaints_of(page) == []


def test_signing_out_ends_the_stream_in_another_tab_at_once(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    session = site.do("person", name="mary", project=story["project"])["session"]
    page = window("/", signed_in=False)
    page.context.add_cookies([{"name": "aiswe_session", "value": session, "url": site.url}])
    page.goto(f"{site.url}/runs/{story['run']}")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    page.evaluate(
        """run => {
            const it = new WebSocket(`ws://${location.host}/ws/runs/${run}`);
            window.heard = new Promise(done => { it.onmessage = () => done(true); });
            window.ended = new Promise(done => { it.onclose = event => done(event.code); });
        }""",
        story["run"],
    )
    # Not wait_for_function: what it polls with is evaluated in the page, which the content policy forbids.
    assert page.evaluate("Promise.race([window.heard, new Promise(d => setTimeout(d, 8000, false))])")
    other = page.context.new_page()
    other.goto(f"{site.url}/account")
    other.get_by_role("button", name="Sign out", exact=True).click()
    assert page.evaluate("Promise.race([window.ended, new Promise(d => setTimeout(d, 8000, 0))])") == 4401


def test_a_frame_over_the_servers_limit_is_cut_off(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    page = window("/keys", quiet=True)
    code = page.evaluate(
        """run => new Promise(done => {
            const it = new WebSocket(`ws://${location.host}/ws/runs/${run}`);
            it.onopen = () => it.send('x'.repeat(20_000_000));
            it.onclose = event => done(event.code);
        })""",
        story["run"],
    )
    assert code in (1009, 4429, 1006)
    assert page.request.get(f"{site.url}/keys").status == 200, "the server goes on"
