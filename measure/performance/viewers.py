"""Many viewers of live runs over sockets: rows delivered, beside a bare Channels broadcaster in the same process."""

from __future__ import annotations

import asyncio
import json
import re
import time
import urllib.request
from typing import Any, NamedTuple

import websockets

from measure.figures import CannotMeasure, Figure, Section, Spread
from measure.performance.event_log import SITE, free_port, wait_for_pages
from measure.processes import ChildProcess, scratch

TITLE = "viewers of live runs (rows delivered to sockets, processor time of the web process)"
RATE, SECONDS = 100.0, 5
LIMIT = 1_200.0  # seconds for the site of this measurement
VIEWERS, RUNS, EACH = 200, 50, 4
AT_ONCE = 100
BIG = 50_000
_SEQ = re.compile(r'data-seq="(\d+)"')


class Watched(NamedTuple):
    """What came of one round: deliveries a second, their share, milliseconds from commit, processor seconds."""

    rate: float
    share: float
    late: list[float]
    cpu: float
    seconds: float


class Room:
    """Sockets that listen to one site; when each event arrived at each of them."""

    def __init__(self, port: int, sessions: list[str]) -> None:
        self.port, self.sessions = port, sessions
        self.sockets: list[Any] = []
        self.moments: dict[int, dict[int, float]] = {}  # by number of the socket
        self.listening: list[asyncio.Task[None]] = []

    async def enter(self, number: int, path: str) -> None:
        """One more socket; returns when the site knows it."""
        session = self.sessions[number % len(self.sessions)]
        socket = await websockets.connect(
            f"ws://127.0.0.1:{self.port}{path}",
            origin=websockets.Origin(f"http://127.0.0.1:{self.port}"),
            additional_headers={"Cookie": f"aiswe_session={session}"},
            max_size=None,
            compression=None,
            open_timeout=60,
            ping_interval=None,
            proxy=None,
        )
        self.sockets.append(socket)
        await asyncio.wait_for(socket.recv(), 60)
        self.moments[number] = {}
        self.listening.append(asyncio.create_task(_listen(socket, self.moments[number])))

    async def leave(self) -> None:
        """Close all sockets."""
        for task in self.listening:
            task.cancel()
        await asyncio.gather(*(socket.close() for socket in self.sockets), return_exceptions=True)

    async def arrived(self, wanted: int, seconds: float = 30.0) -> int:
        """Deliveries, once there are as many as wanted or after so many seconds."""
        until, there = time.monotonic() + seconds, 0
        while there < wanted and time.monotonic() < until:
            await asyncio.sleep(0.1)
            there = sum(len(each) for each in self.moments.values())
        return there


async def _listen(socket: Any, moments: dict[int, float]) -> None:
    async for text in socket:
        now = time.monotonic()
        message = json.loads(text)
        for seq in _SEQ.findall(message.get("rows", "")) or message.get("seqs", ()):
            moments.setdefault(int(seq), now)


async def _watched(
    site: ChildProcess, port: int, sessions: list[str], where: str, runs: list[int], viewers: int
) -> Watched:
    """Events written while sockets listen to their runs."""
    room = Room(port, sessions)
    watched = [runs[number % len(runs)] for number in range(viewers)]
    try:
        for first in range(0, viewers, 20):
            some = enumerate(watched[first : first + 20], first)
            await asyncio.gather(*(room.enter(number, f"/ws/{where}/{run}?after=0") for number, run in some))
        site.order({"do": "spread", "where": where, "runs": runs, "count": int(RATE * SECONDS), "rate": RATE})
        answer = await asyncio.to_thread(site.answer)
        written: dict[int, dict[int, float]] = {run: {} for run in runs}
        for run, seq, moment in answer["written"]:
            written[run][seq] = moment
        wanted = sum(len(written[run]) for run in watched)
        there = await room.arrived(wanted)
        site.order({"do": "cpu"})
        cpu = (await asyncio.to_thread(site.answer))["seconds"] - answer["cpu"]
        ends = [max(each.values()) for each in room.moments.values() if each]
        if not ends:
            raise CannotMeasure("nothing arrived at any socket")
        seconds = max(ends) - answer["began"]
        late = [
            1000 * (room.moments[number][seq] - moment)
            for number, run in enumerate(watched)
            for seq, moment in written[run].items()
            if seq in room.moments[number]
        ]
        return Watched(there / seconds, there / wanted, late, cpu, seconds)
    finally:
        await room.leave()


async def _at_once(port: int, sessions: list[str], run: int) -> list[float]:
    room = Room(port, sessions)

    async def timed(number: int) -> float:
        began = time.monotonic()
        await room.enter(number, f"/ws/runs/{run}?after=0")
        return 1000 * (time.monotonic() - began)

    try:
        return list(await asyncio.gather(*(timed(number) for number in range(AT_ONCE))))
    except (OSError, TimeoutError, websockets.WebSocketException) as problem:
        raise CannotMeasure(f"not all of {AT_ONCE} sockets opened at once got through: {problem}") from None
    finally:
        await room.leave()


def read_ms(port: int, session: str, path: str) -> float:
    """Milliseconds of a page of a person who is signed in, read to its end."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Cookie": f"aiswe_session={session}"})
    began = time.monotonic()
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310  our own server
        answer.read()
    return 1000 * (time.monotonic() - began)


def measure(section: Section, options: Any) -> None:
    """Fill the section; raises CannotMeasure."""
    port = free_port()
    with scratch() as folder, ChildProcess(SITE, folder / "home", [str(port)], LIMIT) as site:
        site.answer()
        site.order({"do": "audience", "people": VIEWERS // 10, "runs": RUNS + 4})
        place = site.answer()
        sessions, (single, idle, hundred, big, *many) = place["sessions"], place["runs"]
        wait_for_pages(port)
        site.order({"do": "spread", "where": "runs", "runs": [idle], "count": int(RATE * SECONDS), "rate": RATE})
        alone = site.answer()
        site.order({"do": "cpu"})
        writing = (site.answer()["seconds"] - alone["cpu"]) / SECONDS  # of a second, by the writer itself

        def watched(where: str, runs: list[int], viewers: int) -> Watched:
            return asyncio.run(_watched(site, port, sessions, where, runs, viewers))

        found = [
            (f"{VIEWERS} viewers of one run", watched("runs", [single], VIEWERS), watched("bare", [single], VIEWERS)),
            (
                f"{RUNS} runs with {EACH} viewers each",
                watched("runs", many, RUNS * EACH),
                watched("bare", many, RUNS * EACH),
            ),
        ]
        opened = asyncio.run(_at_once(port, sessions, hundred))
        site.order({"do": "big", "run": big, "count": BIG})
        site.answer()
        pages = {
            "first rows, first time": [read_ms(port, sessions[0], f"/runs/{big}")],
            "first rows": [read_ms(port, sessions[0], f"/runs/{big}") for _ in range(7)],
            "jump to an event": [read_ms(port, sessions[0], f"/runs/{big}/e/{n}") for n in range(5_000, 40_000, 5_000)],
            "a chunk of rows": [read_ms(port, sessions[0], f"/runs/{big}/c/{n}") for n in range(100, 107)],
            "search": [read_ms(port, sessions[0], f"/runs/{big}?q=row+4242") for _ in range(7)],
            "next error": [read_ms(port, sessions[0], f"/runs/{big}/seek?after={n}") for n in range(1, 8)],
        }
    bare = "a bare Channels consumer that is sent each row by group_send, same rate, same process"
    for name, ours, theirs in found:
        section.figures += [
            Figure(
                f"{name}, rows delivered", Spread.of([ours.rate], "/s"), Spread.of([theirs.rate], "/s"), bare, "higher"
            ),
            Figure(f"{name}, commit to socket", Spread.of(ours.late, "ms"), Spread.of(theirs.late, "ms"), bare),
            Figure(
                f"{name}, processor time of the web process per viewer (writing taken off)",
                Spread.of([1000 * max(0.0, ours.cpu / ours.seconds - writing) / VIEWERS], "ms/s"),
            ),
        ]
        section.notes.append(f"{name}: {ours.share:.1%} of the rows delivered; bare: {theirs.share:.1%}")
    section.figures.append(
        Figure(f"{AT_ONCE} sockets opened at once, until the first message", Spread.of(opened, "ms"))
    )
    section.figures += [Figure(f"{BIG:,} events: {name}", Spread.of(times, "ms")) for name, times in pages.items()]
    section.notes.append(
        f"offered: {RATE:.0f} events/s for {SECONDS} s, spread over the runs; writing alone: {writing:.0%} of a core"
    )
