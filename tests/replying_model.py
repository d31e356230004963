"""A model server that answers from a list or by a function: real HTTP, Ollama's chat, no delay."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[[list[dict[str, Any]]], str]


class ReplyingModel:
    """What it was asked is in `prompts`, as lists of messages; when its replies are used up it says so."""

    def __init__(self, replies: Sequence[str] | Reply) -> None:
        self.prompts: list[list[dict[str, Any]]] = []
        self.schemas: list[Any] = []  # asked for with each prompt; None where there was none
        self._replies, self._lock = replies, threading.Lock()
        self._begun = 0  # how many prompts there were when the list was given
        self.url = ""
        self.options: dict[str, Any] = {}  # of the newest call
        self.fail = False  # refuse calls
        self.held: threading.Event | None = None  # the second half of each reply waits for it

    def answer(self, replies: Sequence[str] | Reply) -> None:
        """Give these replies from now on."""
        with self._lock:
            self._replies, self._begun = replies, len(self.prompts)

    def reply(self, messages: list[dict[str, Any]]) -> str:
        """The reply to a conversation."""
        with self._lock:
            self.prompts.append(messages)
            if callable(self._replies):
                return self._replies(messages)
            at = len(self.prompts) - 1 - self._begun
            return self._replies[at] if at < len(self._replies) else "I have nothing more to say."

    def last(self, at: int = -1) -> str:
        """The newest turn of a prompt."""
        return str(self.prompts[at][-1]["content"])


@contextmanager
def replying_model(replies: Sequence[str] | Reply, *, name: str = "qwen2.5-coder:7b") -> Iterator[ReplyingModel]:
    """Serve it on a port of its own until the end of the block."""
    model = ReplyingModel(replies)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            body = {"models": [{"name": name, "model": name}], "version": "0.6.3"}
            self._send([json.dumps(body)], "application/json")

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
            if not self.path.endswith("/api/chat"):
                return self._send([json.dumps({"model_info": {}, "details": {}})], "application/json")
            if model.fail:
                return self._send([json.dumps({"error": "the model crashed"})], "application/json", 500)
            model.options = asked.get("options") or {}
            model.schemas.append(asked.get("format"))
            text = model.reply(asked["messages"])
            pieces = [text[at : at + 12] for at in range(0, len(text), 12)] or [""]
            rows = [{"model": name, "message": {"role": "assistant", "content": one}, "done": False} for one in pieces]
            figures = {"prompt_eval_count": 100, "eval_count": len(pieces), "eval_duration": 1_000_000}
            end = {"model": name, "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
            self._send([json.dumps(row) + "\n" for row in [*rows, {**end, **figures}]], "application/x-ndjson")

        def _send(self, parts: list[str], kind: str, status: int = 200) -> None:
            body = "".join(parts).encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            half = len("".join(parts[: len(parts) // 2]).encode())
            with suppress(ConnectionError):  # who asked may have gone
                self.wfile.write(body[:half])
                if model.held is not None and half:
                    self.wfile.flush()
                    model.held.wait(60)
                self.wfile.write(body[half:])

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    model.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
