"""Players that go wrong to order, in three protocols."""

from __future__ import annotations

import re
import socket
from typing import TYPE_CHECKING, Any

from agents.llm.scripted_server.player import ChatRequest, Figures, Player, as_json, dicts_in, positive
from tests.agents.llm.fake_servers.faults import Fault

if TYPE_CHECKING:
    from tests.agents.llm.fake_servers.server import FakeHandler

_FOREVER = 86_400.0
GARBAGE = b"\x00\xff<html>502 Bad Gateway</html>}{\n"
CRASH = "llama runner process has terminated: exit status 2"


class FaultyPlayer(Player):
    """Does what the fault of its call asks for."""

    half = b'{"model": "x", "message": {"role": "assis'
    http: FakeHandler

    def reply_name(self, asked: ChatRequest) -> str:
        """Clients of a model name no reply; the made-up conversations of the tests do."""
        return super().reply_name(asked) or name_in(asked.messages)

    def crash(self) -> None:
        """Send an error in the middle of a reply."""
        raise NotImplementedError

    def keep_alive(self) -> None:
        """Send what keeps a quiet connection open, where the protocol has such a thing."""

    def end_text(self, figures: Figures) -> None:
        """Say that the reply is over, and what it cost."""
        raise NotImplementedError

    def send_end(self, figures: Figures) -> None:
        if self.http.fault is None or self.http.fault.kind != "no_end":
            self.end_text(figures)

    def silent_end(self) -> None:
        """Go silent between the reason of the end and the end, when the fault wants it so."""
        if self.http.fault is not None and self.http.fault.kind == "silent_end":
            self.http.wait(_FOREVER)

    def before_reply(self) -> bool:
        self.http.fault = self.http.faults.take(self.http.route)
        return self.http.fault is not None and self.break_before(self.http.fault)

    def break_before(self, fault: Fault) -> bool:
        """The faults that come before any text: silence, or an HTTP error. True when the call is over."""
        self.http.seen.outcome = "fault"
        if fault.kind == "hang":
            self.http.wait(_FOREVER)
        if fault.kind != "status":
            return False
        headers = {} if fault.retry_after is None else {"Retry-After": f"{fault.retry_after:g}"}
        self.refuse(fault.status, fault.words or "server busy, please try again", headers, reason=fault.reason)
        self.http.seen.outcome = "fault"
        return True

    def before_piece(self, sent: int) -> bool:
        http, fault = self.http, self.http.fault
        if fault is None:
            return False
        if fault.kind == "drip":
            http.wait(fault.seconds)
        if fault.kind == "keep_alive":
            self.keep_alive()
        if sent < fault.after:
            return False
        if fault.kind == "stall":
            http.wait(_FOREVER)
        elif fault.kind == "close":
            http.close_connection = True
            http.wfile.flush()
            http.connection.shutdown(socket.SHUT_RDWR)
        elif fault.kind in ("cut", "garbage", "half_json", "error_line", "flood"):
            if fault.kind == "garbage":
                http.send_chunk(GARBAGE)
            elif fault.kind == "half_json":
                http.send_chunk(self.half)
            elif fault.kind == "error_line":
                self.crash()
            elif fault.kind == "flood":
                for _ in range(0, fault.size, 10_000):
                    self.send_piece("0123456789" * 1000)
            http.end_stream()
        else:
            return False
        http.seen.outcome = "fault"
        return True


class FaultyOllamaPlayer(FaultyPlayer):
    """/api/chat."""

    def end_text(self, figures: Figures) -> None:
        Player.send_end(self, figures)

    def crash(self) -> None:
        self.send_line({"error": CRASH})


class OpenAIPlayer(FaultyPlayer):
    """/v1/chat/completions: events, each a chunk of a completion, then `[DONE]`."""

    kind = "text/event-stream; charset=utf-8"
    half = b'data: {"id": "chatcmpl-rec", "object": "chat.completion.chunk", "choi'

    def read(self, body: dict[str, Any]) -> ChatRequest:
        options = body.get("stream_options")
        self._counts = isinstance(options, dict) and bool(options.get("include_usage"))
        limit = positive(body.get("max_completion_tokens"), 0) or positive(body.get("max_tokens"), 0)
        return ChatRequest(str(body.get("model")), dicts_in(body.get("messages")), limit, body.get("stream") is True)

    def begin(self) -> None:
        super().begin()
        self._event(self._chunk({"role": "assistant", "content": ""}))

    def send_piece(self, text: str) -> None:
        self._event(self._chunk({"content": text}))

    def end_text(self, figures: Figures) -> None:
        self._event(self._chunk({}, "length" if figures.cut else "stop"))
        self.silent_end()
        if self._counts:
            self._event(self._head("chat.completion.chunk") | {"choices": [], "usage": _openai_usage(figures)})
        self.http.send_chunk(b"data: [DONE]\n\n")

    def send_complete(self, text: str, figures: Figures) -> None:
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

    def refuse_too_long(self, tokens: int, window: int) -> None:
        words = (
            f"This model's maximum context length is {window} tokens. However, your messages resulted in "
            f"{tokens} tokens."
        )
        self.refuse(400, words, reason="context_length_exceeded")

    def keep_alive(self) -> None:
        self.http.send_chunk(b": processing\n\n")

    def _event(self, data: dict[str, Any]) -> None:
        self.http.send_chunk(b"data: " + as_json(data) + b"\n\n")

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": "chatcmpl-recording",
            "object": kind,
            "created": 0,
            "model": self.model,
            "system_fingerprint": None,
        }

    def _chunk(self, delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        counts = {"usage": None} if self._counts else {}  # asked for, they are in every chunk, and empty until the last
        return {**self._head("chat.completion.chunk"), "choices": [choice], **counts}


class GeminiPlayer(FaultyPlayer):
    """models/NAME:streamGenerateContent?alt=sse: events, each a response; the last names the reason it ended."""

    kind = "text/event-stream"
    half = b'data: {"candidates": [{"content": {"par'

    def read(self, body: dict[str, Any]) -> ChatRequest:
        system = body.get("systemInstruction")
        messages: list[dict[str, Any]] = []
        if isinstance(system, dict):
            messages.append({"role": "system", "content": _text(system)})
        roles = {"user": "user", "model": "assistant"}
        messages += [
            {"role": roles.get(str(turn.get("role", "user")), "user"), "content": _text(turn)}
            for turn in dicts_in(body.get("contents"))
        ]
        given = body.get("generationConfig")
        limit = positive(given.get("maxOutputTokens"), 0) if isinstance(given, dict) else 0
        return ChatRequest(self.http.asked_model, messages, limit, ":stream" in self.http.path)

    def send_piece(self, text: str) -> None:
        self._event(self._response(text))

    def end_text(self, figures: Figures) -> None:
        self._event(self._response("", figures))
        self.silent_end()

    def send_complete(self, text: str, figures: Figures) -> None:
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

    def refuse_too_long(self, tokens: int, window: int) -> None:
        words = f"The input token count ({tokens}) exceeds the maximum number of tokens allowed ({window})."
        self.refuse(400, words)

    def keep_alive(self) -> None:
        self.http.send_chunk(b": keep-alive\r\n\r\n")

    def _event(self, data: dict[str, Any]) -> None:
        self.http.send_chunk(b"data: " + as_json(data) + b"\r\n\r\n")

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
            "candidates": [candidate],
            "usageMetadata": counts,
            "modelVersion": self.model,
            "responseId": "recording",
        }


def name_in(messages: list[dict[str, Any]]) -> str:
    """The reply that a conversation of the tests asks for, by its lines `Persona:`, `Task:` and `Step:`."""
    said = [str(message.get("content")) for message in messages]
    found = {key: re.findall(rf"^{key}: (\S+)", "\n".join(said), re.M) for key in ("Persona", "Task", "Step")}
    if not found["Persona"] or not found["Step"]:
        return ""
    times = found["Step"].count(found["Step"][-1])
    name = f"{(found['Task'] or ['plan'])[0]}/{found['Persona'][0]}-{found['Step'][-1]}"
    return f"{name}-{times}" if times > 1 else name


def _openai_usage(figures: Figures) -> dict[str, Any]:
    return {
        "prompt_tokens": figures.prompt,
        "completion_tokens": figures.written,
        "total_tokens": figures.prompt + figures.written,
        "prompt_tokens_details": {"cached_tokens": figures.reused},
    }


def _text(turn: dict[str, Any]) -> str:
    return "\n".join(str(part.get("text") or "") for part in dicts_in(turn.get("parts")))
