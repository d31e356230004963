"""Playing a reply over any protocol: choose it, wait as a model would, and stream it."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from agents.llm.scripted_server.connection import Connection
from agents.llm.scripted_server.pace import pieces, prompt_tokens, render
from agents.llm.scripted_server.scenario import ReplyMissing, ScenarioError


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


class Player(ABC):
    """Answers one call in one protocol."""

    kind = "application/x-ndjson"

    def __init__(self, http: Connection) -> None:
        self.http, self.model = http, http.desk.scenario.model

    @abstractmethod
    def read(self, body: dict[str, Any]) -> ChatRequest:
        """Read the call."""

    @abstractmethod
    def send_piece(self, text: str) -> None:
        """Send a piece of the reply."""

    @abstractmethod
    def send_end(self, figures: Figures) -> None:
        """Say that the reply is over, and what it cost."""

    @abstractmethod
    def send_complete(self, text: str, figures: Figures) -> None:
        """Answer in one piece."""

    @abstractmethod
    def refuse(self, status: int, why: str, headers: dict[str, str] | None = None, *, reason: str = "") -> None:
        """Answer with an error; `reason` is the code for programs, where the protocol has one."""

    def refuse_too_long(self, tokens: int, window: int) -> None:
        """Refuse a conversation that does not fit."""
        self.refuse(400, "the input length exceeds the context length", reason="context_length_exceeded")

    def begin(self) -> None:
        """Start a streamed answer."""
        self.http.begin_stream(self.kind)

    def before_reply(self) -> bool:
        """Called before anything is sent; True when the call is over already."""
        return False

    def before_piece(self, sent: int) -> bool:
        """Called before each piece of a stream; True when the reply is over."""
        return False

    def play(self, body: dict[str, Any]) -> None:
        """Answer a call with the reply of the scenario."""
        if self.before_reply():
            return
        desk, seen, asked = self.http.desk, self.http.seen, self.read(body)
        if asked.model != desk.scenario.model:
            self.refuse(404, f"model '{asked.model}' not found", reason="model_not_found")
            return
        try:
            seen.file, text = desk.scenario.reply(asked.messages)
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
        desk.count(chats=1, prompt_tokens=seen.prompt_tokens, reused_tokens=seen.reused_tokens)
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
            desk.count(reply_tokens=1)
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
