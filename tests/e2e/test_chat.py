"""A chat in a browser: words sent, a write allowed, the answer read, with the words shown while they are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.e2e.accessibility import complaints_of
from tests.e2e.server import Site
from tests.waiting import eventually

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
WRITES = "I write it.\n<<WRITE: hello.py>>\nprint('Hello')\n<</WRITE>>"


def at_rest(site: Site, run: int, page: Any) -> None:
    """Wait until the turn is over, its commit included, and the page knows: it may still show the rest before it."""
    assert eventually(lambda: not site.do("at_work", run=run)["at_work"])
    expect(page.locator("#run-why")).to_contain_text("Your turn", timeout=120_000)
    expect(page.get_by_role("button", name="Send")).to_be_enabled(timeout=120_000)


def test_a_message_is_sent_a_write_allowed_and_the_answer_read(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    project = site.do("talk", replies=[WRITES, "It **is** there.", "You are welcome."])["project"]
    page = window(f"/p/{project}/")
    page.get_by_role("button", name="New chat").click()
    run = int(page.url.rpartition("/")[2])
    expect(page.locator("#live")).to_have_text("live")
    box = page.get_by_label("Message")
    box.fill("Create hello.py")
    box.press("Shift+Enter")
    box.press_sequentially("please")
    box.press("Enter")
    question = page.locator("#question")
    expect(question).to_contain_text("May it create hello.py?")
    expect(question.locator(".diff")).to_contain_text("print('Hello')")
    expect(page.locator(".said p")).to_have_text("Create hello.py\nplease")
    expect(page.get_by_role("button", name="Send")).to_be_disabled()
    assert complaints_of(page) == []
    question.get_by_role("button", name="Yes", exact=True).click()
    expect(page.locator(".answer strong")).to_have_text("is")
    expect(page.locator(".step .chip")).to_have_text("done")
    expect(page.locator(".talk")).not_to_contain_text("<<WRITE")
    expect(page.locator(".beside .files")).to_contain_text("hello.py")
    expect(question).to_have_count(0)
    at_rest(site, run, page)  # a row that came after the words would take their place
    site.do("words", run=run, text="I write.\n<<WRITE: two.py>>\nx = 1\n")
    expect(page.locator(".lane i")).to_have_text("I write.\n▸ write two.py\nx = 1\n")
    page.locator(".step").evaluate("fold => { fold.open = true; }")
    box.fill("Thank you")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".answer").last).to_have_text("You are welcome.")
    at_rest(site, run, page)
    expect(page.locator(".lane")).to_have_count(0)
    assert page.locator(".step[open]").count() == 1
    for number in range(4):
        box.fill(f"And {number}?")
        page.get_by_role("button", name="Send").click()
        expect(page.locator(".turn")).to_have_count(3 + number)
        at_rest(site, run, page)  # a message to a turn that still runs is not taken
    page.reload()
    page.locator(".step summary").click()
    expect(page.locator(".step .diff")).to_contain_text("print('Hello')")
    plain = window(f"/runs/{run}", phone=True, java_script_enabled=False, theme="dark")
    plain.get_by_label("Message").fill("And now?")
    plain.get_by_role("button", name="Send").click()
    expect(plain.locator(".said p").last).to_have_text("And now?")
