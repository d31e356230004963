"""Notify viewers: "run 42 is at 1234", for dashboard/live/feeds.py. A lost message costs latency, never data.

All messages leave from one thread with an event loop of its own, so a caller may be any thread or a coroutine, a
connection to Redis is kept open, and a broker that hangs hangs nobody.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from channels.layers import get_channel_layer

logger = logging.getLogger(__name__)

POKE_EVERY = 0.05  # seconds between two pokes of one run: a burst becomes one read of the rows
SEND_WITHIN = 2.0  # seconds for the channel layer to take a message
MAX_DELTAS = 2_000  # waiting token deltas; beyond that they are dropped, the final row replaces them anyway


def group_of(run_id: int) -> str:
    """The channel group in which a run's viewers wait."""
    return f"run.{run_id}"


def person_group(user_id: int) -> str:
    """The channel group of all sockets of one person."""
    return f"person.{user_id}"


class Doorbell:
    """One thread that sends pokes (coalesced per run) and token deltas (in order)."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._latest: dict[int, int] = {}
        self._armed: set[int] = set()
        self._rung: dict[int, float] = {}
        self._deltas: asyncio.Queue[tuple[str, dict[str, Any]]] = asyncio.Queue(MAX_DELTAS)
        self._open = 0
        self._complained = 0.0
        self._sender: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, name="doorbell", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._sender = self._loop.create_task(self._send_deltas())
        self._loop.run_forever()

    def poke(self, run_id: int, seq: int) -> None:
        """Tell the run's viewers, soon, that rows up to `seq` exist."""
        self._loop.call_soon_threadsafe(self._arm, run_id, seq)

    def delta(self, group: str, message: dict[str, Any]) -> None:
        """Pass a message on in order; dropped when too many wait."""
        self._loop.call_soon_threadsafe(self._take, group, message)

    def _take(self, group: str, message: dict[str, Any]) -> None:
        if not self._deltas.full():
            self._deltas.put_nowait((group, message))

    def _arm(self, run_id: int, seq: int) -> None:
        self._latest[run_id] = max(seq, self._latest.get(run_id, 0))
        if run_id in self._armed:
            return
        self._armed.add(run_id)
        self._open += 1
        wait = self._rung.get(run_id, 0.0) + POKE_EVERY - time.monotonic()
        self._loop.call_later(max(0.0, wait), self._ring, run_id)

    def _ring(self, run_id: int) -> None:
        self._armed.discard(run_id)
        if len(self._rung) > 1_000:
            self._rung.clear()
        self._rung[run_id] = time.monotonic()
        message = {"type": "run.poke", "run": run_id, "seq": self._latest.pop(run_id)}
        task = self._loop.create_task(self._send(group_of(run_id), message))
        task.add_done_callback(self._rang)

    def _rang(self, _task: asyncio.Task[None]) -> None:
        self._open -= 1

    async def _send_deltas(self) -> None:
        while True:
            group, message = await self._deltas.get()
            await self._send(group, message)
            self._deltas.task_done()

    async def _send(self, group: str, message: dict[str, Any]) -> None:
        try:
            layer = get_channel_layer()
            if layer is not None:
                await asyncio.wait_for(layer.group_send(group, message), SEND_WITHIN)
        except Exception as problem:  # noqa: BLE001  whatever the layer raises, viewers catch up from the rows
            if time.monotonic() - self._complained > 30:
                self._complained = time.monotonic()
                logger.warning("viewers were not notified about %s: %s", group, problem or type(problem).__name__)

    def wait_idle(self, seconds: float) -> bool:
        """Wait until everything handed in is sent; False when that takes longer than `seconds`."""
        give_up = time.monotonic() + seconds
        while time.monotonic() < give_up:
            settled = threading.Event()
            self._loop.call_soon_threadsafe(settled.set)
            if not settled.wait(max(0.0, give_up - time.monotonic())):
                return False
            if not self._open and not self._deltas._unfinished_tasks:  # type: ignore[attr-defined]  # no public count
                return True
            time.sleep(0.005)
        return False

    def close(self) -> None:
        """Stop the thread; a later ring starts a new one."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(SEND_WITHIN)
        if not self._thread.is_alive():
            for task in asyncio.all_tasks(self._loop):
                task.cancel()
            self._loop.run_until_complete(asyncio.sleep(0))
            self._loop.close()


_lock = threading.Lock()
_bell: Doorbell | None = None


def _the_bell() -> Doorbell:
    global _bell
    with _lock:
        if _bell is None or _bell.pid != os.getpid():  # a forked worker has no thread of its parent's
            _bell = Doorbell()
        return _bell


def _ring(what: str, ring: Callable[[Doorbell], None]) -> None:
    try:
        ring(_the_bell())
    except RuntimeError as problem:
        logger.warning("viewers were not notified of %s: %s", what, problem)


def announce(run_id: int, seq: int) -> None:
    """Poke the viewers of a run: rows up to `seq` can be read. Never raises, never waits."""
    _ring(f"event {seq} of run {run_id}", lambda bell: bell.poke(run_id, seq))


def announce_delta(run_id: int, *, lane: str, id: str, offset: int, text: str) -> None:
    """Stream text that is still being written (never stored; the final row replaces it). Never raises or waits.

    `offset` is the count of characters sent before under this `id`, so that a viewer notices a gap.
    """
    message = {"type": "run.delta", "run": run_id, "lane": lane, "id": id, "offset": offset, "text": text}
    _ring(f"new text of run {run_id}", lambda bell: bell.delta(group_of(run_id), message))


def announce_recheck(user_id: int) -> None:
    """Make the person's open streams check now whether they may go on. Never raises, never waits."""
    _ring(f"changed rights of user {user_id}", lambda bell: bell.delta(person_group(user_id), {"type": "run.recheck"}))


def flush(seconds: float = 1.0) -> bool:
    """Wait until pokes and deltas handed in so far are sent. True when they were."""
    bell = _bell
    return True if bell is None or bell.pid != os.getpid() else bell.wait_idle(seconds)


atexit.register(flush, 2.0)  # a command that ends immediately still notifies
