"""Any server that speaks OpenAI's chat completions: llama.cpp, vLLM, LM Studio, OpenAI itself and many more.

They differ in which parameters they take. What one of them refuses by name is left out from then on, so nobody has to
configure it. None of them can be told how large a window to load, so that is what the person who starts the server
sets.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from typing import Any

import httpx

from agents.llm.answers import TOO_LONG, clean, count, error_text
from agents.llm.base import (
    Completion,
    ContextTooLong,
    Health,
    LLMError,
    Message,
    ModelRefused,
    ModelUnavailable,
    TokenUsage,
)
from agents.llm.bodies import PartialReply, complete_body, events
from agents.llm.tokens import count_messages
from agents.llm.web import ChatCall, WebProvider, content_type, with_path

_DROPPED_AT = 4  # a server that counts less than a quarter of our estimate has not read the whole conversation
_JUDGED_FROM = 4_000  # tokens; below that nothing is dropped anywhere
# The first is OpenAI's own, the second that of vLLM, SGLang and llama.cpp.
_NO_THINKING = {"reasoning_effort": "none", "chat_template_kwargs": {"enable_thinking": False}}
_PARAMETERS = ("stream_options", "seed", "temperature", "max_completion_tokens", "max_tokens", *_NO_THINKING)


class OpenAIProvider(WebProvider):
    """One model on one compatible server; `server` is the address up to `/v1` (added when there is no path)."""

    name = "openai"

    def __init__(self, server: str, model: str = "", **options: Any) -> None:
        super().__init__(with_path(server, "/v1"), model, **options)
        # OpenAI's newer models take only the new name, most other servers only the old one.
        self._limit_name = "max_completion_tokens" if self.host.endswith("openai.com") else "max_tokens"
        self._left_out: set[str] = set()
        self._format = "json_schema"

    def _request(self, call: ChatCall) -> tuple[str, dict[str, Any]]:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": call.turns,
            "stream": True,
            "stream_options": {"include_usage": True},
            **call.settings(self._limit_name),
            **({} if call.thinks else _NO_THINKING),
        }
        if call.schema is not None and self._format == "json_schema":
            body["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "schema": call.schema}}
        elif call.schema is not None and self._format == "json_object":
            body["response_format"] = {"type": "json_object"}
        sent = {key: value for key, value in body.items() if key not in self._left_out}
        return f"{self.server}/chat/completions", sent

    def _adapted(self, status: int, raw: bytes, body: dict[str, Any]) -> bool:
        """Do without the parameter that the server refuses by name; false when that is not what it says."""
        if status not in (400, 422, 501):
            return False
        text = raw.decode("utf-8", "replace")
        if TOO_LONG.search(text):
            return False
        if "response_format" in body and re.search(r"response_format|json_schema|json_object|grammar|schema", text):
            self._format = "json_object" if self._format == "json_schema" else "none"
            return True
        for name in _PARAMETERS:
            if name not in body or not re.search(rf"\b{name}\b", text):
                continue
            self._left_out.add(name)
            if name == self._limit_name:
                other = "max_tokens" if name == "max_completion_tokens" else "max_completion_tokens"
                self._limit_name = name if other in self._left_out else other
            return True
        return False

    async def _texts(self, response: httpx.Response, reply: PartialReply) -> AsyncGenerator[str, None]:
        kind = content_type(response)
        if kind == "application/json":  # it does not stream
            whole = json.loads(await complete_body(response, 4 * self._max_reply_bytes))
            if text := self._take(whole, reply, "message"):
                yield text
            reply.done = True
            return
        if kind not in ("text/event-stream", "", "text/plain", "application/octet-stream"):
            raise ModelUnavailable("The model server sent something that is not its protocol.")
        async with aclosing(events(response, reply)) as arrived:
            async for event in arrived:
                if reply.done or event.data.strip() == "[DONE]":
                    reply.done = True
                    continue
                data = json.loads(event.data)
                if event.kind == "error" or (isinstance(data, dict) and data.get("error")):
                    raise self._in_midstream(data)
                text = self._take(data, reply, "delta")
                if text or not reply.parts:
                    yield text

    async def _completion(self, reply: PartialReply, call: ChatCall) -> Completion:
        if reply.reason == "content_filter":
            raise ModelRefused(200, f"{self.host} withheld the reply (content_filter).")
        if reply.reason == "max_tokens":
            reply.reason = "length"
        made = await super()._completion(reply, call)
        # Refuse a reply to a conversation that the server has cut in silence: the model did not see its beginning.
        usage, estimate = made.usage, count_messages(call.messages)
        if not usage.estimated and estimate > _JUDGED_FROM and usage.prompt_tokens * _DROPPED_AT < estimate:
            raise ContextTooLong(estimate, max(usage.prompt_tokens, 1))
        # And one to a conversation that the server did not cut: beyond its window a model writes nonsense.
        if not usage.estimated and usage.prompt_tokens > self.window:
            raise ContextTooLong(usage.prompt_tokens, self.window)
        return made

    def _take(self, data: dict[str, Any], reply: PartialReply, part: str) -> str:
        """Note what a chunk says; gives its text."""
        reply.model = str(data.get("model") or reply.model)
        reply.usage = {**reply.usage, **(data.get("usage") or {})}
        reply.usage = {**reply.usage, "timings": data["timings"]} if data.get("timings") else reply.usage
        choices = data.get("choices") or []
        if not choices:
            return ""
        content = choices[0].get(part) or {}
        reply.reason = str(choices[0].get("finish_reason") or reply.reason)
        text = content.get("content") or content.get("refusal") or ""
        if not isinstance(text, str):
            raise ValueError("content")
        thought = content.get("reasoning_content") or content.get("reasoning") or ""
        reply.add(text, str(thought))
        return text

    def _in_midstream(self, data: Any) -> LLMError:
        error = data.get("error") if isinstance(data, dict) else None
        details = error if isinstance(error, dict) else {}
        text = self._safe(error_text(data) or "it gave no reason")
        code = details.get("code") or details.get("status")
        if code in (400, "context_length_exceeded"):
            return self._answered(400, text, data, None, ())
        return ModelUnavailable(f"The model server stopped with an error: {text}")

    def _special_error(
        self, status: int, text: str, body: Any, wait: float | None, messages: Sequence[Message]
    ) -> LLMError | None:
        error = body.get("error") if isinstance(body, dict) else None
        code = (error.get("code") or error.get("type")) if isinstance(error, dict) else None
        if status == 429 and code in ("insufficient_quota", "billing_hard_limit_reached"):
            return ModelRefused(429, f"{self.host} has no quota left for this key: {text}")
        return None

    def _usage(self, reply: PartialReply, call: ChatCall, **_: Any) -> TokenUsage:
        counts, timings = reply.usage, reply.usage.get("timings") or {}
        details = counts.get("prompt_tokens_details") or {}
        reused = details.get("cached_tokens", counts.get("prompt_cache_hit_tokens", timings.get("cache_n")))
        return super()._usage(
            reply,
            call,
            prompt=count(counts.get("prompt_tokens")),
            written=count(counts.get("completion_tokens")),
            reading_s=_seconds(timings.get("prompt_ms")),
            writing_s=_seconds(timings.get("predicted_ms")),
            reused=count(reused),
        )

    async def _embed(self, texts: list[str]) -> list[list[float]]:
        answer = await self._call("POST", f"{self.server}/embeddings", {"model": self.embed_model, "input": texts})
        rows = sorted(answer["data"], key=lambda row: int(row.get("index", 0)))
        return [list(map(float, row["embedding"])) for row in rows]

    def _look(self, client: httpx.Client) -> Health:
        rows = self._get(client, f"{self.server}/models")["data"]
        entries = {clean(row["id"], 120): row for row in rows[:2_000]}
        models = tuple(entries)
        if not models:  # `transformers serve` lists what lies in its cache, and not the model that it was started with
            return Health(True, recorded=self.recorded)
        if self.model not in entries:
            hint = f"It has {', '.join(models[:8])}."
            problem = f"The model {self.model} is not on the server at {self.host}."
            return Health(False, "", problem, hint, models, None, self.recorded)
        window = _window_of(entries[self.model])
        if window is None and len(models) == 1:
            with suppress(LLMError, httpx.HTTPError, ValueError, AttributeError, TypeError, KeyError):
                # llama.cpp tells what it really loaded here, outside of the common protocol.
                found = self._get(client, f"{self.server.removesuffix('/v1')}/props")
                window = count(found["default_generation_settings"]["n_ctx"])
        if window:
            self._window = min(self._window, window)
        return Health(True, "", models=models, context_length=window, recorded=self.recorded)


def _window_of(entry: dict[str, Any]) -> int | None:
    """What a model's entry says of its window: vLLM, LM Studio and gateways each have a name for it."""
    for name in ("max_model_len", "loaded_context_length", "context_length", "context_window", "max_context_length"):
        if (found := count(entry.get(name))) is not None:
            return found
    return None


def _seconds(milliseconds: Any) -> float | None:
    return milliseconds / 1000 if isinstance(milliseconds, int | float) and milliseconds > 0 else None
