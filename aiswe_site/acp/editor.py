"""The editor at the other end, for synchronous code: the engine works in threads, the protocol in an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import threading
import time
from collections.abc import Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from acp import Client, RequestError
from acp.schema import ClientCapabilities

T = TypeVar("T")
POLL_S = 0.2  # how often a thread that waits for the editor looks whether it is to stop
TELL_S = 10.0  # for an update to be taken: an editor that does not read must not hold a turn for ever
GONE = "The editor is gone."
log = logging.getLogger(__name__)


class EditorRefused(Exception):
    """The editor answered a request with an error; the text is its own."""


class Editor:
    """One session's way to its editor. Safe to use from any thread but the loop's."""

    def __init__(
        self, client: Client, loop: asyncio.AbstractEventLoop, session: str, can: ClientCapabilities | None
    ) -> None:
        self.client, self.session, self._loop = client, session, loop
        self.interrupted = threading.Event()  # a person cancelled the turn
        self.gone = threading.Event()
        files = can.fs if can is not None else None
        self.reads = bool(files and files.read_text_file)
        self.writes = bool(files and files.write_text_file)
        self.terminals = bool(can and can.terminal)

    @property
    def stopped(self) -> bool:
        """Whether the turn is to end."""
        return self.interrupted.is_set() or self.gone.is_set()

    def stop_if_told(self) -> None:
        """Raise Stopped when the turn is to end."""
        from agents.engine.contracts import Stopped  # on use: an editor waits for this process to answer

        if self.stopped:
            raise Stopped(GONE if self.gone.is_set() else "cancelled")

    def ask(self, request: Coroutine[Any, Any, T], *, to_the_end: bool = False, seconds: float = math.inf) -> T:
        """Wait for the editor's answer, however long a person takes. `to_the_end`: also after a cancel.

        Raises Stopped when the turn is to end, EditorRefused, and TimeoutError after so many seconds.
        """
        waiting, until = asyncio.run_coroutine_threadsafe(request, self._loop), time.monotonic() + seconds
        while True:
            try:
                return waiting.result(POLL_S)
            except TimeoutError:
                if time.monotonic() > until:
                    waiting.cancel()
                    raise
                if self.gone.is_set() or (self.interrupted.is_set() and not to_the_end):
                    waiting.cancel()
                    self.stop_if_told()
            except (ConnectionError, CancelledError):
                self.gone.set()
                self.stop_if_told()
            except RequestError as refused:
                raise EditorRefused(str(refused)) from None

    def tell(self, update: Any) -> None:
        """Send an update of the session; one that cannot be sent is of no use to anybody."""
        if self.gone.is_set():
            return
        sent = asyncio.run_coroutine_threadsafe(self.client.session_update(self.session, update), self._loop)
        with contextlib.suppress(ConnectionError, CancelledError):
            try:
                sent.result(TELL_S)
            except TimeoutError:
                log.warning("The editor does not read: an update is left out.")
                sent.cancel()
