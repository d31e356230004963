"""A real browser on a run's page: rows from commit to DOM, and a run of 50,000 events, beside plain clients."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from measure.figures import CannotMeasure, Figure, Section, Spread, quantile
from measure.performance.browser_page import (
    Held,
    browser_path,
    caught_up,
    chromium,
    held,
    jumped,
    live,
    opened,
    searched,
)
from measure.performance.event_log import SITE, free_port, wait_for_pages
from measure.performance.viewers import BIG, Room, read_ms
from measure.processes import ChildProcess, scratch

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page

TITLE = "a browser on a run's page (commit to DOM, a run of 50,000 events, memory)"
LIMIT = 900.0  # seconds for the site of this measurement
RATE, SECONDS, TOKENS = 50.0, 10, 120.0
OPENS, JUMPS, ERRORS = 5, 5, 12
SPEED, FAST, SCROLLED = 2_400, 60_000, 5  # pixels a second; seconds each way
ROUNDS, BURST, WRITERS = 5, 2_000, 2  # of live rows, as fast as they can be written
SEARCH, MATCHES = "row 4242", 11
ERROR_EVERY = 100  # in the run of 50,000 events


@dataclass
class Found:
    """Samples, milliseconds by what they are of, and what the page held."""

    ours: dict[str, list[float]] = field(default_factory=dict)
    plain: dict[str, list[float]] = field(default_factory=dict)
    frames: dict[str, tuple[list[float], int]] = field(default_factory=dict)  # with how many of them had no row
    idle: list[float] = field(default_factory=list)
    held: dict[str, Held] = field(default_factory=dict)
    most: int = 0  # elements while scrolling

    def add(self, name: str, ours: float, plain: float | None = None) -> None:
        """One more sample, with that of a plain client."""
        self.ours.setdefault(name, []).append(ours)
        if plain is not None:
            self.plain.setdefault(name, []).append(plain)


@dataclass(frozen=True)
class Place:
    """The measured site: its process, port, a session and the runs to look at."""

    site: ChildProcess
    port: int
    session: str
    big: int
    small: int

    @property
    def address(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    async def plain(self, path: str) -> float:
        """Milliseconds of a page without a browser."""
        return await asyncio.to_thread(read_ms, self.port, self.session, path)

    async def order(self, **order: Any) -> dict[str, Any]:
        """Have the site do it."""
        self.site.order(order)
        return await asyncio.to_thread(self.site.answer)


async def _arrivals(place: Place, page: Page, found: Found, name: str, run: int, before: int) -> None:
    """Events written while the page and a bare socket watch: each one's way from its commit to both."""
    room = Room(place.port, [place.session])
    try:
        await page.goto(f"{place.address}/runs/{run}")
        await live(page)
        await room.enter(0, f"/ws/runs/{run}?after={before}")
        count = int(RATE * SECONDS)
        wall = 1000 * (time.time() - time.monotonic())  # the browser knows only the machine's clock
        answer = await place.order(do="pace", run=run, count=count, rate=RATE, tokens=TOKENS)
        await caught_up(page, before + count)
        await room.arrived(count)
        there = {int(seq): moment for seq, moment in await page.evaluate("probe.arrived()")}
        for seq, moment in enumerate(answer["moments"], start=before + 1):
            if seq not in there or seq not in room.moments[0]:
                raise CannotMeasure(f"event {seq} did not arrive")
            found.add(name, there[seq] - (wall + 1000 * moment), 1000 * (room.moments[0][seq] - moment))
    finally:
        await room.leave()


async def _visits(place: Place, page: Page, found: Found) -> None:
    """What is a document of its own: opening, deep links, search; each beside the same page without a browser."""
    run = f"/runs/{place.big}"
    await opened(page, place.address + run)  # it fills caches; the section "viewers" tells the first time
    for number in range(OPENS):
        found.add("first rows in the DOM", await opened(page, place.address + run), await place.plain(run))
        seq = BIG // 2 + 1_037 * number
        path = f"{run}/e/{seq}"
        took = await jumped(page, place.address + path, seq)
        found.add("jump by a link, event in view", took, await place.plain(path))
        path = f"{run}?q={SEARCH.replace(' ', '+')}"
        await opened(page, place.address + run)
        found.add("search, first rows in the DOM", await searched(page, SEARCH, MATCHES), await place.plain(path))


async def _next_errors(place: Place, page: Page, found: Found, after: int) -> None:
    for number in range(ERRORS):
        seq, took = await page.evaluate("probe.nextError()")
        expected = (after // ERROR_EVERY + 1 + number) * ERROR_EVERY
        if seq != expected:
            raise CannotMeasure(f"the next error is event {expected}, the page opened {seq}")
        path = f"/runs/{place.big}/seek?after={seq - 1}"
        found.add("next error, in view and opened", took, await place.plain(path))


async def _scrolls(page: Page, found: Found) -> None:
    for name, speed in ((f"scrolling {SPEED:,} px/s", SPEED), (f"scrolling {FAST:,} px/s", FAST)):
        frames: list[float] = []
        blank = 0
        for way in (-1, 1):
            told = await page.evaluate("([speed, seconds]) => probe.scroll(speed, seconds)", [way * speed, SCROLLED])
            frames += told["frames"]
            blank += told["blank"]
            found.most = max(found.most, told["most"])
        found.frames[name] = (frames, blank)


async def _session(place: Place, page: Page, found: Found) -> None:
    """One document for long: scrolled, searched for errors, led through time, and then many live rows."""
    start = BIG // 2
    await jumped(page, f"{place.address}/runs/{place.big}/e/{start}", start)
    await live(page)
    found.held["at the start"] = await held(page)
    await _scrolls(page, found)
    await _next_errors(place, page, found, start)
    await page.hover("form.scrub")  # its script comes when somebody reaches for it
    for number in range(JUMPS):
        took = await page.evaluate("seq => probe.slide(seq)", BIG // 4 + 3_140 * number)  # a thought: no fold hides it
        found.add("jump by the slider, event in view", took)
    await page.click("#to-live")
    await live(page)
    found.held["after reading"] = await held(page)
    await page.click("#follow")
    last = BIG
    for number in range(ROUNDS):
        answer = await place.order(do="burst", run=place.big, count=BURST, writers=WRITERS)
        last += answer["count"]
        await caught_up(page, last)
        if number in (0, ROUNDS - 1):  # flat is what no longer grows between the two
            found.held[f"after {(number + 1) * BURST:,} live rows"] = await held(page)


async def _measured(place: Place, context: BrowserContext) -> Found:
    found, page = Found(), await context.new_page()
    await page.goto("about:blank")
    found.idle = await page.evaluate("probe.idle(3)")
    await _arrivals(place, page, found, f"{RATE:.0f} events/s, commit to DOM", place.small, 0)
    await place.order(do="big", run=place.big, count=BIG)
    await _visits(place, page, found)
    await _session(place, page, found)
    return found


def measure(section: Section, options: Any) -> None:
    """Fill the section; raises CannotMeasure, also when the page shows a wrong row or leads to a wrong one."""
    browser_path()
    port = free_port()
    with scratch() as folder, ChildProcess(SITE, folder / "home", [str(port)], LIMIT) as site:
        site.answer()
        site.order({"do": "prepare"})
        told = site.answer()
        wait_for_pages(port)
        place = Place(site, port, told["session"], *told["runs"][:2])

        async def measured() -> Found:
            async with chromium(place.address, place.session) as context:
                return await _measured(place, context)

        section.figures += figures(asyncio.run(measured()))
    section.notes.append(
        f"commit to DOM: {RATE:.0f} events/s and {TOKENS:.0f} words of a model a second for {SECONDS} s; "
        "browser, site and writer share the machine"
    )


def figures(found: Found) -> list[Figure]:
    """The samples as figures."""
    made = []
    for name, times in found.ours.items():
        to_dom = "commit to DOM" in name
        against = "commit to a bare socket, same events" if to_dom else "the same address read by a plain client"
        made.append(
            Figure(
                name if to_dom else f"{BIG:,} events: {name}",
                Spread.of(times, "ms"),
                Spread.of(found.plain[name], "ms") if name in found.plain else None,
                against if name in found.plain else "",
                note=f"p99 {quantile(times, 0.99):.0f} ms" if to_dom else "",
            )
        )
    for name, (frames, blank) in found.frames.items():
        note = f"{blank / len(frames):.1%} of {len(frames)} frames without a row, p99 {quantile(frames, 0.99):.0f} ms"
        idle = Spread.of(found.idle, "ms")
        made.append(
            Figure(
                f"{BIG:,} events: {name}, a frame", Spread.of(frames, "ms"), idle, "a frame of an empty page", note=note
            )
        )
    first = next(iter(found.held.values()))
    for name, now in found.held.items():
        base = (None, None) if now is first else (Spread.of([first.elements], ""), Spread.of([first.heap], "MB"))
        against = "" if now is first else "the same page at the start"
        note = f"{now.nodes:,} nodes"
        made += [
            Figure(f"{BIG:,} events: elements {name}", Spread.of([now.elements], ""), base[0], against, note=note),
            Figure(f"{BIG:,} events: heap {name}", Spread.of([now.heap], "MB"), base[1], against),
        ]
    made.append(Figure(f"{BIG:,} events: most elements while scrolling", Spread.of([found.most], "")))
    return made
