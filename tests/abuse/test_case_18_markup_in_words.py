"""Case 18: markup, scripts, links, terminal codes in what agents, documents, files and people say.

In a real browser, in every place a word can come to: no dialog, no report of the content security policy, no request to
elsewhere, no element of theirs (the fixture `window` fails on any complaint). Then what has no page: log files, the
command line, exports. By route and by string, without a browser: tests/dashboard/test_hostile.py.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import expect

from aiswe_site.logs import OneLineFormatter, WholeFormatter
from aiswe_site.terminal import output
from dashboard.text import diffs, markdown
from tests.dashboard.hostile import MARK, STRINGS
from tests.dashboard.markup import acts
from tests.dashboard.test_hostile_folder import ALL, FOLDER
from tests.e2e.conftest import chromium, site, story, window
from tests.e2e.server import Site
from tests.tables import each_row

__all__ = ["chromium", "site", "story", "window"]
pytestmark = pytest.mark.timeout(1800 if FOLDER else 300)
MOST = 400  # strings of a large folder that a browser is shown, evenly taken
SAMPLE = [words.replace("\x00", "") for words in ALL[:: max(1, len(ALL) // MOST)] if words.strip()]
GROUP = 40
CONTROLS = set(map(chr, [*range(9), *range(11, 32), *range(127, 160)])) | set("\u202e\u2066\u200b\u2028")
FOREIGN = "iframe, object, embed, base, main img, main style, main script, [onerror], [onload], [onclick]"


def marked(test: Callable[..., None]) -> Callable[..., None]:
    """A test that needs the browser."""
    return pytest.mark.browser(pytest.mark.slow(test))


def untouched(page: Any) -> None:
    """Nothing of the strings became an element, and the page works."""
    assert page.locator(f"{FOREIGN}, [id*={MARK}], [src*={MARK}]").count() == 0
    expect(page.locator("#main")).to_be_visible()


@marked
def test_every_page_shows_them_as_text(site: Site, story: dict[str, Any], window: Callable[..., Any]) -> None:
    page = window("/")
    for start in range(0, len(SAMPLE), GROUP):
        pages = site.do("everywhere", text="\n".join(SAMPLE[start : start + GROUP])[:18_000])["pages"]
        for address in pages:
            page.goto(site.url + address)
            page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
            untouched(page)


@marked
def test_a_document_of_them_is_previewed_read_and_confirmed(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    page = window("/projects/new")
    lines = [" ".join(words.split())[:500] for words in SAMPLE]
    text = "# Wishes\n\n" + "\n\n".join(f"FR-{n:03} The API shall show {line}" for n, line in enumerate(lines, 1))
    page.get_by_label("Name").fill(SAMPLE[0][:80])
    page.get_by_label("Upload a document").set_input_files(
        {"name": f"<img src=x onerror={MARK}()>.md", "mimeType": "text/markdown", "buffer": text.encode()}
    )
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview strong").first).to_contain_text("requirement", timeout=60_000)
    untouched(page)
    page.get_by_role("button", name="Extract requirements").click()
    page.wait_for_url("**/reqs")
    assert page.locator("article.req").count() >= min(len(lines), 100)
    untouched(page)
    page.get_by_role("button", name="Confirm requirements").click()
    expect(page.get_by_role("button", name="Make a plan")).to_be_visible()
    untouched(page)


@marked
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


@marked
def test_addresses_and_searches_of_them_do_nothing(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    from urllib.parse import quote

    page = window("/runs", quiet=False)
    for words in SAMPLE[:: max(1, len(SAMPLE) // 60)]:
        page.goto(f"{site.url}/runs/{story['run']}?q={quote(words[:150])}")
        untouched(page)


@marked
def test_names_of_people_and_tokens_are_text_too(site: Site, story: dict[str, Any], window: Callable[..., Any]) -> None:
    page = window("/account")
    for words in [words for words in SAMPLE if MARK in words][:12]:
        page.get_by_label("Name", exact=False).fill(words[:80])
        page.locator("#id_tok-password").fill(story["password"])
        page.get_by_role("button", name="Make a token").click()
        untouched(page)
        page.get_by_role("link", name="I have it").click()
        untouched(page)


@each_row("words", STRINGS)
def test_a_terminal_is_not_steered_by_what_the_command_line_prints(words: str) -> None:
    shown = output.clean(words[:2_000])
    assert not set(shown) & CONTROLS


@each_row("words", STRINGS)
def test_a_log_line_is_one_line_without_controls(words: str) -> None:
    try:
        raise ValueError(words)
    except ValueError as problem:
        record = logging.LogRecord("x", 30, "f.py", 1, "asked for %s", (words,), (ValueError, problem, None))
    assert not set(OneLineFormatter().format(record)) & (CONTROLS | {"\n"})
    first, *trace = WholeFormatter("{levelname} {message}", style="{").format(record).split("\n")
    assert first.startswith("WARNING asked for ")
    assert not set(first).union(*trace) & CONTROLS
    assert all(line.startswith("    ") for line in trace), "nothing in a trace passes for a line of the log"


@each_row(
    "link",
    [
        "javascript:x()",
        "JaVaScRiPt:x()",
        " javascript:x()",
        "java\tscript:x()",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc/passwd",
        "blob:x",
        "//evil.example",
        "\\\\evil.example",
    ],
)
def test_a_link_of_a_stranger_leads_to_the_web_or_nowhere(link: str) -> None:
    for written in (f"[x]({link})", f"[x](<{link}>)", f"<a href='{link}'>x</a>", f"[x]: {link}\n\n[x]"):
        html = str(markdown.render(written))
        assert not acts(html)
        assert "<a href" not in html, "not even as an address of this site"


@each_row("words", [words for words in STRINGS if words.strip() and "\n" not in words and len(words) < 300])
def test_a_file_name_in_a_diff_is_text(words: str, db: None, client: Client, enqueued: list[Any]) -> None:
    diff = f"diff --git a/{words} b/{words}\n--- a/{words}\n+++ b/{words}\n@@ -1 +1 @@\n-{words}\n+{words}\n"
    files, _ = diffs.parse(diff)
    from django.template.loader import render_to_string

    html = render_to_string("partials/diff.html", {"files": files, "left_out": 0})
    assert not acts(html)
    assert not set(html) & (CONTROLS - {"\r"})
