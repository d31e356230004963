"""A server on this machine that answers as it is told; it keeps what it was asked."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass
class Asked:
    """One request that arrived."""

    method: str
    path: str
    fields: dict[str, list[str]]
    headers: dict[str, str]
    body: Any


@dataclass
class StandIn:
    """The running server: set `answer` to something for the handler to do, or call `says`."""

    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    answer: Callable[[BaseHTTPRequestHandler], None] = lambda handler: None
    over: threading.Event = field(default_factory=threading.Event)  # slow answers end with the test

    @property
    def posted(self) -> list[Any]:
        """The bodies that arrived with POST."""
        return [one.body for one in self.asked if one.method == "POST"]

    def says(self, document: Any, status: int = 200, **headers: str) -> None:
        """Answer with JSON, or with bytes as they are."""
        self.answer = lambda handler: send(handler, document, status, **headers)


def send(handler: BaseHTTPRequestHandler, document: Any, status: int = 200, **headers: str) -> None:
    """Send JSON, or bytes as they are; an underscore in the name of a header is a hyphen."""
    raw = document if isinstance(document, bytes) else json.dumps(document).encode()
    handler.send_response(status)
    for name, value in {"Content-Length": str(len(raw)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(raw)


@contextmanager
def stand_in() -> Iterator[StandIn]:
    """A server on a free port of this machine."""
    known = StandIn()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = json.loads(raw) if raw else None
            known.asked.append(Asked(self.command, parts.path, parse_qs(parts.query), headers, body))
            with suppress(OSError):  # the client hangs up on some answers, as it should
                known.answer(self)
            self.close_connection = True

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    known.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield known
    finally:
        known.over.set()
        server.shutdown()
        thread.join()
        server.server_close()
