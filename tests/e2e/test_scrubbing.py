"""Time travel in a browser: what the slider shows is what somebody saw who watched the run live."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from agents.gates.semgrep_tool import find_semgrep
from tests.agents.scenario_replay import sandbox_python
from tests.e2e.server import Site
from tests.needs import missing

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
PATIENCE = 120_000  # ms; nothing here is a verdict on speed

# What a page shows of a run, clocks and the time of day left out: they count on while nothing happens.
SHOWN = r"""
    const words = (it) => (it?.textContent || '').replace(/\s+/g, ' ').replace(/\d+:\d\d(:\d\d)?/g, 'clock').trim();
    const told = (it, ...names) => names.map((name) => it.getAttribute(name));
    const shown = (page) => {
        const all = (selector) => [...page.querySelectorAll(selector)];
        const why = page.querySelector('#run-why').cloneNode(true);
        for (const extra of why.querySelectorAll('time, a.button')) extra.remove();
        return {
            status: words(page.querySelector('#run-status')),
            why: words(why),
            merged: words(page.querySelector('#tasks-h')),
            hold: page.querySelector('#tasks-h').dataset.hold || '',
            tasks: all('ul.tasks > li').map((it) => [it.dataset.key, it.dataset.status, words(it)].join(' ')),
            graph: all('#graph .node').map((it) =>
                [it.dataset.key, ...told(it, 'class', 'aria-label'), words(it.querySelector('.st'))].join(' ')),
            edges: all('#graph .edge').map((it) => told(it, 'data-from', 'data-to', 'class').join(' ')),
            rows: all('#stream .ev').map((it) => Number(it.dataset.seq)).slice(-100),
        };
    };
"""
NOW = f"() => {{ {SHOWN} return shown(document); }}"
# Totals follow the rows within half a second: what a reload shows is what the page comes to show.
DIFFERS = f"""async () => {{ {SHOWN}
    const {{ nodes }} = await import(document.querySelector('script[src*="stream"]').src);
    const [a, b] = [shown(document), shown(nodes(await (await fetch(location.href)).text()))];
    return Object.keys(a).filter((name) => JSON.stringify(a[name]) !== JSON.stringify(b[name]))
        .map((name) => `${{name}}: ${{JSON.stringify(a[name])}} is ${{JSON.stringify(b[name])}}`);
}}"""


def settled(page: Any) -> dict[str, Any]:
    """What the page shows once it shows what a reload would."""
    for _ in range(PATIENCE // 250):
        if not (differs := page.evaluate(DIFFERS)):
            return dict(page.evaluate(NOW))
        page.wait_for_timeout(250)
    raise AssertionError(f"the live page never comes to show: {differs}")


def move(page: Any, seq: int) -> None:
    """Move the slider, as a drag does, and wait for that moment."""
    page.locator("#scrub").evaluate(
        "(it, seq) => { it.value = seq; it.dispatchEvent(new Event('input', { bubbles: true })); }", seq
    )
    at_event(page, seq)


def at_event(page: Any, seq: int) -> None:
    expect(page.locator("#live")).to_have_text(f"at event {seq:,}", timeout=PATIENCE)
    expect(page.locator("#stream .ev").last).to_have_attribute("data-seq", str(seq), timeout=PATIENCE)


def seqs(page: Any) -> list[int]:
    return [int(row.get_attribute("data-seq")) for row in page.locator("#stream .ev").all()]


@pytest.mark.stage
@pytest.mark.slow
@pytest.mark.bubblewrap
@pytest.mark.timeout(3_000)
def test_at_every_tenth_event_of_the_demo_the_slider_shows_what_the_live_page_showed(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    """The live page is recorded in a browser while the demo is built, and the same page is then taken back.

    Its jobs are held at every tenth event (or at the end of the transaction that wrote it: nobody ever sees half of
    one), so that the page has time to show that moment, and no other, however slow the machine is.
    """
    if not sandbox_python().is_file() or not find_semgrep():
        missing("the sandbox's Python or semgrep is missing: make install makes them")
    demo = site.do("demo", upto=1)
    page = window(f"/runs/{demo['run']}?view=graph")
    seen: dict[int, dict[str, Any]] = {}
    upto = 10
    while True:
        demo = site.do("demo", upto=upto)
        assert not demo["errors"], demo["errors"]
        while True:  # a transaction that had begun may still end
            last = site.do("last", run=demo["run"])["last"]
            now = settled(page)
            if site.do("last", run=demo["run"])["last"] == last == now["rows"][-1]:
                break
        seen[last] = now
        if demo["status"] == "finished":
            break
        upto = last // 10 * 10 + 10
    assert len(seen) > 30
    del seen[last]  # that is live
    for seq, was in sorted(seen.items(), reverse=True):
        move(page, seq)
        found = page.evaluate(NOW)
        for name, value in was.items():
            assert found[name] == value, f"{name} at event {seq}"


def test_dragging_goes_back_and_the_page_leads_to_live_again_without_a_new_page(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    page = window(f"/runs/{story['run']}")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    last, now = site.do("last", run=story["run"])["last"], settled(page)
    page.evaluate("window.same = true")
    track = page.locator("#scrub").bounding_box()
    page.mouse.move(track["x"] + track["width"] - 9, track["y"] + track["height"] / 2)
    page.mouse.down()
    page.mouse.move(track["x"] + track["width"] * 0.4, track["y"] + track["height"] / 2, steps=4)
    page.mouse.up()
    there = int(page.locator("#scrub").input_value())
    assert 1 < there < last
    at_event(page, there)
    assert seqs(page) == list(range(1, there + 1))
    assert f"at={there}" in page.url
    expect(page.locator("#say")).to_be_disabled()
    expect(page.locator("#lanes")).to_be_hidden()
    assert page.evaluate(NOW) != now

    site.do("emit", run=story["run"], count=3)  # what happens meanwhile changes nothing of the past
    page.locator("#to-live").click()
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    expect(page.locator("#stream .ev").last).to_have_attribute("data-seq", str(last + 3))
    assert "at=" not in page.url
    expect(page.locator("#say")).to_be_enabled()
    assert settled(page)["rows"][-1] == last + 3
    last = site.do("emit", run=story["run"], count=2)["last"]
    expect(page.locator("#stream .ev").last).to_have_attribute("data-seq", str(last))
    assert page.evaluate("window.same")


def test_the_keys_go_by_event_and_by_phase(story: dict[str, Any], window: Callable[..., Any]) -> None:
    page = window(f"/runs/{story['run']}")
    slider = page.locator("#scrub")
    slider.focus()
    head = int(slider.input_value())
    page.keyboard.press("ArrowLeft")
    at_event(page, head - 1)
    page.keyboard.press("ArrowLeft")
    at_event(page, head - 2)
    expect(slider).to_be_focused()
    assert str(slider.get_attribute("aria-valuetext")).startswith(f"event {head - 2} of {head}, ")
    page.keyboard.press("Shift+ArrowLeft")
    phases = [int(seq) for seq in str(page.locator("#track").get_attribute("data-phases")).split()]
    at_event(page, max(seq for seq in phases if seq < head - 2))
    page.keyboard.press("Home")
    at_event(page, 1)
    page.keyboard.press("End")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")


def test_what_is_open_and_how_large_the_graph_is_stays_while_the_slider_moves(
    story: dict[str, Any], window: Callable[..., Any]
) -> None:
    page = window(f"/runs/{story['run']}")
    head = int(page.locator("#scrub").input_value())
    move(page, head - 2)
    page.locator("#e12 a.s").evaluate("link => link.click()")  # a row is opened on this page in the past, too
    expect(page.locator("#inspector")).to_contain_text("event 12")
    for _ in range(3):
        page.locator("#zoom [data-zoom='1.25']").click()
    wide = page.locator("#graph .drawing").get_attribute("width")
    card = page.locator('#graph [data-key="T-01"]').element_handle()
    move(page, head - 4)
    assert page.locator("#e12.here").count() == 1
    expect(page.locator("#inspector")).to_contain_text("event 12")
    assert page.locator("#graph .drawing").get_attribute("width") == wide
    assert card.evaluate("card => card.isConnected"), "what did not change is not drawn again"
    page.locator("#to-live").click()
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    assert page.locator("#e12.here").count() == 1


def test_a_run_plays_from_its_beginning_and_stops_where_it_is_told_to(
    story: dict[str, Any], window: Callable[..., Any]
) -> None:
    page = window(f"/runs/{story['run']}")
    page.locator("#play").click()
    expect(page.locator("#play")).to_have_attribute("aria-pressed", "true")
    page.wait_for_function("() => Number(document.getElementById('scrub').value) > 3", timeout=PATIENCE)
    page.locator("#play").click()
    expect(page.locator("#play")).to_have_attribute("aria-pressed", "false")
    at_event(page, int(page.locator("#scrub").input_value()))
    assert seqs(page) == list(range(1, int(page.locator("#scrub").input_value()) + 1))
    page.locator("#play").click()  # on to the end, which is live
    expect(page.locator("#live")).to_have_attribute("data-state", "live", timeout=PATIENCE)
    expect(page.locator("#play")).to_have_attribute("aria-pressed", "false")


def test_the_older_rows_of_a_moment_come_when_they_are_scrolled_to(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    run = site.do("big", count=1_000)["run"]
    page = window(f"/runs/{run}")
    move(page, 950)
    move(page, 450)
    move(page, 550)  # what was the newest part is in the middle now
    page.locator("#stream").evaluate("stream => { stream.scrollTop = 0; }")
    expect(page.locator("#e1")).to_be_visible(timeout=PATIENCE)
    page.locator("#stream").evaluate("stream => { stream.scrollTop = stream.scrollHeight * 0.85; }")
    expect(page.locator("#e480")).to_be_visible(timeout=PATIENCE)
    assert seqs(page) == sorted(set(seqs(page)))
    assert seqs(page)[-1] == 550


def test_without_scripts_the_slider_is_a_form(story: dict[str, Any], window: Callable[..., Any]) -> None:
    page = window(f"/runs/{story['run']}", java_script_enabled=False)
    page.locator("#scrub").focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    page.locator("#show-moment").click()
    head = int(page.locator("#scrub").get_attribute("max"))
    expect(page.locator("#live")).to_have_text(f"at event {head - 3}")
    page.locator("#to-live").click()
    expect(page.locator("#live")).to_have_text("not live")


def test_on_a_phone_the_slider_goes_back_too(story: dict[str, Any], window: Callable[..., Any]) -> None:
    page = window(f"/runs/{story['run']}", phone=True)
    page.locator(".phonebar a[href='#dock']").click()
    slider = page.locator("#scrub")
    slider.focus()
    head = int(slider.input_value())
    page.keyboard.press("ArrowLeft")
    at_event(page, head - 1)
    expect(slider).to_be_in_viewport()
    expect(page.locator("#stream .ev").last).to_be_in_viewport()
    page.locator("#to-live").click()
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
