"""Playing a reply: choose it, wait as a model would, stream it, and go wrong when told to."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from agents.llm.scripted_server.dialects import (
    GARBAGE,
    Asked,
    Dialect,
    Figures,
    GeminiDialect,
    OllamaDialect,
    OpenAIDialect,
)
from agents.llm.scripted_server.faults import Fault
from agents.llm.scripted_server.pace import pieces, prompt_tokens, render
from agents.llm.scripted_server.scenario import ReplyMissing, ScenarioError

if TYPE_CHECKING:
    from agents.llm.scripted_server.handler import Handler

_FOREVER = 86_400.0


def chat(http: Handler, body: dict[str, Any]) -> None:
    """POST /api/chat."""
    model = http.desk.scenario.model
    _answer(http, body, OllamaDialect(http, model, lambda text: {"message": {"role": "assistant", "content": text}}))


def generate(http: Handler, body: dict[str, Any]) -> None:
    """POST /api/generate: the same replies, with the prompt as the only user message."""
    body = {"prompt": "", **{key: value for key, value in body.items() if key != "messages"}}
    _answer(http, body, OllamaDialect(http, http.desk.scenario.model, lambda text: {"response": text}))


def openai_chat(http: Handler, body: dict[str, Any]) -> None:
    """POST /v1/chat/completions."""
    _answer(http, body, OpenAIDialect(http, http.desk.scenario.model))


def gemini_chat(http: Handler, body: dict[str, Any]) -> None:
    """POST /v1beta/models/NAME:streamGenerateContent."""
    _answer(http, body, GeminiDialect(http, http.desk.scenario.model))


def pull(http: Handler, body: dict[str, Any]) -> None:
    """POST /api/pull: a progress stream for the recorded model, an error line for any other."""
    model = body.get("model") or body.get("name")
    http.begin_stream()
    http.send_line({"status": "pulling manifest"})
    if model != http.desk.scenario.model:
        http.send_line({"error": "pull model manifest: file does not exist"})
    else:
        for done in (0, 50, 100):
            http.send_line({"status": "pulling recording", "digest": "recording", "total": 100, "completed": done})
        http.send_line({"status": "success"})
    http.end_stream()


def break_before(http: Handler, fault: Fault, dialect: Dialect) -> bool:
    """The faults that come before any text: silence, or an HTTP error. True when the call is over."""
    http.seen.outcome = "fault"
    http.fault = fault
    if fault.kind == "hang":
        http.wait(_FOREVER)
    if fault.kind != "status":
        return False
    headers = {} if fault.retry_after is None else {"Retry-After": f"{fault.retry_after:g}"}
    dialect.refuse(fault.status, fault.words or "server busy, please try again", headers, reason=fault.reason)
    http.seen.outcome = "fault"
    return True


def _answer(http: Handler, body: dict[str, Any], dialect: Dialect) -> None:
    desk, seen = http.desk, http.seen
    fault = desk.faults.take(http.route)
    if fault is not None and break_before(http, fault, dialect):
        return
    asked = dialect.asked(body)
    if asked.model != desk.scenario.model:
        dialect.refuse(404, f"model '{asked.model}' not found", reason="model_not_found")
        return
    try:
        seen.file, text = desk.scenario.reply(asked.messages)
    except ScenarioError as error:
        if isinstance(error, ReplyMissing):
            seen.file = error.file
        dialect.refuse(500, str(error))
        return
    window = desk.window if asked.window is None else min(asked.window, desk.window)
    prompt = render(asked.messages)
    tokens, _ = prompt_tokens(prompt, 0)
    if tokens >= window:
        if not asked.shorten:
            dialect.too_long(tokens, window)
            return
        prompt = _shortened(asked.messages, window)
    started = time.monotonic()
    while not desk.take_slot():
        http.wait(0.001)
    try:
        _play(http, asked, dialect, prompt, text, fault, window, started)
    finally:
        desk.free_slot()


def _play(
    http: Handler,
    asked: Asked,
    dialect: Dialect,
    prompt: str,
    text: str,
    fault: Fault | None,
    window: int,
    started: float,
) -> None:
    desk, seen = http.desk, http.seen
    desk.loaded_window = window
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
        dialect.begin()
    for word in words:
        http.wait(pace.delay())
        if fault is not None and asked.streaming and _break_at(http, fault, seen.reply_tokens, dialect):
            return
        if asked.streaming:
            dialect.word(word)
        seen.reply_tokens += 1
        desk.count(reply_tokens=1)
    desk.cache.extend(prompt, f"{prompt}<|assistant|>\n{''.join(words)}\n")
    end = time.monotonic()
    figures = Figures(
        seen.prompt_tokens, seen.reused_tokens, len(words), cut, writing - reading, end - writing, end - started
    )
    if not asked.streaming:
        dialect.whole("".join(words), figures)
        return
    if fault is None or fault.kind != "no_end":
        dialect.end(figures)
    http.end_stream()


def _break_at(http: Handler, fault: Fault, sent: int, dialect: Dialect) -> bool:
    """Do what the fault asks for at this point of the reply; true when the reply is over."""
    if fault.kind == "drip":
        http.wait(fault.seconds)
        return False
    if fault.kind == "keep_alive":
        dialect.keep_alive()
        return False
    if sent < fault.after:
        return False
    if fault.kind == "stall":
        http.wait(_FOREVER)
    elif fault.kind == "close":
        http.hang_up()
    elif fault.kind == "cut":
        http.end_stream()
    elif fault.kind == "garbage":
        http.send_raw(GARBAGE)
        http.end_stream()
    elif fault.kind == "half_json":
        http.send_raw(dialect.half)
        http.end_stream()
    elif fault.kind == "error_line":
        dialect.crash()
        http.end_stream()
    elif fault.kind == "flood":
        for _ in range(0, fault.size, 10_000):
            dialect.word("0123456789" * 1000)
        http.end_stream()
    else:
        return False
    http.seen.outcome = "fault"
    return True


def _shortened(messages: list[dict[str, Any]], window: int) -> str:
    """What a real server makes of a conversation that is too long: the oldest turns vanish without a word."""
    system = [m for m in messages if m.get("role") == "system"]
    rest = [m for m in messages if m.get("role") != "system"]
    while len(rest) > 1 and prompt_tokens(render([*system, *rest]), 0)[0] >= window:
        rest.pop(0)
    return render([*system, *rest])
