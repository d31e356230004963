"""The protocols a recording is played over: what is asked, and how a word, an end and an error look in each."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agents.llm.scripted_server.handler import Handler

_DEFAULT_WINDOW = 4096  # what a real Ollama takes when the client asks for nothing
GARBAGE = b"\x00\xff<html>502 Bad Gateway</html>}{\n"
CRASH = "llama runner process has terminated: exit status 2"


@dataclass(frozen=True)
class Asked:
    """What a call wants, whichever protocol it came over. `window` None: whatever the server holds."""

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


class Dialect(ABC):
    """One protocol, for one call."""

    kind = "application/x-ndjson"
    half = b'{"model": "x", "message": {"role": "assis'

    def __init__(self, http: Handler, model: str) -> None:
        self.http, self.model = http, model

    @abstractmethod
    def asked(self, body: dict[str, Any]) -> Asked:
        """Read the call."""

    @abstractmethod
    def word(self, text: str) -> None:
        """Send a piece of the reply."""

    @abstractmethod
    def end(self, figures: Figures) -> None:
        """Say that the reply is over, and what it cost."""

    @abstractmethod
    def whole(self, text: str, figures: Figures) -> None:
        """Answer in one piece."""

    @abstractmethod
    def refuse(self, status: int, why: str, headers: dict[str, str] | None = None, *, reason: str = "") -> None:
        """Answer with an error; `reason` is the word for programs, where the protocol has one."""

    @abstractmethod
    def crash(self) -> None:
        """Send an error in the middle of a reply."""

    def too_long(self, tokens: int, window: int) -> None:
        """Refuse a conversation that does not fit."""
        self.refuse(400, "the input length exceeds the context length", reason="context_length_exceeded")

    @abstractmethod
    def keep_alive(self) -> None:
        """Send what keeps a quiet connection open, where the protocol has such a thing."""

    def begin(self) -> None:
        """Start a streamed answer."""
        self.http.begin_stream(self.kind)


class OllamaDialect(Dialect):
    """/api/chat and /api/generate: JSON lines."""

    def __init__(self, http: Handler, model: str, wrap: Callable[[str], dict[str, Any]]) -> None:
        super().__init__(http, model)
        self._wrap = wrap

    def asked(self, body: dict[str, Any]) -> Asked:
        given = body.get("options")
        options = given if isinstance(given, dict) else {}
        if "messages" not in body and ("prompt" in body or "system" in body):
            messages: list[dict[str, Any]] = [
                {"role": "system", "content": body.get("system") or ""},
                {"role": "user", "content": body.get("prompt") or ""},
            ]
        else:
            messages = _dicts(body.get("messages"))
        return Asked(
            str(body.get("model")), messages, _number(options.get("num_predict"), 0), bool(body.get("stream", True)),
            _number(options.get("num_ctx"), _DEFAULT_WINDOW), body.get("truncate") is not False,
        )  # fmt: skip

    def word(self, text: str) -> None:
        self.http.send_line({"model": self.model, "created_at": _now(), **self._wrap(text), "done": False})

    def end(self, figures: Figures) -> None:
        self.http.send_line(self._last("", figures))

    def whole(self, text: str, figures: Figures) -> None:
        self.http.send_json(200, self._last(text, figures))

    def refuse(self, status: int, why: str, headers: dict[str, str] | None = None, *, reason: str = "") -> None:
        self.http.send_json(status, {"error": why}, headers)

    def crash(self) -> None:
        self.http.send_line({"error": CRASH})

    def keep_alive(self) -> None:
        """JSON lines know no comments."""

    def _last(self, text: str, figures: Figures) -> dict[str, Any]:
        return {
            "model": self.model,
            "created_at": _now(),
            **self._wrap(text),
            "done": True,
            "done_reason": "length" if figures.cut else "stop",
            "total_duration": _ns(figures.total_s),
            "load_duration": 0,
            "prompt_eval_count": figures.prompt,
            "prompt_eval_duration": _ns(figures.reading_s),
            "eval_count": figures.written,
            "eval_duration": _ns(figures.writing_s),
        }


class OpenAIDialect(Dialect):
    """/v1/chat/completions: events, each a chunk of a completion, then `[DONE]`."""

    kind = "text/event-stream; charset=utf-8"
    half = b'data: {"id": "chatcmpl-rec", "object": "chat.completion.chunk", "choi'

    def asked(self, body: dict[str, Any]) -> Asked:
        options = body.get("stream_options")
        self._counts = isinstance(options, dict) and bool(options.get("include_usage"))
        limit = _number(body.get("max_completion_tokens"), 0) or _number(body.get("max_tokens"), 0)
        return Asked(str(body.get("model")), _dicts(body.get("messages")), limit, body.get("stream") is True)

    def begin(self) -> None:
        super().begin()
        self._event(self._chunk({"role": "assistant", "content": ""}))

    def word(self, text: str) -> None:
        self._event(self._chunk({"content": text}))

    def end(self, figures: Figures) -> None:
        self._event(self._chunk({}, "length" if figures.cut else "stop"))
        self.http.fault_in_tail()
        if self._counts:
            self._event(self._head("chat.completion.chunk") | {"choices": [], "usage": _openai_usage(figures)})
        self.http.send_raw(b"data: [DONE]\n\n")

    def whole(self, text: str, figures: Figures) -> None:
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": text, "refusal": None},
            "logprobs": None,
            "finish_reason": "length" if figures.cut else "stop",
        }
        self.http.send_json(
            200, {**self._head("chat.completion"), "choices": [choice], "usage": _openai_usage(figures)}
        )

    def refuse(self, status: int, why: str, headers: dict[str, str] | None = None, *, reason: str = "") -> None:
        kinds = {401: "authentication_error", 404: "invalid_request_error", 429: "rate_limit_error"}
        kind = kinds.get(status, "server_error" if status >= 500 else "invalid_request_error")
        param = why.split("'")[1] if reason == "unsupported_parameter" else None
        error = {"message": why, "type": kind, "param": param, "code": reason or None}
        self.http.send_json(status, {"error": error}, headers)

    def crash(self) -> None:
        self._event({"error": {"message": CRASH, "type": "server_error", "code": 500}})

    def too_long(self, tokens: int, window: int) -> None:
        words = f"This model's maximum context length is {window} tokens. However, your messages resulted in {tokens} tokens."
        self.refuse(400, words, reason="context_length_exceeded")

    def keep_alive(self) -> None:
        self.http.send_raw(b": processing\n\n")

    def _event(self, data: dict[str, Any]) -> None:
        self.http.send_raw(b"data: " + as_json(data) + b"\n\n")

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": "chatcmpl-recording", "object": kind, "created": 0, "model": self.model, "system_fingerprint": None,
        }  # fmt: skip

    def _chunk(self, delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        counts = {"usage": None} if self._counts else {}  # asked for, they are in every chunk, and empty until the last
        return {**self._head("chat.completion.chunk"), "choices": [choice], **counts}


class GeminiDialect(Dialect):
    """models/NAME:streamGenerateContent?alt=sse: events, each a response; the last names the reason it ended."""

    kind = "text/event-stream"
    half = b'data: {"candidates": [{"content": {"par'

    def asked(self, body: dict[str, Any]) -> Asked:
        system = body.get("systemInstruction")
        messages: list[dict[str, Any]] = []
        if isinstance(system, dict):
            messages.append({"role": "system", "content": _text(system)})
        roles = {"user": "user", "model": "assistant"}
        messages += [
            {"role": roles.get(str(turn.get("role", "user")), "user"), "content": _text(turn)}
            for turn in _dicts(body.get("contents"))
        ]
        given = body.get("generationConfig")
        limit = _number(given.get("maxOutputTokens"), 0) if isinstance(given, dict) else 0
        return Asked(self.http.asked_model, messages, limit, ":stream" in self.http.path)

    def word(self, text: str) -> None:
        self._event(self._response(text))

    def end(self, figures: Figures) -> None:
        self._event(self._response("", figures))
        self.http.fault_in_tail()

    def whole(self, text: str, figures: Figures) -> None:
        self.http.send_json(200, self._response(text, figures))

    def refuse(self, status: int, why: str, headers: dict[str, str] | None = None, *, reason: str = "") -> None:
        names = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND"}
        names |= {429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}
        error: dict[str, Any] = {"code": status, "message": why, "status": names.get(status, "INTERNAL")}
        if reason == "no_api_key":
            error |= {"code": 403, "status": "PERMISSION_DENIED"}
            status = 403
        if reason == "invalid_api_key":
            error |= {"code": 400, "status": "INVALID_ARGUMENT"}
            error["details"] = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]
            status = 400
        if headers and "Retry-After" in headers:  # this server says it in the body
            wait = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{headers['Retry-After']}s"}
            error["details"], headers = [wait], None
        self.http.send_json(status, {"error": error}, headers)

    def crash(self) -> None:
        self._event({"error": {"code": 500, "message": CRASH, "status": "INTERNAL"}})

    def too_long(self, tokens: int, window: int) -> None:
        words = f"The input token count ({tokens}) exceeds the maximum number of tokens allowed ({window})."
        self.refuse(400, words)

    def keep_alive(self) -> None:
        self.http.send_raw(b": keep-alive\r\n\r\n")

    def _event(self, data: dict[str, Any]) -> None:
        self.http.send_raw(b"data: " + as_json(data) + b"\r\n\r\n")

    def _response(self, text: str, figures: Figures | None = None) -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": {"parts": [{"text": text}], "role": "model"}, "index": 0}
        counts: dict[str, Any] = {}  # full in the last event only; what is nought is left out
        if figures is not None:
            candidate["finishReason"] = "MAX_TOKENS" if figures.cut else "STOP"
            counts["promptTokenCount"] = figures.prompt
            if figures.written:
                counts["candidatesTokenCount"] = figures.written
            counts["totalTokenCount"] = figures.prompt + figures.written
            if figures.reused:
                counts["cachedContentTokenCount"] = figures.reused
            counts["promptTokensDetails"] = [{"modality": "TEXT", "tokenCount": figures.prompt}]
        return {
            "candidates": [candidate], "usageMetadata": counts, "modelVersion": self.model, "responseId": "recording",
        }  # fmt: skip


def _openai_usage(figures: Figures) -> dict[str, Any]:
    return {
        "prompt_tokens": figures.prompt,
        "completion_tokens": figures.written,
        "total_tokens": figures.prompt + figures.written,
        "prompt_tokens_details": {"cached_tokens": figures.reused},
    }


def as_json(data: dict[str, Any]) -> bytes:
    """As real servers write it: characters, not escapes; half of a character pair cannot be written so."""
    try:
        return json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(data).encode()


def _text(turn: dict[str, Any]) -> str:
    return "\n".join(str(part.get("text") or "") for part in _dicts(turn.get("parts")))


def _dicts(given: Any) -> list[dict[str, Any]]:
    return [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []


def _number(value: Any, default: int) -> int:
    return value if isinstance(value, int) and value > 0 else default


def _ns(seconds: float) -> int:
    return max(1, int(seconds * 1e9))


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")
