"""The HTTP server behind a recording: start, stop, restart, and what it saw."""

from __future__ import annotations

import socket
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from agents.llm.base import DEFAULT_WINDOW
from agents.llm.scripted_server.connection import Connection
from agents.llm.scripted_server.desk import Desk, SeenRequest
from agents.llm.scripted_server.handler import OllamaHandler
from agents.llm.scripted_server.pace import Pace, PrefixCache
from agents.llm.scripted_server.scenario import Scenario


class _Server(ThreadingHTTPServer):
    """A threading server that can cut all its connections."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, port: int, desk: Desk, handler: type[Connection]) -> None:
        self.desk = desk
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        super().__init__(("127.0.0.1", port), handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._open_lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients hang up; the handlers record what matters."""

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

    Speeds are tokens per second (writing: of each call, reading: of all together), 0 is without delay; `parallel` calls
    are answered at a time, the others wait. `requests` is what came in (the last thousand).
    """

    handler: type[Connection] = OllamaHandler

    def __init__(
        self,
        scenario: Path | str,
        *,
        tokens_per_s: float = 60.0,
        prefill_per_s: float = 0.0,
        parallel: int = 1,
        port: int = 0,
        window: int = DEFAULT_WINDOW,
    ) -> None:
        self._port = port
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None
        self._desk = Desk(
            scenario=Scenario.load(Path(scenario)),
            writing=Pace(tokens_per_s),
            reading=Pace(prefill_per_s),
            cache=PrefixCache(parallel),
            slots=threading.Semaphore(parallel),
            window=window,
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
        """The largest number of calls answered at the same time."""
        return self._desk.most_at_once

    def start(self) -> None:
        """Listen; raises OSError when the port is taken."""
        if self._server is not None:
            return
        self._desk.stopping.clear()
        self._server = _Server(self._port, self._desk, self.handler)
        self._port = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="scripted-ollama", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop listening and cut all connections, as a killed server does; its prompt cache is gone."""
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
