"""One reader of a run for everybody who watches it in this process: woken once, each frame read and rendered once."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Coroutine
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async
from channels.layers import get_channel_layer

from dashboard.live import stream
from dashboard.text.safe import plain
from projects.services.audit.notifications import group_of

log = logging.getLogger(__name__)
MOST_WORDS = 8_000  # characters of one model's reply between two ticks; the finished row replaces what is cut


def encode(message: dict[str, Any]) -> str:
    """A message as the socket carries it."""
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False)


class Shared(NamedTuple):
    """A frame that was rendered once: up to which event, and its text."""

    to: int
    text: str


class Viewer(Protocol):
    """A socket that is told when there is something to fetch."""

    def ring(self, *texts: str) -> None:
        """There may be rows; `texts` are messages to send as they are, before them."""


class Feed:
    """The stream of one run in one process.

    Viewers that follow the run ask for the same frames, so the first one's is kept for the others. A viewer in between
    two kept frames gets a frame up to the next kept one, and shares from there on.
    """

    tick_seconds = 0.05
    idle_seconds = 5.0  # a lost doorbell costs this much latency, never data
    panel_seconds = 0.5  # between two renderings of the run's totals
    kept, kept_characters = 64, 2_000_000  # frames

    def __init__(self, run_id: int) -> None:
        self.run_id = run_id
        self.viewers: set[Viewer] = set()
        self.ready = asyncio.Event()
        self._head, self._sure = 0, False  # the newest event known of; whether the database was asked since a doubt
        self._frames: OrderedDict[tuple[stream.Filter, int], Shared] = OrderedDict()
        self._size = 0
        self._lock = asyncio.Lock()
        self._rung = asyncio.Event()
        self._words: dict[tuple[str, str], dict[str, Any]] = {}
        self._stale, self._told = stream.Stale.NOTHING, float("-inf")
        self._tasks = [self._start(self._listen()), self._start(self._tick())]

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(work)

    def doubt(self) -> None:
        """Ask the database at the next look: rows may have come without a doorbell."""
        self._sure = False
        self._rung.set()

    async def after(self, cursor: int, wanted: stream.Filter) -> Shared | None:
        """What a viewer at `cursor` is sent next, or None when it has everything."""
        key = (wanted, cursor)
        if found := self._frames.get(key):
            return found
        if self._sure and self._head <= cursor:
            return None
        async with self._lock:
            if found := self._frames.get(key):
                return found  # made while this one waited
            if self._sure and self._head <= cursor:
                return None
            next_kept = min((at for filter_, at in self._frames if filter_ == wanted and at > cursor), default=None)
            made = await database_sync_to_async(stream.frame)(self.run_id, cursor, wanted, upto=next_kept, totals=False)
            if next_kept is None:
                self._sure = True
            if made is None:
                return None
            self._head = max(self._head, made["last"])
            self._stale = max(self._stale, made.pop("stale"))
            shared = Shared(made["to"], encode(made))
            if not made.get("skip"):
                self._frames[key] = shared
                self._size += len(shared.text)
                while len(self._frames) > self.kept or self._size > self.kept_characters:
                    self._size -= len(self._frames.popitem(last=False)[1].text)
            return shared

    async def _listen(self) -> None:
        """Take what the channel layer has for this run: one subscription, whatever the number of viewers."""
        layer: Any = get_channel_layer()
        group = group_of(self.run_id)
        while True:
            channel = ""
            try:
                channel = await layer.new_channel()
                await layer.group_add(group, channel)
                self.ready.set()
                self.doubt()
                while True:
                    self._take(await layer.receive(channel))
            except asyncio.CancelledError:
                raise
            except Exception:
                log.exception("run %s: the channel layer failed; its viewers are woken by the clock", self.run_id)
                await asyncio.sleep(1)
            finally:
                with contextlib.suppress(Exception):
                    await layer.group_discard(group, channel)

    def _take(self, message: dict[str, Any]) -> None:
        if message.get("type") == "run.delta":
            lane, ident = str(message.get("lane", ""))[:20], str(message.get("id", ""))[:80]
            text = plain(message.get("text", ""), 4_000)
            new = {"lane": lane, "id": ident, "off": message.get("offset", 0), "s": ""}
            kept = self._words.setdefault((lane, ident), new)
            if len(kept["s"]) < MOST_WORDS:
                kept["s"] += text
        else:
            self._head = max(self._head, int(message.get("seq", 0)))
        self._rung.set()

    async def _tick(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._rung.wait(), self.panel_seconds if self._stale else self.idle_seconds)
            if not self._rung.is_set() and not self._stale:
                self._sure = False
            self._rung.clear()
            texts = []
            if self._words:
                words, self._words = list(self._words.values()), {}
                texts.append(encode({"v": 1, "run": self.run_id, "tok": words}))
            if self._stale and time.monotonic() - self._told >= self.panel_seconds:
                stale, self._stale, self._told = self._stale, stream.Stale.NOTHING, time.monotonic()
                try:
                    panels = await database_sync_to_async(stream.panels)(self.run_id, stale)
                    texts.append(encode({"v": 1, "run": self.run_id, "ui": panels}))
                except Exception:
                    log.exception("run %s: its totals cannot be read", self.run_id)
            for viewer in self.viewers:
                viewer.ring(*texts)
            await asyncio.sleep(self.tick_seconds)

    def close(self) -> None:
        """Leave nothing running."""
        for task in self._tasks:
            task.cancel()


_feeds: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, Feed]] = WeakKeyDictionary()


async def join(run_id: int, viewer: Viewer) -> Feed:
    """The run's feed with one more viewer. What is announced from now on is not missed."""
    feeds = _feeds.setdefault(asyncio.get_running_loop(), {})
    feed = feeds.get(run_id) or Feed(run_id)
    feeds[run_id] = feed
    feed.viewers.add(viewer)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(feed.ready.wait(), 2)
    feed.doubt()
    return feed


def leave(feed: Feed, viewer: Viewer) -> None:
    """One viewer less; the last one ends the feed."""
    feed.viewers.discard(viewer)
    feeds = _feeds.get(asyncio.get_running_loop(), {})
    if not feed.viewers and feeds.get(feed.run_id) is feed:
        del feeds[feed.run_id]
        feed.close()
