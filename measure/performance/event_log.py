"""Events from eight writers through the event_log to a browser's socket, over plain rows in the same run."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import time
import urllib.request
from typing import Any

import websockets

from measure.figures import CannotMeasure, Figure, Section, Spread
from measure.processes import ChildProcess, scratch

TITLE = "events through the event_log to a socket (redacted, chained, rendered)"
ROUNDS = 3
WRITERS = 8
BURST = 1_600  # below the distance at which a reader is sent counts instead of rows
ROWS = 1_000  # of each baseline, per round
RATE, PACED = 50.0, 400
SITE = f"{__name__}_site"  # the module that serves it
_SEQ = re.compile(r'data-seq="(\d+)"')


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def measure(section: Section, options: Any) -> None:
    """Fill the section; raises CannotMeasure, also when an event did not arrive or arrived twice."""
    rounds = min(options.n or ROUNDS, ROUNDS)
    port = free_port()
    with scratch() as folder, ChildProcess(SITE, folder / "home", [str(port)]) as site:
        site.answer()
        site.order({"do": "prepare"})
        place = site.answer()
        wait_for_pages(port)
        *bursts, paced = place["runs"]
        written, arrived, made, raw = [], [], [], []
        for run in bursts[:rounds]:
            site.order({"do": "raw", "count": ROWS})
            raw.append(ROWS / site.answer()["seconds"])
            order = {"do": "burst", "run": run, "count": BURST, "writers": WRITERS}
            answer, moments = asyncio.run(_watched(site, order, port, place["session"], run, BURST))
            written.append(answer["count"] / (answer["committed"] - answer["began"]))
            arrived.append(answer["count"] / (max(moments.values()) - answer["began"]))
        order = {"do": "pace", "run": paced, "count": PACED, "rate": RATE}
        answer, moments = asyncio.run(_watched(site, order, port, place["session"], paced, PACED))
        late = [1000 * (moments[seq] - done) for seq, done in enumerate(answer["moments"], start=1)]
        pages = [page_ms(port) for _ in range(30)]
        alone = []
        for number in range(rounds):
            site.order({"do": "burst", "run": paced, "count": ROWS // 2, "writers": 1})
            one = site.answer()
            alone.append(one["count"] / (one["committed"] - one["began"]))
            # On a run that nobody reads: rows made past the event_log carry no chain.
            site.order({"do": "create", "run": place["scraps"][number], "count": ROWS})
            made.append(ROWS / site.answer()["seconds"])
    create, plain = Spread.of(made, "/s"), Spread.of(raw, "/s")
    sent, kept = Spread.of(arrived, "/s"), Spread.of(written, "/s")
    words = "Django create() of the same rows, one thread, a transaction each"
    bare = "raw sqlite3 inserts of the same bytes, one thread, a transaction each"
    section.figures = [
        Figure(f"events from {WRITERS} writers until a socket has them all", sent, create, words, "higher"),
        Figure(f"events from {WRITERS} writers until a socket has them all", sent, plain, bare, "higher"),
        Figure(f"events from {WRITERS} writers until they are committed", kept, create, words, "higher"),
        Figure("events from one writer until they are committed", Spread.of(alone, "/s"), create, words, "higher"),
        Figure("Django create()", create, plain, bare, ""),
        Figure(
            f"commit to socket at {RATE:.0f} events/s",
            Spread.of(late, "ms"),
            Spread.of(pages, "ms"),
            "a request for the sign-in page of the same server, idle",
        ),
    ]
    section.notes = [
        f"n: rounds of {BURST:,} events each; {PACED} paced ones; every event arrived once, in order, without a gap",
        "pokes are joined over 50 ms and frames sent at most every 50 ms, so a latency of 25 to 100 ms is the design",
        "for events per second, p95 is the best round",
    ]


def page_ms(port: int) -> float:
    """How long the sign-in page takes."""
    start = time.perf_counter()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/sign-in", timeout=10) as answer:
        answer.read()
    return 1000 * (time.perf_counter() - start)


def wait_for_pages(port: int) -> None:
    """Until the site answers; raises CannotMeasure."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            page_ms(port)
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise CannotMeasure("the measured site does not answer")


async def _watched(
    site: ChildProcess, order: dict[str, Any], port: int, session: str, run: int, last: int
) -> tuple[dict[str, Any], dict[int, float]]:
    """Give the order while a client listens; the answer, and when each event arrived."""
    origin = f"http://127.0.0.1:{port}"
    url = f"ws://127.0.0.1:{port}/ws/runs/{run}?after=0"
    headers = {"Cookie": f"aiswe_session={session}"}
    async with websockets.connect(
        url, origin=websockets.Origin(origin), additional_headers=headers, max_size=None, proxy=None
    ) as client:
        await asyncio.wait_for(client.recv(), 20)  # the first frame: the client is known to the server
        site.order(order)
        listening = asyncio.create_task(_listen(client, last))
        answer = await asyncio.to_thread(site.answer)
        try:
            moments = await asyncio.wait_for(listening, 30)
        except TimeoutError:
            raise CannotMeasure("not all events arrived within 30 s of the last commit") from None
    return answer, moments


async def _listen(client: Any, last: int) -> dict[int, float]:
    """When each event up to `last` arrived; raises CannotMeasure for a hole, a repetition or a skip."""
    cursor = 0
    moments: dict[int, float] = {}
    while cursor < last:
        text = await client.recv()
        now = time.monotonic()
        frame = json.loads(text)
        if "to" not in frame:
            continue
        if frame.get("skip"):
            raise CannotMeasure("the reader fell so far behind that it was sent counts instead of rows")
        seqs = [int(seq) for seq in _SEQ.findall(frame["rows"])]
        if seqs != list(range(cursor + 1, frame["to"] + 1)):
            raise CannotMeasure(f"the stream has a hole or a repetition after event {cursor}")
        moments.update(dict.fromkeys(seqs, now))
        cursor = frame["to"]
    return moments
