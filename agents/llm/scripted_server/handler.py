"""One HTTP connection to the recording: routes, JSON in and out, and noticing that the client left."""

from __future__ import annotations

import json
import re
import select
import socket
import time
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote

from agents.llm.scripted_server import other, play
from agents.llm.scripted_server.dialects import as_json
from agents.llm.scripted_server.faults import Fault
from agents.llm.scripted_server.pace import EMBED_DIMS, embed
from agents.llm.tokens import count_tokens
from agents.llm.transport import RECORDED_HEADER

if TYPE_CHECKING:
    from agents.llm.scripted_server.server import Desk, SeenRequest, _Server

VERSION = "0.12.6"
_MAX_BODY = 20_000_000
_LOOK_S = 0.05  # how often a waiting call looks whether its client is still there


_GEMINI = re.compile(r"/v1beta/models/([^/:?]+):(\w+)")
_PLAYED = (play.chat, play.generate, play.openai_chat, play.gemini_chat)  # they take their faults themselves


class ClientGone(Exception):
    """The client hung up, or the server is stopping: there is nobody to talk to."""


class Handler(BaseHTTPRequestHandler):
    """Speaks Ollama's protocol, OpenAI's below /v1 and Gemini's below /v1beta; `/_scripted/…` drives the recording."""

    protocol_version = "HTTP/1.1"
    server_version = "ScriptedOllama"
    sys_version = ""
    seen: SeenRequest
    fault: Fault | None = None

    @property
    def route(self) -> str:
        """The address without the model in it and without a query; faults are ordered by it."""
        return _GEMINI.sub(r"/v1beta:\2", self.path.partition("?")[0])

    @property
    def asked_model(self) -> str:
        """The model named in the address, where the protocol has it there."""
        match = _GEMINI.match(self.path)
        return unquote(match[1]) if match else ""

    @property
    def desk(self) -> Desk:
        """What all connections share."""
        return cast("_Server", self.server).desk

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are kept as data, not printed."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        """Answer what Ollama answers to GET."""
        self.seen = self.desk.saw(self.command, self.path, {}, self.client_address[1])
        answers: dict[str, Any] = {
            "/api/version": self._version,
            "/api/tags": self._tags,
            "/api/ps": self._ps,
            "/_scripted/stats": lambda: dict(self.desk.counts),
            "/_scripted/requests": self._requests,
            "/v1/models": lambda: other.openai_models(self),
        }
        if self.path.startswith("/v1") and not other.let_in(self):
            return
        if self.path == "/":
            self._send(200, b"Ollama is running", "text/plain; charset=utf-8")
        elif self.path in answers:
            self.send_json(200, answers[self.path]())
        elif self.path.startswith("/v1beta/models/"):
            other.gemini_model(self)
        else:
            self.send_json(404, {"error": "not found"})
        self.seen.outcome = "done"

    def do_POST(self) -> None:
        """Answer what Ollama answers to POST."""
        body = self._read_body()
        if body is None:
            return
        routes = {
            "/api/chat": play.chat,
            "/api/generate": play.generate,
            "/api/pull": play.pull,
            "/api/embed": Handler._embed,
            "/api/show": Handler._show,
            "/_scripted/faults": Handler._order_fault,
            "/v1/chat/completions": play.openai_chat,
            "/v1/embeddings": other.openai_embed,
            "/v1beta:generateContent": play.gemini_chat,
            "/v1beta:streamGenerateContent": play.gemini_chat,
            "/v1beta:batchEmbedContents": other.gemini_embed,
        }
        self.fault = None
        route = routes.get(self.route)
        if route is None:
            self.send_json(404, {"error": "not found"})
            return
        try:
            if self.path.startswith("/v1") and not other.let_in(self, body):
                return
            if route not in _PLAYED and (fault := self.desk.faults.take(self.route)):
                dialect = other.dialect_of(self)
                if play.break_before(self, fault, dialect):
                    return
            route(self, body)
            if self.seen.outcome == "open":
                self.seen.outcome = "done"
        except (ClientGone, OSError):
            self.close_connection = True
            self.seen.outcome = "disconnected"
            self.desk.count(disconnected=1)

    # What play.py needs of a connection.

    def send_json(self, status: int, data: Any, headers: dict[str, str] | None = None) -> None:
        """One JSON answer."""
        if status >= 400:
            self.seen.outcome = "refused"
        self._send(status, json.dumps(data).encode(), "application/json; charset=utf-8", headers)

    def begin_stream(self, kind: str = "application/x-ndjson") -> None:
        """Start a chunked answer."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header(RECORDED_HEADER, self.desk.scenario.name)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def send_raw(self, data: bytes) -> None:
        """One chunk of a stream; a chunk for every byte when the fault wants it so."""
        bytewise = self.fault is not None and self.fault.kind == "half_char"
        for part in [data[at : at + 1] for at in range(len(data))] if bytewise else [data]:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))

    def fault_in_tail(self) -> None:
        """Go silent between the reason of the end and the end, when the fault wants it so."""
        if self.fault is not None and self.fault.kind == "silent_end":
            self.wait(86_400.0)

    def send_line(self, data: dict[str, Any]) -> None:
        """One JSON line of a stream."""
        self.send_raw(as_json(data) + b"\n")

    def end_stream(self) -> None:
        """The last chunk."""
        self.wfile.write(b"0\r\n\r\n")

    def hang_up(self) -> None:
        """Close in the middle."""
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)

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
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)

    # Small answers.

    def _read_body(self) -> dict[str, Any] | None:
        """The JSON object sent, written down as seen; None when it was none and has been answered."""
        self.seen = self.desk.saw("POST", self.path, {}, self.client_address[1])
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

    def _send(self, status: int, data: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header(RECORDED_HEADER, self.desk.scenario.name)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _version(self) -> dict[str, Any]:
        scenario = self.desk.scenario
        return {"version": f"{VERSION}-recording", "recorded": True, "scenario": scenario.name, "title": scenario.title}

    def _tags(self) -> dict[str, Any]:
        model = self.desk.scenario.model
        return {"models": [{"name": model, "model": model, "size": 0, "digest": "recording", "details": _DETAILS}]}

    def _ps(self) -> dict[str, Any]:
        if self.desk.loaded_window is None:
            return {"models": []}
        entry = {**self._tags()["models"][0], "size_vram": 0, "context_length": self.desk.loaded_window}
        return {"models": [entry]}

    def _requests(self) -> list[dict[str, Any]]:
        with self.desk.lock:
            return [vars(request) for request in self.desk.requests]

    def _show(self, body: dict[str, Any]) -> None:
        if (body.get("model") or body.get("name")) != self.desk.scenario.model:
            self.send_json(404, {"error": f"model '{body.get('model')}' not found"})
            return
        info = {"general.architecture": "recording", "recording.context_length": self.desk.window}
        self.send_json(200, {"details": _DETAILS, "model_info": info, "capabilities": ["completion"]})

    def _embed(self, body: dict[str, Any]) -> None:
        texts = body.get("input")
        texts = [texts] if isinstance(texts, str) else texts
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            self.send_json(400, {"error": "invalid input type"})
            return
        vectors = [embed(text) for text in texts]
        count = sum(count_tokens(text) for text in texts)
        self.send_json(
            200, {"model": body.get("model"), "embeddings": vectors, "prompt_eval_count": count, "dims": EMBED_DIMS}
        )

    def _order_fault(self, body: dict[str, Any]) -> None:
        try:
            fault = Fault.from_json(body)
        except (ValueError, TypeError) as error:
            self.send_json(400, {"error": str(error)})
            return
        times = body.get("times", 1)
        self.desk.faults.order(fault, times if isinstance(times, int) else 1)
        self.send_json(200, {"ordered": fault.kind})


_DETAILS = {
    "family": "recording",
    "families": ["recording"],
    "format": "recording",
    "parameter_size": "",
    "quantization_level": "",
}
