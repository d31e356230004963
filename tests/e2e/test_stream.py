"""Two windows on one run while things happen: nothing is missing, nothing comes twice."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import TimeoutError, expect

from tests.dashboard.hostile import MARK, STRINGS
from tests.e2e.server import Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
HEAD = ("run-status", "run-why", "tasks-h")  # what says of the run as a whole how it is
SEQS = "() => [...document.querySelectorAll('#stream .ev')].map(e => Number(e.dataset.seq))"


def whole(page: Any, last: int) -> None:
    """The page says it has everything, and its rows are gapless and single."""
    expect(page.locator("#counted")).to_have_text(f"{last:,} of {last:,} events, no gaps", timeout=60_000)
    seqs = page.evaluate(SEQS)
    assert seqs == sorted(set(seqs)), "rows are in order and each is there once"
    assert seqs[-1] == last
    tail = [seq for seq in seqs if seq > last - 100]
    assert tail == list(range(max(1, last - 99), last + 1)), "no row of the tail is missing"


def test_a_row_arrives_by_itself_in_both_windows(site: Site, story: dict[str, Any], window: Callable[..., Any]) -> None:
    one, two = window(f"/runs/{story['run']}"), window(f"/runs/{story['run']}")
    for page in (one, two):
        expect(page.locator("#live")).to_have_attribute("data-state", "live")
    last = site.do("emit", run=story["run"], count=30)["last"]
    whole(one, last)
    whole(two, last)


def test_a_reload_in_the_middle_loses_nothing(site: Site, story: dict[str, Any], window: Callable[..., Any]) -> None:
    page = window(f"/runs/{story['run']}")
    done: list[int] = []

    def write() -> None:
        for _ in range(10):
            done.append(site.do("emit", run=story["run"], count=15)["last"])

    writer = threading.Thread(target=write)
    writer.start()
    for _ in range(3):
        page.reload()
    writer.join()
    whole(page, done[-1])


def test_a_window_that_was_offline_catches_up(site: Site, story: dict[str, Any], window: Callable[..., Any]) -> None:
    page = window(f"/runs/{story['run']}", quiet=True)  # the browser itself complains about lost connections
    other = window(f"/runs/{story['run']}")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    page.context.set_offline(True)
    expect(page.locator("#live")).to_have_attribute("data-state", "reconnecting")
    last = site.do("emit", run=story["run"], count=250)["last"]
    whole(other, last)
    page.wait_for_timeout(5_000)
    page.context.set_offline(False)
    whole(page, last)
    expect(page.locator("#live")).to_have_attribute("data-state", "live")


@pytest.mark.slow
def test_half_a_minute_offline_while_the_other_window_watches_is_made_up_for(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    away = window(f"/runs/{story['run']}", quiet=True)  # the browser itself complains about lost connections
    other = window(f"/runs/{story['run']}")
    for page in (away, other):
        expect(page.locator("#live")).to_have_attribute("data-state", "live")
    before = site.do("emit", run=story["run"], count=1)["last"]
    whole(away, before)
    away.context.set_offline(True)
    since = time.monotonic()
    last = before
    while time.monotonic() - since < 30 or last - before <= 100:
        last = site.do("emit", run=story["run"], count=8)["last"]
        other.wait_for_timeout(500)
    whole(other, last)
    assert away.evaluate(SEQS)[-1] == before, "nothing can have come in"
    expect(away.locator("#live")).to_have_attribute("data-state", "reconnecting")
    away.context.set_offline(False)
    whole(away, last)
    expect(away.locator("#live")).to_have_attribute("data-state", "live")
    last = site.do("emit", run=story["run"], count=3)["last"]
    whole(away, last)
    whole(other, last)
    assert away.evaluate(SEQS)[-100:] == other.evaluate(SEQS)[-100:]


def test_a_killed_server_comes_back_without_a_hole(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    page = window(f"/runs/{story['run']}", quiet=True)
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    last = site.do("emit", run=story["run"], count=5)["last"]
    whole(page, last)
    site.kill()
    expect(page.locator("#live")).to_have_attribute("data-state", "reconnecting", timeout=30_000)
    site.start()
    last = site.do("emit", run=story["run"], count=40)["last"]
    whole(page, last)


def test_without_sockets_the_page_polls_and_says_so(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    page = window("/keys", quiet=True)
    page.add_init_script(
        "window.WebSocket = class { constructor() { setTimeout(() => this.onclose({code: 1006}), 5); } };"
    )
    page.goto(f"{site.url}/runs/{story['run']}")
    expect(page.locator("#live")).to_have_text("live by polling, 3 s", timeout=30_000)
    last = site.do("emit", run=story["run"], count=7)["last"]
    whole(page, last)


def test_words_appear_while_they_are_written(site: Site, story: dict[str, Any], window: Callable[..., Any]) -> None:
    page = window(f"/runs/{story['run']}")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    site.do("delta", run=story["run"], lane="coder", id="m1", text="def add")
    site.do("delta", run=story["run"], lane="coder", id="m1", text="(title): <b>", offset=7)
    expect(page.locator("#lanes [data-lane=coder] p")).to_have_text("def add(title): <b>")
    site.do("emit", run=story["run"], count=1)
    expect(page.locator("#lanes [data-lane=coder]")).to_have_count(0)


def test_a_task_moves_in_list_graph_and_head_without_the_cards_moving(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    page = window(f"/runs/{story['run']}")
    card = page.locator('.dag [data-key="T-03"]')
    place = "n => { const b = n.querySelector('.t').getBoundingClientRect(); return [b.x, b.y]; }"
    before = card.evaluate(place)
    number = int(str(card.get_attribute("data-task")))
    for panel in HEAD:
        page.evaluate(f"document.getElementById('{panel}').dataset.old = 'yes'")
    site.do("move", task=number, to="merged")
    for panel in HEAD:
        expect(page.locator(f"#{panel}")).not_to_have_attribute("data-old", "yes", timeout=60_000)
    expect(page.locator(f"#t{number}")).to_have_attribute("data-word", "merged")
    expect(card).to_have_class("node s-merged tone-ok")
    expect(card).to_have_attribute("aria-label", "T-03 Write part T-03, merged, needs T-01")
    expect(page.locator('.graph .edge[data-from="T-03"]')).to_have_class("edge done")
    assert card.evaluate(place) == before


def test_an_error_that_arrives_counts_among_those_to_go_to(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    page = window(f"/runs/{story['run']}")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    before = int(str(page.locator("#error-count").get_attribute("data-count")))
    site.do("emit", run=story["run"], count=3, type="error", text="it broke")
    expect(page.locator("#error-count")).to_have_text(f"{before + 3}", timeout=60_000)


def test_hostile_rows_do_nothing(site: Site, story: dict[str, Any], window: Callable[..., Any]) -> None:
    page = window(f"/runs/{story['run']}")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    texts = [text.replace("\x00", "") for text in STRINGS if text.strip()]
    last = site.do("hostile", run=story["run"], texts=texts)["last"]
    whole(page, last)
    for seq in range(last - len(texts) + 1, last + 1, 4):
        page.locator(f"#e{seq} a.s").evaluate("link => link.click()")
        expect(page.locator("#inspector")).to_contain_text(f"event {seq:,}")
        page.locator("#inspector").evaluate("it => it.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert page.locator(f"[id*={MARK}], [src*={MARK}], iframe, #stream img, #inspector img").count() == 0
    page.goto(f"{site.url}/runs/{story['run']}/e/{last}")
    expect(page.locator("#inspector")).to_contain_text(f"event {last:,}")


def test_a_filter_keeps_filtering_what_arrives(site: Site, story: dict[str, Any], window: Callable[..., Any]) -> None:
    page = window(f"/runs/{story['run']}?preset=errors")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    before = page.locator("#stream .ev").count()
    site.do("emit", run=story["run"], count=3)
    last = site.do("emit", run=story["run"], count=2, type="error", text="broken")["last"]
    expect(page.locator("#stream .ev")).to_have_count(before + 2)
    expect(page.locator("#counted")).to_have_text(f"{before + 2} shown of {last:,}, no gaps")


def test_who_is_signed_out_is_told(site: Site, story: dict[str, Any], window: Callable[..., Any]) -> None:
    page = window(f"/runs/{story['run']}", quiet=True)
    page.context.clear_cookies()
    page.evaluate("window.dispatchEvent(new Event('offline')); window.dispatchEvent(new Event('online'))")
    expect(page.locator("#live")).to_have_text("signed out")


OPENS = int(os.environ.get("SOAK_OPENS", "10"))
PATIENCE = 600_000  # ms for one wait: a page that is slow is not a page that lacks rows
# What may never be, and what may be on its way.
CHECK = """last => {
    const stream = document.querySelector('#stream'), wrong = [], lacks = [];
    const counted = parseInt(document.querySelector('#counted')?.textContent.replaceAll(',', '') || '0');
    const seqs = [...(stream?.querySelectorAll('.ev') || [])].map(row => Number(row.dataset.seq));
    if (new Set(seqs).size !== seqs.length) wrong.push('a row is there twice');
    if (seqs.some((seq, at) => at && seq < seqs[at - 1])) wrong.push('rows are out of order');
    if (counted < last) lacks.push(`it counts ${counted} of ${last}`);
    for (const chunk of stream?.querySelectorAll('.chunk:not(:empty)') || []) {
        const first = Number(chunk.dataset.n) * 100 + 1;
        const held = [...chunk.querySelectorAll('.ev')].map(row => Number(row.dataset.seq));
        if (held.some((seq, at) => seq !== first + at)) lacks.push(`a row of chunk ${chunk.dataset.n} is missing`);
        if (held.length < 100 && held.at(-1) < last) lacks.push(`chunk ${chunk.dataset.n} ends at ${held.at(-1)}`);
    }
    if ((seqs.at(-1) || 0) < last) lacks.push(`the page ends at ${seqs.at(-1)}`);
    return { wrong, lacks };
}"""


def has_everything(page: Any, last: int) -> None:
    """The page comes to have each row up to `last` once; nothing but a row that is missing or doubled fails it."""
    done = f"last => {{ const it = ({CHECK})(last); return it.wrong.length || !it.lacks.length ? it : null; }}"
    try:
        found = page.wait_for_function(done, arg=last, polling=250, timeout=PATIENCE).json_value()
    except TimeoutError:
        found = page.evaluate(CHECK, last)
    assert found == {"wrong": [], "lacks": []}


@pytest.mark.timeout(1_200 + 120 * OPENS)
def test_no_row_is_missing_or_doubled_however_often_a_busy_run_is_opened(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    """Half of the doorbells are dropped; socket, writer and server are killed; each open is checked twice."""
    page = window("/keys", quiet=True)
    site.do("write", run=story["run"])
    for number in range(OPENS):
        page.goto(f"{site.url}/runs/{story['run']}", wait_until="commit", timeout=PATIENCE)
        page.wait_for_load_state("domcontentloaded", timeout=PATIENCE)
        for strike in (number % 4 == 1, False):
            if strike:
                page.evaluate("window.dispatchEvent(new Event('offline')); window.dispatchEvent(new Event('online'))")
            has_everything(page, site.do("last", run=story["run"])["last"])
            if number % 10 == 5:
                site.kill()
                site.start()
                site.do("write", run=story["run"])
    last = site.do("quiet", run=story["run"])["last"]
    has_everything(page, last)
    expect(page.locator("#counted")).to_have_text(f"{last:,} of {last:,} events, no gaps", timeout=PATIENCE)
