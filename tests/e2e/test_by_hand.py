"""The site used by keyboard, without JavaScript, and without losing one's place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.e2e.accessibility import complaints_of
from tests.e2e.server import Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


def test_keys_lead_through_the_site(site: Site, story: dict[str, Any], window: Callable[..., Any]) -> None:
    page = window("/")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    for key, path in (
        ("r", "/runs"),
        ("w", "/reports"),
        ("i", "/approvals"),
        ("a", "/audit"),
        ("s", "/system"),
        ("p", "/"),
    ):
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(site.url + path)
    page.keyboard.press("?")
    page.wait_for_url(site.url + "/keys")
    page.goto(f"{site.url}/runs/{story['run']}")
    page.keyboard.press("/")
    expect(page.locator("#f-q")).to_be_focused()
    page.keyboard.type("gr?")
    assert page.url.endswith(f"/runs/{story['run']}"), "keys do nothing while somebody types"
    page.keyboard.press("Escape")
    page.keyboard.press("e")
    expect(page.locator("#stream .ev.tone-err a.s:focus")).to_have_count(1)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("#inspector h3")).to_be_visible()
    page.keyboard.press("f")
    expect(page.locator("#follow")).to_have_attribute("aria-pressed", "true")


def test_shortcuts_can_be_switched_off(site: Site, window: Callable[..., Any]) -> None:
    page = window("/keys")
    page.get_by_role("button", name="Switch single-key shortcuts off").click()
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page.get_by_role("button", name="Switch single-key shortcuts on")).to_be_visible()
    assert page.url == site.url + "/keys"


def test_the_graph_is_one_stop_and_arrows_walk_it(story: dict[str, Any], window: Callable[..., Any]) -> None:
    page = window(f"/p/{story['project']}/plan")
    assert page.locator(".dag a.node[tabindex='0']").count() == 1
    page.locator(".dag a.node[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    first = page.evaluate("document.activeElement.dataset.key")
    page.keyboard.press("ArrowDown")
    second = page.evaluate("document.activeElement.dataset.key")
    assert {first, second} == {"T-02", "T-03"}
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.key") == "T-04"
    page.keyboard.press("Home")
    assert page.evaluate("document.activeElement.dataset.key") == "T-01"


def test_the_theme_stays_without_a_flash(site: Site, window: Callable[..., Any]) -> None:
    page = window("/")
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(15, 19, 25)"


def test_a_preview_comes_without_leaving_the_form(window: Callable[..., Any]) -> None:
    page = window("/projects/new")
    page.get_by_label("Name").fill("Todo")
    page.get_by_label("Or paste it").fill("# A\n\nFR-01 The API shall add.\n")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview")).to_contain_text("1 requirement")
    expect(page.get_by_label("Name")).to_have_value("Todo")


def test_a_list_that_is_polled_keeps_the_focus(site: Site, window: Callable[..., Any]) -> None:
    page = window("/runs")
    link = page.locator("#runs th a").first
    link.focus()
    page.evaluate(
        """new Promise((done, fail) => {
            document.addEventListener('htmx:after:swap', () => done(), { once: true });
            setTimeout(() => fail(new Error('the list was not polled')), 60000);
        })"""
    )
    assert page.evaluate("document.activeElement.tagName") == "A"


def test_from_upload_to_approval_without_javascript(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    page = window("/sign-in", signed_in=False, java_script_enabled=False)
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill(story["password"])
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="New project").click()
    page.get_by_label("Name").fill("By hand")
    page.get_by_label("Upload a document").set_input_files(
        {
            "name": "prd.md",
            "mimeType": "text/markdown",
            "buffer": b"# A\n\nFR-01 The API shall add.\n\nFR-02 It must list.\n",
        }
    )
    page.get_by_role("button", name="Extract requirements").click()
    page.get_by_role("button", name="Reject R2 (FR-02)").click()
    page.get_by_role("link", name="Edit R1 (FR-01)").click()
    page.get_by_label("Text").fill("The API shall add a to-do.")
    page.get_by_role("button", name="Keep").click()
    page.get_by_role("button", name="Confirm requirements").click()
    expect(page.get_by_role("button", name="Make a plan")).to_be_visible()

    page.goto(f"{site.url}/p/{story['other']}/plan")
    page.get_by_role("link", name="Edit T-01").click()
    page.get_by_label("Minutes").fill("40")
    page.get_by_role("button", name="Save as a new version").click()
    page.get_by_role("link", name="Edit several tasks").click()
    page.get_by_role("button", name="Remove T-01").click()
    expect(page.locator("main")).to_contain_text("No task covers requirement FR-01")
    expect(page.get_by_role("button", name="Save 1 edit as v4")).to_be_disabled()
    page.get_by_role("button", name="Take back the last").click()
    page.get_by_role("link", name="Split T-02").click()
    page.get_by_label("Title of the second part").fill("Write the tests of it")
    page.get_by_role("button", name="Add to the draft").click()
    page.get_by_role("button", name="Save 1 edit as v4").click()
    expect(page.locator("main")).to_contain_text("1 edit saved as plan v4")
    page.get_by_role("button", name="Approve plan v4").click()
    expect(page.locator("main")).to_contain_text("Plan v4 is approved and pinned to")
    page.get_by_role("button", name="Start building").click()
    expect(page.locator("#stream")).to_contain_text("building plan v4")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#run-status")).to_contain_text("cancelled")

    page.goto(f"{site.url}/runs/{story['run']}/e/6")
    expect(page.locator("#inspector")).to_contain_text("event 6")
    page.goto(f"{site.url}/approvals/{story['approval']}")
    page.get_by_role("button", name="Approve").click()
    expect(page.locator("main")).to_contain_text("Approved: Install httpx")


def test_the_palette_opens_a_task_from_any_page_without_a_mouse(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    page = window("/system")
    page.keyboard.press("Control+k")
    expect(page.locator("#palette-q")).to_be_focused()
    expect(page.locator("#palette-found a").first).to_be_visible()
    page.keyboard.type("T-02")
    expect(page.locator("#palette-found h2").first).to_have_text("Tasks")
    expect(page.locator(".found")).to_have_attribute("data-q", "T-02")
    assert complaints_of(page) == []
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site.url}/tasks/*")


def test_enter_in_the_palette_waits_for_what_was_typed_last(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    page = window("/system")
    page.keyboard.press("Control+k")
    expect(page.locator("#palette-found a").first).to_be_visible()  # the newest work: not what is looked for
    page.keyboard.type("T-02")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site.url}/tasks/*")


def test_a_palette_that_is_opened_while_the_page_still_gets_ready_searches_all_the_same(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    page = window("/system")
    page.add_init_script(  # htmx reads a page after its load event
        "addEventListener('load', () => {"
        "  document.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true }));"
        "  document.getElementById('palette-q').value = 'T-02';"
        "})"
    )
    page.reload()
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site.url}/tasks/*")


def test_the_work_of_a_manager_without_javascript(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    page = window(f"/p/{site.do('backlog')['project']}/backlog", java_script_enabled=False)
    page.get_by_label("Paste tickets").fill("CL-200 Print the day\nCL-201 Count the visits")
    page.get_by_role("button", name="Add").click()
    page.get_by_label("Select CL-200").check()
    page.get_by_label("Estimate in minutes").fill("1 h 30")
    page.get_by_role("button", name="Estimate").click()
    page.get_by_label("Select CL-200").check()
    page.get_by_role("button", name="Assign to agents").click()
    row = page.locator(".tick tbody tr", has_text="CL-200")
    expect(row).to_contain_text("1 h 30")
    expect(row).not_to_contain_text("not assigned")
    page.get_by_label("Machine hours a night").fill("9")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("main")).to_contain_text("of 9 h 00")

    page.goto(f"{site.url}/reports/weekly")
    page.get_by_label("Project", exact=True).select_option("todo-api")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("main")).to_contain_text("Todo API")
    with page.expect_download() as csv:
        page.get_by_role("link", name="CSV").click()
    assert csv.value.suggested_filename.startswith("costs-")

    page.goto(f"{site.url}/p/{story['project']}/trace")
    page.get_by_role("link", name="In work").click()
    expect(page.locator("main")).to_contain_text("in work")
    page.goto(f"{site.url}/account/notifications")
    page.get_by_label("Run finished: Title and icon").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("Run finished: Title and icon")).to_be_checked()
    page.goto(f"{site.url}/audit/{story['run']}")
    page.get_by_role("button", name="Verify now").click()
    expect(page.locator("main")).to_contain_text("no gaps, all hashes match")
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
