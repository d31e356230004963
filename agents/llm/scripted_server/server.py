"""The HTTP server behind a recording: start, stop, restart, and what it saw."""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from agents.llm.base import DEFAULT_WINDOW
from agents.llm.scripted_server.faults import Faults
from agents.llm.scripted_server.handler import Handler
from agents.llm.scripted_server.pace import Pace, PrefixCache
from agents.llm.scripted_server.scenario import Scenario

_KEEP_REQUESTS = 1000


@dataclass
class SeenRequest:
    """One call as the server saw it; `outcome` is done, refused, fault or disconnected."""

    method: str
    path: str
    body: dict[str, Any]
    at: float
    file: str = ""
    outcome: str = "open"
    prompt_tokens: int = 0
    reused_tokens: int = 0
    reply_tokens: int = 0
    port: int = 0  # of the client's end: the same one means the same connection


@dataclass
class Desk:
    """What the handlers of one server share."""

    scenario: Scenario
    faults: Faults
    writing: Pace
    reading: Pace
    cache: PrefixCache
    slots: threading.Semaphore
    window: int
    key: str = ""  # what the protocols that know keys must be shown; empty: anybody is let in
    refuses: frozenset[str] = frozenset()  # parameters that the OpenAI-shaped routes do not know
    requests: deque[SeenRequest] = field(default_factory=lambda: deque(maxlen=_KEEP_REQUESTS))
    counts: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)
    stopping: threading.Event = field(default_factory=threading.Event)
    loaded_window: int | None = None
    at_once: int = 0
    most_at_once: int = 0

    def saw(self, method: str, path: str, body: dict[str, Any], port: int = 0) -> SeenRequest:
        """Write down a call."""
        request = SeenRequest(method, path, body, time.time(), port=port)
        with self.lock:
            self.requests.append(request)
            self.counts["requests"] += 1
        return request

    def take_slot(self) -> bool:
        """Take one of the places for calls being answered; False when all stayed taken for a moment."""
        if not self.slots.acquire(timeout=0.05):
            return False
        with self.lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        return True

    def free_slot(self) -> None:
        """Give the place back."""
        with self.lock:
            self.at_once -= 1
        self.slots.release()

    def count(self, **amounts: int) -> None:
        """Add to the totals."""
        with self.lock:
            self.counts.update(amounts)


class _Server(ThreadingHTTPServer):
    """A threading server that can hang up on everybody at once."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, port: int, desk: Desk) -> None:
        self.desk = desk
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        super().__init__(("127.0.0.1", port), Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._open_lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is no news; the handlers write down what matters."""

    def hang_up(self) -> None:
        """Cut every connection, as a crash does."""
        with self._open_lock:
            for connection in self._open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue


class ScriptedOllama:
    """A recorded model on 127.0.0.1: `with ScriptedOllama(folder) as url:`.

    Speeds are tokens per second (writing: of each call, reading: of all together), 0 is without delay; `parallel` calls are answered at a time,
    the others wait. `faults` takes orders, `requests` is what came in (the last thousand), `stats()` the totals. It
    speaks Ollama's protocol, and the OpenAI- and Gemini-shaped ones below /v1 and /v1beta; with a `key` those two let in
    only who shows it, and the first of them refuses the parameters in `refuses`, as many compatible servers do.
    """

    def __init__(
        self,
        scenario: Path | str,
        *,
        tokens_per_s: float = 60.0,
        prefill_per_s: float = 0.0,
        parallel: int = 1,
        port: int = 0,
        window: int = DEFAULT_WINDOW,
        key: str = "",
        refuses: Iterable[str] = (),
    ) -> None:
        self.faults = Faults()
        self._port = port
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None
        self._desk = Desk(
            scenario=Scenario.load(Path(scenario)),
            faults=self.faults,
            writing=Pace(tokens_per_s),
            reading=Pace(prefill_per_s),
            cache=PrefixCache(parallel),
            slots=threading.Semaphore(parallel),
            window=window,
            key=key,
            refuses=frozenset(refuses),
        )

    def __enter__(self) -> str:
        self.start()
        return self.url

    def __exit__(self, *exc: object) -> None:
        self.stop()

    @property
    def scenario(self) -> Scenario:
        """What is played."""
        return self._desk.scenario

    @property
    def url(self) -> str:
        """Its address; known once started, and the same after a restart."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def requests(self) -> list[SeenRequest]:
        """The calls that came in, oldest first."""
        with self._desk.lock:
            return list(self._desk.requests)

    @property
    def most_at_once(self) -> int:
        """The most calls that were ever answered at the same time."""
        return self._desk.most_at_once

    def stats(self) -> dict[str, int]:
        """Totals: requests, chats, prompt_tokens, reused_tokens, reply_tokens, disconnected."""
        with self._desk.lock:
            return dict(self._desk.counts)

    def start(self) -> None:
        """Listen; raises OSError when the port is taken."""
        if self._server is not None:
            return
        self._desk.stopping.clear()
        self._server = _Server(self._port, self._desk)
        self._port = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="scripted-ollama", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop listening and hang up on everybody, as a killed server does; its prompt cache is gone."""
        server, thread, self._server, self._thread = self._server, self._thread, None, None
        if server is None or thread is None:
            return
        self._desk.stopping.set()
        server.shutdown()
        server.server_close()
        server.hang_up()
        thread.join(timeout=5)
        self._desk.cache.clear()
        self._desk.loaded_window = None

    def restart(self, down_s: float = 0.0) -> None:
        """Stop, stay away for some seconds, and listen again on the same port."""
        self.stop()
        time.sleep(down_s)
        self.start()
