"""Hostile strings in a real browser: no dialog, no report of the content security policy, no error of the server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.dashboard.hostile import MARK
from tests.dashboard.test_hostile_folder import ALL, FOLDER
from tests.e2e.server import Site

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(1800 if FOLDER else 300)]
MOST = 400  # strings of a large folder that a browser is shown, evenly taken
SAMPLE = [words.replace("\x00", "") for words in ALL[:: max(1, len(ALL) // MOST)] if words.strip()]
GROUP = 40
FOREIGN = "iframe, object, embed, base, main img, main style, main script, [onerror], [onload], [onclick]"


def untouched(page: Any) -> None:
    """Nothing of the strings became an element, and the page works."""
    assert page.locator(f"{FOREIGN}, [id*={MARK}], [src*={MARK}]").count() == 0
    expect(page.locator("#main")).to_be_visible()


def test_every_page_shows_them_as_text(site: Site, story: dict[str, Any], window: Callable[..., Any]) -> None:
    page = window("/")
    for start in range(0, len(SAMPLE), GROUP):
        pages = site.do("everywhere", text="\n".join(SAMPLE[start : start + GROUP])[:18_000])["pages"]
        for address in pages:
            page.goto(site.url + address)
            page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
            untouched(page)


def test_a_document_of_them_is_previewed_read_and_confirmed(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    page = window("/projects/new")
    lines = [" ".join(words.split())[:500] for words in SAMPLE]
    text = "# Wishes\n\n" + "\n\n".join(f"FR-{n:03} The API shall show {line}" for n, line in enumerate(lines, 1))
    page.get_by_label("Name").fill(SAMPLE[0][:80])
    page.get_by_label("Upload a .md or .txt file").set_input_files(
        {"name": f"<img src=x onerror={MARK}()>.md", "mimeType": "text/markdown", "buffer": text.encode()}
    )
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview strong")).to_contain_text("requirement")
    untouched(page)
    page.get_by_role("button", name="Extract requirements").click()
    page.wait_for_url("**/reqs")
    assert page.locator("article.req").count() >= min(len(lines), 100)
    untouched(page)
    page.get_by_role("button", name="Confirm requirements").click()
    expect(page.get_by_role("button", name="Make a plan")).to_be_visible()
    untouched(page)


def test_the_stream_and_its_inspector_show_them_as_text(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    page = window(f"/runs/{story['run']}")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    last = site.do("hostile", run=story["run"], texts=SAMPLE)["last"]
    expect(page.locator("#counted")).to_have_text(f"{last:,} of {last:,} events, no gaps", timeout=60_000)
    for words in SAMPLE[:GROUP]:
        site.do("delta", run=story["run"], lane="coder", id="m1", text=words[:200])
    for seq in range(last, max(last - len(SAMPLE), last - 60), -3):
        page.locator(f"#e{seq} a.s").evaluate("link => link.click()")
        expect(page.locator("#inspector")).to_contain_text(f"event {seq}")
        page.locator("#inspector").evaluate("it => it.querySelectorAll('details').forEach(d => { d.open = true; })")
        untouched(page)


def test_addresses_and_searches_of_them_do_nothing(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    from urllib.parse import quote

    page = window("/runs", quiet=False)
    for words in SAMPLE[:: max(1, len(SAMPLE) // 60)]:
        page.goto(f"{site.url}/runs/{story['run']}?q={quote(words[:150])}")
        untouched(page)
