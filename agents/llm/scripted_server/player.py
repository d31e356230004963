"""Playing a reply: choose it, wait as a model would, and stream it."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from agents.llm.answers import REPLY_HEADER
from agents.llm.scripted_server.connection import Connection
from agents.llm.scripted_server.pace import pieces, prompt_tokens, render
from agents.llm.scripted_server.scenario import ReplyMissing, ScenarioError

_DEFAULT_WINDOW = 4096  # tokens; what a real Ollama takes when the client asks for nothing


@dataclass(frozen=True)
class ChatRequest:
    """What a call asks for, whichever protocol it came over. `window` None: whatever the server holds."""

    model: str
    messages: list[dict[str, Any]]
    limit: int = 0
    streaming: bool = True
    window: int | None = None
    shorten: bool = False  # a conversation that is too long loses its oldest turns instead of being refused


@dataclass(frozen=True)
class Figures:
    """What one call cost; times in seconds."""

    prompt: int
    reused: int
    written: int
    cut: bool
    reading_s: float
    writing_s: float
    total_s: float


class Player:
    """Answers one call to /api/chat in Ollama's protocol, JSON lines; a subclass may speak another one."""

    kind = "application/x-ndjson"

    def __init__(self, http: Connection) -> None:
        self.http, self.model = http, http.desk.scenario.model

    def read(self, body: dict[str, Any]) -> ChatRequest:
        """Read the call."""
        given = body.get("options")
        options = given if isinstance(given, dict) else {}
        return ChatRequest(
            str(body.get("model")),
            dicts_in(body.get("messages")),
            positive(options.get("num_predict"), 0),
            bool(body.get("stream", True)),
            positive(options.get("num_ctx"), _DEFAULT_WINDOW),
            body.get("truncate") is not False,
        )

    def send_piece(self, text: str) -> None:
        """Send a piece of the reply."""
        self.send_line({**self._head(text), "done": False})

    def send_end(self, figures: Figures) -> None:
        """Say that the reply is over, and what it cost."""
        self.send_line(self._last("", figures))

    def send_complete(self, text: str, figures: Figures) -> None:
        """Answer in one piece."""
        self.http.send_json(200, self._last(text, figures))

    def refuse(self, status: int, why: str, headers: dict[str, str] | None = None, *, reason: str = "") -> None:
        """Answer with an error; `reason` is the code for programs, where the protocol has one."""
        self.http.send_json(status, {"error": why}, headers)

    def refuse_too_long(self, tokens: int, window: int) -> None:
        """Refuse a conversation that does not fit."""
        self.refuse(400, "the input length exceeds the context length", reason="context_length_exceeded")

    def send_line(self, data: dict[str, Any]) -> None:
        """One JSON line of the stream."""
        self.http.send_chunk(as_json(data) + b"\n")

    def begin(self) -> None:
        """Start a streamed answer."""
        self.http.begin_stream(self.kind)

    def before_reply(self) -> bool:
        """Called before anything is sent; True when the call is over already."""
        return False

    def before_piece(self, sent: int) -> bool:
        """Called before each piece of a stream; True when the reply is over."""
        return False

    def reply_name(self, asked: ChatRequest) -> str:
        """The name of the reply that a call is for; empty when it has none."""
        return self.http.headers.get(REPLY_HEADER, "")

    def play(self, body: dict[str, Any]) -> None:
        """Answer a call with the reply of the scenario."""
        if self.before_reply():
            return
        desk, seen, asked = self.http.desk, self.http.seen, self.read(body)
        if asked.model != desk.scenario.model:
            self.refuse(404, f"model '{asked.model}' not found", reason="model_not_found")
            return
        try:
            seen.file, text = desk.scenario.reply(self.reply_name(asked))
        except ScenarioError as error:
            seen.file = error.file if isinstance(error, ReplyMissing) else ""
            self.refuse(500, str(error))
            return
        window = desk.window if asked.window is None else min(asked.window, desk.window)
        prompt = render(asked.messages)
        tokens, _ = prompt_tokens(prompt, 0)
        if tokens >= window:
            if not asked.shorten:
                self.refuse_too_long(tokens, window)
                return
            prompt = _shortened(asked.messages, window)
        started = time.monotonic()
        while not desk.take_slot():
            self.http.wait(0.001)
        try:
            desk.loaded_window = window
            self._send(asked, prompt, text, started)
        finally:
            desk.free_slot()

    def _send(self, asked: ChatRequest, prompt: str, text: str, started: float) -> None:
        http, desk, seen = self.http, self.http.desk, self.http.seen
        seen.prompt_tokens, seen.reused_tokens = prompt_tokens(prompt, desk.cache.reused(prompt))
        reading = time.monotonic()
        http.wait(desk.reading.delay(seen.prompt_tokens - seen.reused_tokens))
        writing = time.monotonic()
        pace = desk.writing.copy()
        words = pieces(text)
        cut = 0 < asked.limit < len(words)
        words = words[: asked.limit] if cut else words
        if asked.streaming:
            self.begin()
        for word in words:
            http.wait(pace.delay())
            if asked.streaming:
                if self.before_piece(seen.reply_tokens):
                    return
                self.send_piece(word)
            seen.reply_tokens += 1
        reply = "".join(words)
        desk.cache.extend(prompt, f"{prompt}<|assistant|>\n{reply}\n")
        end = time.monotonic()
        figures = Figures(
            seen.prompt_tokens, seen.reused_tokens, len(words), cut, writing - reading, end - writing, end - started
        )
        if not asked.streaming:
            self.send_complete(reply, figures)
            return
        self.send_end(figures)
        http.end_stream()

    def _head(self, text: str) -> dict[str, Any]:
        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        return {"model": self.model, "created_at": now, "message": {"role": "assistant", "content": text}}

    def _last(self, text: str, figures: Figures) -> dict[str, Any]:
        return {
            **self._head(text),
            "done": True,
            "done_reason": "length" if figures.cut else "stop",
            "total_duration": _ns(figures.total_s),
            "load_duration": 0,
            "prompt_eval_count": figures.prompt,
            "prompt_eval_duration": _ns(figures.reading_s),
            "eval_count": figures.written,
            "eval_duration": _ns(figures.writing_s),
        }


def dicts_in(given: Any) -> list[dict[str, Any]]:
    """The objects of a JSON list; [] for anything else."""
    return [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []


def positive(value: Any, default: int) -> int:
    """A positive whole number, else the default."""
    return value if isinstance(value, int) and value > 0 else default


def as_json(data: dict[str, Any]) -> bytes:
    """As real servers write it: characters, not escapes; a lone surrogate can only be escaped."""
    try:
        return json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(data).encode()


def _shortened(messages: list[dict[str, Any]], window: int) -> str:
    """What a real server makes of a conversation that is too long: the oldest turns are dropped silently."""
    system = [m for m in messages if m.get("role") == "system"]
    rest = [m for m in messages if m.get("role") != "system"]
    while len(rest) > 1 and prompt_tokens(render([*system, *rest]), 0)[0] >= window:
        rest.pop(0)
    return render([*system, *rest])


def _ns(seconds: float) -> int:
    return max(1, int(seconds * 1e9))
