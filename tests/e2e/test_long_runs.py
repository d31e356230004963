"""A run of many events in a real browser: the page stays light, and leads to where it says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.e2e.server import Site
from tests.e2e.test_stream import SEQS

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


def test_fifty_thousand_events_stay_light(site: Site, story: dict[str, Any], window: Callable[..., Any]) -> None:
    run = site.do("big", count=50_000)["run"]
    page = window(f"/runs/{run}")
    expect(page.locator("#counted")).to_have_text("50,000 of 50,000 events, no gaps")
    expect(page.locator("#e50000")).to_be_visible()
    stream = page.locator("#stream")
    for share in (0.0, 0.25, 0.5, 0.75, 0.1):
        stream.evaluate("(s, share) => { s.scrollTop = s.scrollHeight * share; }", share)
        page.wait_for_function(
            """() => { const s = document.querySelector('#stream').getBoundingClientRect();
                const el = document.elementFromPoint(s.left + 200, s.top + s.height / 2);
                return el && el.closest('.ev'); }"""
        )
    assert page.evaluate("document.querySelectorAll('*').length") <= 15_000
    rows = page.evaluate(SEQS)  # once: rows still arrive
    assert rows == sorted(set(rows))
    last = site.do("emit", run=run, count=20)["last"]
    expect(page.locator("#counted")).to_have_text(f"{last:,} of {last:,} events, no gaps")
    page.locator("#follow").click()
    expect(page.locator(f"#e{last}")).to_be_in_viewport()
    page.goto(f"{site.url}/runs/{run}/e/12345")
    expect(page.locator("#e12345")).to_be_in_viewport()
    expect(page.locator("#live")).to_have_attribute("data-state", "live")


def test_the_next_error_is_that_after_the_open_event_however_far_the_page_was_scrolled(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    run = site.do("big", count=5_000, failed=1_700)["run"]
    page = window(f"/runs/{run}/e/1800")
    expect(page.locator("#e1800.here")).to_be_in_viewport()
    page.evaluate("document.body.dataset.same = 'yes'")
    for n in range(22, 42):  # more than the page keeps
        page.evaluate("n => document.querySelector(`[data-n='${n}']`).scrollIntoView()", n)
        expect(page.locator(f"#e{n * 100 + 1}")).to_be_in_viewport()
    page.wait_for_function("document.querySelectorAll('#stream .chunk:not(:empty)').length <= 12")
    page.locator("body").press("e")
    expect(page.locator("#e3400.here")).to_be_in_viewport()
    page.locator("#stream").evaluate("it => it.scrollTo(0, it.scrollHeight)")
    expect(page.locator("#e5000")).to_be_in_viewport()
    page.locator("#e3400 a.s").press("E")
    expect(page.locator("#e1700.here")).to_be_in_viewport()
    assert page.evaluate("document.body.dataset.same") == "yes", "the page was not loaded again"
