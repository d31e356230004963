"""What single pages do in a real browser; that all are accessible and fit a phone is in test_walk."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.e2e.accessibility import complaints_of
from tests.e2e.server import Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


def test_a_backlog_is_ordered_by_keyboard(site: Site, story: dict[str, Any], window: Callable[..., Any]) -> None:
    page = window(f"/p/{site.do('backlog')['project']}/backlog")
    page.get_by_role("button", name="Move CL-119 up").press("Enter")
    expect(page.locator(".tick tbody tr").first).to_contain_text("CL-119")


def test_a_backlog_renews_itself_and_keeps_what_a_person_does_in_it(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    address = f"/p/{site.do('backlog')['project']}/backlog"
    page = window(address)
    box, field = page.get_by_label("Select CL-120"), page.get_by_label("Estimate in minutes")
    box.check()
    field.fill("1 h 15")
    other = window(address)
    other.get_by_role("button", name="Move CL-121 up").click()
    # By their order alone: what still fits tonight, and so stands under which heading, depends on the hour.
    both = page.locator(".tick tbody tr", has=page.get_by_label(re.compile("^Select CL-12[01]$")))
    expect(both.first).to_contain_text("CL-121")
    expect(box).to_be_checked()
    expect(field).to_have_value("1 h 15")
    expect(field).to_be_focused()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_in_any_kind_of_event(
    site: Site, story: dict[str, Any], window: Callable[..., Any], theme: str
) -> None:
    page = window("/keys", theme=theme)
    for seq in story["loop"]:
        page.goto(f"{site.url}/runs/{story['run']}/e/{seq}")
        assert complaints_of(page) == [], seq


def test_lessons_of_every_state_are_shown_and_fit_the_narrowest_screen(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    site.do("lessons")
    page = window("/memory")
    expect(page.locator(".lesson")).to_have_count(4)
    assert complaints_of(page) == []
    page.set_viewport_size({"width": 320, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_the_weekly_report_prints_on_one_page(story: dict[str, Any], window: Callable[..., Any]) -> None:
    page = window("/reports/weekly")
    printed = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page[^s]", printed)) == 1
    page.emulate_media(media="print")
    expect(page.locator(".nav")).to_be_hidden()
    expect(page.get_by_role("button", name="E-mail this report")).to_be_hidden()
