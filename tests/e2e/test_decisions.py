"""Decisions from their evidence in a real browser: two clicks, the keyboard alone, and without JavaScript."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.e2e.accessibility import complaints_of
from tests.e2e.server import Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def gate(site: Site, story: dict[str, Any]) -> dict[str, Any]:
    """A question of the security gate, in a project of its own."""
    return site.do("gate")


def test_comments_on_lines_go_as_one_request_without_javascript(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    page = window(f"/tasks/{story['task']}", java_script_enabled=False)
    page.get_by_role("button", name="Reviewed app/todos.py").first.click()
    expect(page.locator("#diff")).to_contain_text("1 of 2 files reviewed")
    region = page.get_by_role("region", name="Diff of app/run.py", exact=True)
    region.get_by_role("link", name="Comment on line 4").click()
    page.get_by_label("Comment on app/run.py:4").fill("Pass the command as a list.")
    page.get_by_role("button", name="Add to the draft").click()
    expect(page.locator("#diff")).to_contain_text("Your draft: 1 comment")
    page.get_by_role("button", name="Send as one request for changes").click()
    expect(page.locator("main")).to_contain_text("T-02 goes back with 1 comment, as one request.")
    page.goto(f"{site.url}/tasks/{story['task']}")
    expect(page.locator("main")).to_contain_text("ready")


def test_a_gate_is_accessible_and_answered_from_the_inbox_with_two_presses_of_enter(
    site: Site, gate: dict[str, Any], window: Callable[..., Any]
) -> None:
    for theme in ("light", "dark"):
        page = window(f"/tasks/{gate['task']}/gate", theme=theme)
        expect(page.get_by_role("button", name="Approve: scan T-03 again")).to_be_disabled()
        assert complaints_of(page) == []
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        expect(page.locator(".phone-bar button")).to_be_visible()
    page = window("/approvals")
    page.get_by_role("link", name="Decide", exact=True).focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site.url}/tasks/{gate['task']}/gate")
    expect(page.get_by_role("button", name="Send back with 1 finding")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("T-03 was sent back with 1 finding.")
    expect(page.locator("main")).to_contain_text("Next: Install httpx")
