"""One HTTP connection to a recording: JSON in and out, and noticing that the client left."""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

from agents.llm.answers import RECORDED_HEADER
from agents.llm.scripted_server.desk import Desk, SeenRequest

_MAX_BODY = 20_000_000
_LOOK_S = 0.05  # how often a waiting call looks whether its client is still there

Answer = Callable[[dict[str, Any]], None]


class ClientGone(Exception):
    """The client hung up, or the server is stopping: there is nobody to talk to."""


class Connection(BaseHTTPRequestHandler):
    """The protocol-independent part of a handler; subclasses say what they answer in `gets` and `posts`."""

    protocol_version = "HTTP/1.1"
    server_version = "ScriptedOllama"
    sys_version = ""
    seen: SeenRequest

    @property
    def route(self) -> str:
        """The path without a query."""
        return self.path.partition("?")[0]

    @property
    def desk(self) -> Desk:
        """What all connections share."""
        desk: Desk = self.server.desk  # type: ignore[attr-defined]  # our own server, which typeshed cannot know
        return desk

    def gets(self) -> dict[str, Callable[[], None]]:
        """What is answered to GET, by route."""
        raise NotImplementedError

    def posts(self) -> dict[str, Answer]:
        """What is answered to POST, by route."""
        raise NotImplementedError

    def dispatch(self, answer: Answer, body: dict[str, Any]) -> None:
        """Answer one POST."""
        answer(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are kept as data, not printed."""

    def do_HEAD(self) -> None:
        """As GET, without a body."""
        self.do_GET()

    def do_GET(self) -> None:
        """Answer a GET."""
        self.seen = self.desk.saw(self.command, self.path, self.client_address[1])
        answer = self.gets().get(self.route)
        if answer is None:
            self.send_json(404, {"error": "not found"})
        else:
            answer()
        self.seen.outcome = "done"

    def do_POST(self) -> None:
        """Answer a POST; a client that hangs up ends it."""
        body = self._read_body()
        if body is None:
            return
        answer = self.posts().get(self.route)
        if answer is None:
            self.send_json(404, {"error": "not found"})
            return
        try:
            self.dispatch(answer, body)
            if self.seen.outcome == "open":
                self.seen.outcome = "done"
        except (ClientGone, OSError):
            self.close_connection = True
            self.seen.outcome = "disconnected"

    def send_json(self, status: int, data: Any, headers: dict[str, str] | None = None) -> None:
        """One JSON answer."""
        if status >= 400:
            self.seen.outcome = "refused"
        self.send_body(status, json.dumps(data).encode(), "application/json; charset=utf-8", headers)

    def send_body(self, status: int, data: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        """One answer of any kind, marked as recorded."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header(RECORDED_HEADER, self.desk.scenario.name)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def begin_stream(self, kind: str) -> None:
        """Start a chunked answer."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header(RECORDED_HEADER, self.desk.scenario.name)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def send_chunk(self, data: bytes) -> None:
        """One chunk of a stream."""
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def end_stream(self) -> None:
        """The last chunk."""
        self.wfile.write(b"0\r\n\r\n")

    def wait(self, seconds: float) -> None:
        """Let time pass; raises `ClientGone` as soon as the client hangs up or the server stops."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self.gone():
                raise ClientGone
            self.desk.stopping.wait(min(left, _LOOK_S)) if left > _LOOK_S else time.sleep(left)

    def gone(self) -> bool:
        """True when the other end closed, or this one is closing."""
        if self.desk.stopping.is_set():
            return True
        ready = select.poll()  # select() refuses descriptors from 1,024 on
        ready.register(self.connection, select.POLLIN)
        return bool(ready.poll(0)) and not self.connection.recv(1, socket.MSG_PEEK)

    def _read_body(self) -> dict[str, Any] | None:
        """The JSON object sent; None when it was not one and has been answered."""
        self.seen = self.desk.saw("POST", self.path, self.client_address[1])
        length = self.headers.get("Content-Length") or "0"
        if not length.isdecimal() or int(length) > _MAX_BODY:
            self.close_connection = True
            self.send_json(413, {"error": "request body too large"})
            return None
        raw = self.rfile.read(int(length))
        try:
            body = json.loads(raw or b"{}")
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            self.send_json(400, {"error": "invalid JSON in the request body"})
            return None
        self.seen.body = body
        return body
