"""Playing a reply: choose it, wait as a model would, stream it, and go wrong when told to."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from agents.llm.scripted_server.faults import Fault
from agents.llm.scripted_server.pace import pieces, prompt_tokens, render
from agents.llm.scripted_server.scenario import ReplyMissing, ScenarioError

if TYPE_CHECKING:
    from agents.llm.scripted_server.handler import Handler

_FOREVER = 86_400.0
_DEFAULT_WINDOW = 4096  # what a real server takes when the client asks for nothing


def chat(http: Handler, body: dict[str, Any]) -> None:
    """POST /api/chat."""
    given = body.get("messages")
    messages = [m for m in given if isinstance(m, dict)] if isinstance(given, list) else []
    _answer(http, body, messages, lambda text: {"message": {"role": "assistant", "content": text}})


def generate(http: Handler, body: dict[str, Any]) -> None:
    """POST /api/generate: the same replies, with the prompt as the only user message."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": body.get("system") or ""},
        {"role": "user", "content": body.get("prompt") or ""},
    ]
    _answer(http, body, messages, lambda text: {"response": text})


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


def break_before(http: Handler, fault: Fault) -> None:
    """The faults that come before any text: silence, or an HTTP error."""
    http.seen.outcome = "fault"
    if fault.kind == "hang":
        http.wait(_FOREVER)
    if fault.kind == "status":
        headers = {} if fault.retry_after is None else {"Retry-After": f"{fault.retry_after:g}"}
        http.send_json(fault.status, {"error": "server busy, please try again"}, headers)
        http.seen.outcome = "fault"


def _answer(http: Handler, body: dict[str, Any], messages: list[dict[str, Any]], wrap: Any) -> None:
    desk, seen = http.desk, http.seen
    fault = desk.faults.take(http.path)
    if fault is not None:
        break_before(http, fault)
        if fault.kind == "status":
            return
    if body.get("model") != desk.scenario.model:
        http.send_json(404, {"error": f"model '{body.get('model')}' not found"})
        return
    try:
        seen.file, text = desk.scenario.reply(messages)
    except ScenarioError as error:
        if isinstance(error, ReplyMissing):
            seen.file = error.file
        http.send_json(500, {"error": str(error)})
        return
    window = min(_number(_options(body).get("num_ctx"), _DEFAULT_WINDOW), desk.window)
    prompt = render(messages)
    tokens, _ = prompt_tokens(prompt, 0)
    if tokens >= window:
        if body.get("truncate") is False:
            http.send_json(400, {"error": "the input length exceeds the context length"})
            return
        prompt = _shortened(messages, window)
    started = time.monotonic()
    while not desk.take_slot():
        http.wait(0.001)
    try:
        _play(http, body, wrap, prompt, text, fault, window, started)
    finally:
        desk.free_slot()


def _play(
    http: Handler,
    body: dict[str, Any],
    wrap: Any,
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
    limit = _number(_options(body).get("num_predict"), 0)
    words = pieces(text)
    cut = 0 < limit < len(words)
    words = words[:limit] if cut else words
    streaming = body.get("stream", True)
    if streaming:
        http.begin_stream()
    head = {"model": desk.scenario.model}
    for word in words:
        http.wait(pace.delay())
        if fault is not None and streaming and _break_at(http, fault, seen.reply_tokens, wrap, head):
            return
        if streaming:
            http.send_line({**head, "created_at": _now(), **wrap(word), "done": False})
        seen.reply_tokens += 1
        desk.count(reply_tokens=1)
    desk.cache.extend(prompt, f"{prompt}<|assistant|>\n{''.join(words)}\n")
    end = time.monotonic()
    last = {
        **head,
        "created_at": _now(),
        **wrap("" if streaming else "".join(words)),
        "done": True,
        "done_reason": "length" if cut else "stop",
        "total_duration": _ns(end - started),
        "load_duration": 0,
        "prompt_eval_count": seen.prompt_tokens,
        "prompt_eval_duration": _ns(writing - reading),
        "eval_count": len(words),
        "eval_duration": _ns(end - writing),
    }
    if streaming:
        http.send_line(last)
        http.end_stream()
    else:
        http.send_json(200, last)


def _break_at(http: Handler, fault: Fault, sent: int, wrap: Any, head: dict[str, Any]) -> bool:
    """Do what the fault asks for at this point of the reply; true when the reply is over."""
    if fault.kind == "drip":
        http.wait(fault.seconds)
        return False
    if sent < fault.after:
        return False
    if fault.kind == "stall":
        http.wait(_FOREVER)
    elif fault.kind == "close":
        http.hang_up()
    elif fault.kind == "garbage":
        http.send_raw(b"\x00\xff<html>502 Bad Gateway</html>}{\n")
        http.end_stream()
    elif fault.kind == "half_json":
        http.send_raw(b'{"model": "x", "message": {"role": "assis')
        http.end_stream()
    elif fault.kind == "error_line":
        http.send_line({"error": "llama runner process has terminated: exit status 2"})
        http.end_stream()
    elif fault.kind == "flood":
        for _ in range(0, fault.size, 10_000):
            http.send_line({**head, **wrap("0123456789" * 1000), "done": False})
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


def _options(body: dict[str, Any]) -> Mapping[str, Any]:
    given = body.get("options")
    return given if isinstance(given, dict) else {}


def _number(value: Any, default: int) -> int:
    return value if isinstance(value, int) and value > 0 else default


def _ns(seconds: float) -> int:
    return max(1, int(seconds * 1e9))


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")
