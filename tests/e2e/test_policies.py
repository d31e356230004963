"""What the site's policies allow in a browser, and a server that does not answer or is new."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.e2e.accessibility import complaints_of
from tests.e2e.server import Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


def test_a_part_that_cannot_be_renewed_says_so_until_it_can(site: Site, window: Callable[..., Any]) -> None:
    page = window("/runs", quiet=True)  # the browser itself complains about answers with an error
    expect(page.locator("#trouble")).to_be_hidden()
    page.route("**/runs", lambda route: route.fulfill(status=500, body="<b>broken</b>"))
    expect(page.locator("#trouble")).to_contain_text("error 500", timeout=20_000)
    expect(page.locator("#runs")).to_contain_text("Run 1")
    assert complaints_of(page) == []
    page.unroute("**/runs")
    page.route("**/runs", lambda route: route.abort())
    expect(page.locator("#trouble")).to_contain_text("is not responding", timeout=20_000)
    page.unroute("**/runs")
    expect(page.locator("#trouble")).to_be_hidden(timeout=20_000)


def test_htmx_obeys_no_element_that_the_server_did_not_sign(site: Site, window: Callable[..., Any]) -> None:
    page = window("/runs", quiet=True)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for nonce in ("", "AAAAAAAAAAAAAAAAAAAAAA=="):
        page.evaluate(
            """nonce => {
                const it = document.createElement('div');
                it.setAttribute('hx-get', '/keys');
                it.setAttribute('hx-trigger', 'load');
                if (nonce) it.setAttribute('hx-nonce', nonce);
                document.getElementById('main').append(it);
                htmx.process(it);
            }""",
            nonce,
        )
    with page.expect_response(lambda answer: answer.url == site.url + "/runs", timeout=20_000):
        pass  # what the server did sign still works
    assert not [url for url in asked if url.endswith("/keys")]


def test_text_becomes_markup_through_named_policies_alone(site: Site, window: Callable[..., Any]) -> None:
    page = window("/runs", quiet=True)
    refused = """() => {
        try { document.createElement('div').innerHTML = '<b>x</b>'; return ''; } catch (e) { return e.name; }
    }"""
    assert page.evaluate(refused) == "TypeError"
    assert page.evaluate(
        "() => { try { trustedTypes.createPolicy('other', {}); return ''; } catch (e) { return e.name; } }"
    )


def test_the_back_office_works_under_its_policy(
    chromium: Any, site: Site, story: dict[str, Any], tmp_path: Any
) -> None:
    own = Site(tmp_path)
    context = chromium.new_context()
    complaints: list[str] = []
    try:
        page = context.new_page()
        # Its pages name no icon, so the browser misses /favicon.ico.
        page.on("console", lambda m: complaints.append(m.text) if m.type == "error" and "404" not in m.text else None)
        page.on("pageerror", lambda e: complaints.append(str(e)))
        page.goto(own.url)
        page.get_by_label("Username").fill("root")
        page.get_by_label("Password", exact=True).fill("a long passphrase")
        page.get_by_label("Password again").fill("a long passphrase")
        page.get_by_role("button", name="Create and go on").click()
        for path in ("/admin/", "/admin/auth/user/", "/admin/auth/user/1/change/", "/admin/projects/project/"):
            page.goto(own.url + path)
            expect(page.locator("#content")).to_be_visible()
        assert complaints == []
    finally:
        context.close()
        own.kill()


def walk(page: Any, url: str, paths: list[str]) -> None:
    """Every page is accessible, in the one theme and the other by turns, and fits a phone."""
    for number, path in enumerate(paths):
        page.context.add_cookies([{"name": "theme", "value": ("light", "dark")[number % 2], "url": url}])
        page.set_viewport_size({"width": 1440, "height": 900})
        page.goto(f"{url}/{path}")
        assert complaints_of(page) == [], path
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path


def test_set_up_of_a_new_server(chromium: Any, tmp_path: Any) -> None:
    site = Site(tmp_path)
    context = chromium.new_context()
    try:
        page = context.new_page()
        page.goto(site.url)
        page.get_by_label("Username").fill("root")
        page.get_by_label("Password", exact=True).fill("a long passphrase")
        page.get_by_label("Password again").fill("a long passphrase")
        assert complaints_of(page) == []
        page.get_by_role("button", name="Create and go on").click()
        expect(page.get_by_role("heading", name="Watch the demo")).to_be_visible()
        expect(page.get_by_role("heading", name="Set up your model")).to_be_visible()
        assert complaints_of(page) == []
        every = "reports reports/weekly memory audit audit/site account account/notifications system system/backups"
        walk(page, site.url, every.split())
        page.goto(f"{site.url}/projects/new")
        page.get_by_label("Name").fill("Calendar")
        page.get_by_label("Or paste it").fill(
            "# Calendar\n\nFR-01 The API shall add an appointment.\n\n- It must list a day.\n- It must print a day.\n"
        )
        page.get_by_role("button", name="Extract requirements").click()
        expect(page.get_by_role("heading", name="to confirm")).to_be_visible()
        own = ("", "reqs", "plan", "backlog", "trace", "ask", "files", "baseline")
        walk(page, site.url, ["", *(f"p/1/{name}" for name in own)])
    finally:
        context.close()
        site.kill()
