"""How many clicks it takes from a question to its answer, in a real browser."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from scripts.screenshots import said
from tests.aiswe_site.running import REPOSITORY, environment
from tests.e2e.server import Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


class Clicks:
    """Counts what a person presses."""

    def __init__(self) -> None:
        self.count = 0

    def on(self, what: Locator) -> None:
        """Press it."""
        self.count += 1
        what.click()


@pytest.fixture
def clicks() -> Clicks:
    return Clicks()


def test_from_the_printed_address_to_something_that_moves(chromium: Any, clicks: Clicks, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "aiswe_site.cli", "demo", "--home", str(tmp_path), "--tokens-per-s", "30"]
    context = chromium.new_context()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment(tmp_path) | {"PYTHONPATH": str(REPOSITORY)}
    ) as demo:
        try:
            page = context.new_page()
            page.goto(said(demo, r"http://\S+/sign-in/demo\?token=\S+"))
            clicks.on(page.get_by_role("button", name="Watch the demo"))
            clicks.on(page.locator(".project-row a[href*='/runs/']").first)
            rows = page.locator("#stream [data-seq]")
            expect(rows).not_to_have_count(rows.count(), timeout=120_000)
        finally:
            context.close()
            demo.send_signal(signal.SIGINT)
    assert clicks.count <= 2


def test_from_an_escalation_in_the_inbox_to_its_answer(
    story: dict[str, Any], window: Callable[..., Any], clicks: Clicks, site: Site
) -> None:
    site.do("decisions")
    page = window("/approvals")
    clicks.on(page.get_by_role("link", name="T-02 Write the rest was not solved").first)
    expect(page.get_by_text("The test expects")).to_be_visible()
    expect(page.get_by_role("heading", name="What was tried")).to_be_visible()
    clicks.on(page.get_by_role("button", name="Retry with note"))
    expect(page.locator("main")).to_contain_text("Approved: T-02 Write the rest was not solved")
    assert clicks.count <= 2


def test_from_a_sentence_of_the_document_to_the_merged_line_and_back(
    site: Site, story: dict[str, Any], window: Callable[..., Any], clicks: Clicks
) -> None:
    site.do("code")
    page = window("/p/{project}/reqs".format(**story))
    clicks.on(page.locator("a[href*='/trace#T-']").first)
    clicks.on(page.locator("tr:target a[href*='todos.py#L']").first)
    expect(page.locator(".code tr:target")).to_be_visible()
    assert clicks.count <= 2
    back = Clicks()
    back.on(page.locator(".code a[href*='/reqs?v=']").first)
    assert page.url.endswith("#L3")
    assert back.count <= 2


def test_from_the_list_of_runs_to_the_code_on_ones_disk(
    site: Site, story: dict[str, Any], window: Callable[..., Any], clicks: Clicks
) -> None:
    run = site.do("finish", whole=True)["run"]
    page = window("/runs")
    clicks.on(page.get_by_role("link", name=f"Run {run}", exact=True))
    with page.expect_download() as download:
        clicks.on(page.get_by_role("link", name="Zip").first)
    assert download.value.suggested_filename.endswith(".zip")
    assert clicks.count <= 2


def test_from_home_to_the_cost_of_a_feature(window: Callable[..., Any], clicks: Clicks) -> None:
    page = window("/")
    clicks.on(page.get_by_role("link", name="By feature"))
    expect(page.locator("#cost")).to_be_in_viewport()
    assert clicks.count <= 2


def test_an_escalation_is_answered_with_keys_alone(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    page = window("/approvals")
    asked = site.do("decisions")["escalation"]
    page.goto(f"{site.url}/approvals/{asked}")

    def tab_to(selector: str) -> None:
        for _ in range(80):
            page.keyboard.press("Tab")
            if page.evaluate("s => document.activeElement.matches(s)", selector):
                return
        raise AssertionError(f"no way to {selector}")

    tab_to("#note")
    page.keyboard.type("Return the changed to-do.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("Approved: T-02 Write the rest was not solved")
