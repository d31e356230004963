"""Google's Gemini, over its own protocol (generateContent, streamed as events)."""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from agents.llm.base import (
    Completion,
    Delta,
    Health,
    LLMError,
    Message,
    ModelMissing,
    ModelRefused,
    ModelUnavailable,
    ReplyTooLong,
    Usage,
)
from agents.llm.gemini_schema import gemini_schema
from agents.llm.tokens import count_messages, count_tokens
from agents.llm.transport import BUSY, clean
from agents.llm.web import WebProvider

DEFAULT_SERVER = "https://generativelanguage.googleapis.com/v1beta"
KEY_VARIABLE = "AISWE_GEMINI_API_KEY"
_WITHHELD = {
    "SAFETY": "its safety rules",
    "RECITATION": "its rule against reciting what it was trained on",
    "PROHIBITED_CONTENT": "its rules on content",
    "BLOCKLIST": "its list of words",
    "SPII": "its rule on personal data",
    "LANGUAGE": "its languages",
    "OTHER": "a reason it does not name",
}
_SECONDS = re.compile(r"(\d{1,6}(?:\.\d+)?)s")


@dataclass
class _Heard:
    """What a reply brought so far."""

    parts: list[str] = field(default_factory=list)
    size: int = 0
    reason: str = ""
    usage: dict[str, Any] = field(default_factory=dict)
    model: str = ""
    first: float = 0.0


class GeminiProvider(WebProvider):
    """One Gemini model; `server` is the address up to the version of the protocol (added when there is no path)."""

    name = "gemini"

    def __init__(
        self, server: str = DEFAULT_SERVER, model: str = "", *, key_variable: str = KEY_VARIABLE, **options: Any
    ) -> None:
        address = server.rstrip("/")
        if "//" in address and not urlsplit(address).path.strip("/"):
            address += "/v1beta"
        super().__init__(address, model.removeprefix("models/"), key_variable=key_variable, **options)
        self._takes_schema = True

    def _key_headers(self, key: str) -> dict[str, str]:
        # In a header, not in the address: addresses end up in logs.
        return {"x-goog-api-key": key}

    def _address(self, model: str, verb: str = "") -> str:
        return f"{self.server}/models/{quote(model, safe='-._')}{verb}"

    def _body(
        self,
        messages: Sequence[Message],
        schema: dict[str, Any] | None,
        temperature: float,
        seed: int | None,
        max_tokens: int | None,
    ) -> dict[str, Any]:
        settings: dict[str, Any] = {"temperature": temperature}
        if seed is not None:
            settings["seed"] = seed
        if max_tokens is not None:
            settings["maxOutputTokens"] = max_tokens
        if schema is not None:
            settings["responseMimeType"] = "application/json"
            if self._takes_schema:
                settings["responseSchema"] = gemini_schema(schema)
        body: dict[str, Any] = {"contents": _turns(messages), "generationConfig": settings}
        if system := [{"text": message["content"]} for message in messages if message["role"] == "system"]:
            body["systemInstruction"] = {"parts": system}
        return body

    async def _chat(
        self,
        messages: Sequence[Message],
        schema: dict[str, Any] | None,
        temperature: float,
        seed: int | None,
        max_tokens: int | None,
    ) -> AsyncIterator[Delta | Completion]:
        address = self._address(self.model, ":streamGenerateContent?alt=sse")
        for turn in range(2):
            body = self._body(messages, schema, temperature, seed, max_tokens)
            began = time.monotonic()
            async with self._client().stream("POST", address, json=body, headers=self._headers()) as response:
                self._note(response)
                if response.status_code != 200:
                    raw = await self._error_body(response)
                    if turn == 0 and response.status_code == 400 and schema is not None and b"chema" in raw:
                        self._takes_schema = False  # this model, or this schema, is beyond it: JSON without one
                        continue
                    raise self._error(response.status_code, raw, response.headers, messages)
                async with aclosing(self._read(response, messages, began)) as items:  # type: ignore[type-var]
                    async for item in items:
                        yield item
            return

    async def _read(
        self, response: httpx.Response, messages: Sequence[Message], began: float
    ) -> AsyncIterator[Delta | Completion]:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in ("text/event-stream", ""):
            raise ModelUnavailable("The model server sent something that is not its protocol.")
        heard = _Heard()
        async with aclosing(self._events(response, lambda: self._tail_s if heard.reason else None)) as events:  # type: ignore[type-var]
            async for event in events:
                data = json.loads(event.data)
                if isinstance(data, dict) and data.get("error"):
                    raise self._in_midstream(data["error"])
                text = self._take(data, heard)
                if text or not heard.parts:
                    # An empty piece says that the model is at work: it thinks where nobody reads it.
                    yield Delta(text)
        if not heard.reason:
            raise ModelUnavailable("The model server hung up in the middle of its reply.")
        if heard.reason not in ("STOP", "MAX_TOKENS"):
            why = _WITHHELD.get(heard.reason, clean(heard.reason, 40))
            raise ModelRefused(200, f"{self.host} withheld the reply because of {why} ({clean(heard.reason, 40)}).")
        done = "length" if heard.reason == "MAX_TOKENS" else "stop"
        yield Completion("".join(heard.parts), self._usage(heard, messages, began), done, self.recorded)

    def _take(self, data: dict[str, Any], heard: _Heard) -> str:
        """Note what a chunk says; gives its text."""
        heard.usage = data.get("usageMetadata") or heard.usage
        heard.model = str(data.get("modelVersion") or heard.model)
        if blocked := (data.get("promptFeedback") or {}).get("blockReason"):
            raise ModelRefused(200, f"{self.host} does not take this conversation ({clean(blocked, 40)}).")
        candidates = data.get("candidates") or []
        if not candidates:
            return ""
        heard.reason = str(candidates[0].get("finishReason") or heard.reason)
        pieces: list[str] = []
        for part in (candidates[0].get("content") or {}).get("parts") or []:
            said = part.get("text") or ""
            heard.size += len(said.encode("utf-8", "replace"))
            if not part.get("thought"):
                pieces.append(said)
        if heard.size > self._max_reply_bytes:
            raise ReplyTooLong(self._max_reply_bytes)
        text = "".join(pieces)
        if text:
            heard.first = heard.first or time.monotonic()
            heard.parts.append(text)
        return text

    def _in_midstream(self, error: Any) -> LLMError:
        details = error if isinstance(error, dict) else {"message": str(error)}
        said, code = self._safe(str(details.get("message") or "it gave no reason")), details.get("code")
        if isinstance(code, int) and 400 <= code < 500 and code != 429:
            return self._answered(code, said, {"error": details}, None, ())
        return ModelUnavailable(f"The model server stopped with an error: {said}", _wait_in(details))

    def _judge(self, status: int, said: str, body: Any, retry_after: float | None) -> LLMError | None:
        first = body[0] if isinstance(body, list) and body else body
        error = first.get("error") if isinstance(first, dict) else None
        details = error if isinstance(error, dict) else {}
        reasons = {str(row.get("reason")) for row in details.get("details") or () if isinstance(row, dict)}
        if status == 400 and ("API_KEY_INVALID" in reasons or "API key not valid" in said):
            return ModelRefused(401, f"{self.host} refuses the key: {said}")
        if status == 429 and _quota_of_the_day(details):
            return ModelRefused(429, f"{self.host} has no quota left for this key today: {said}")
        if status in BUSY and retry_after is None and (wait := _wait_in(details)) is not None:
            return ModelUnavailable(f"The model server {BUSY[status]} (HTTP {status}). It says: {said}", wait)
        return None

    def _usage(self, heard: _Heard, messages: Sequence[Message], began: float) -> Usage:
        now = time.monotonic()
        first = heard.first or now
        told = heard.usage
        prompt, written = _count(told.get("promptTokenCount")), _count(told.get("candidatesTokenCount"))
        thoughts = _count(told.get("thoughtsTokenCount")) or 0
        return Usage(
            prompt_tokens=count_messages(messages) if prompt is None else prompt,
            completion_tokens=(count_tokens("".join(heard.parts)) if written is None else written) + thoughts,
            prompt_eval_s=max(0.0, first - began),
            eval_s=max(0.0, now - first),
            model=clean(heard.model or self.model, 120),
            reused_tokens=_count(told.get("cachedContentTokenCount")),
            estimated=prompt is None,
        )

    async def _embed(self, texts: list[str]) -> list[list[float]]:
        model = f"models/{self.embed_model.removeprefix('models/')}"
        wanted = [{"model": model, "content": {"parts": [{"text": text}]}} for text in texts]
        answer = await self._post(self._address(self.embed_model, ":batchEmbedContents"), {"requests": wanted})
        return [list(map(float, row["values"])) for row in answer["embeddings"]]

    def _look(self, client: httpx.Client) -> Health:
        try:
            found = self._get(client, self._address(self.model))
        except ModelMissing:
            problem = f"The model {self.model} is not on the server at {self.host}."
            return Health(False, "", problem, "Name a model that it has.", (), None, self.recorded)
        window = _count(found["inputTokenLimit"])
        if window:
            self._window = min(self._window, window)
        version = clean(found.get("version") or "", 60)
        return Health(True, version, models=(self.model,), context_length=window, recorded=self.recorded)


def _turns(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The conversation without its system messages; turns of one side in a row become one turn."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] == "system":
            continue
        role = "model" if message["role"] == "assistant" else "user"
        if turns and turns[-1]["role"] == role:
            turns[-1]["parts"].append({"text": message["content"]})
        else:
            turns.append({"role": role, "parts": [{"text": message["content"]}]})
    return turns


def _quota_of_the_day(error: dict[str, Any]) -> bool:
    """Whether what is used up comes back tomorrow only: a short wait, which such an error names too, cures nothing."""
    for row in error.get("details") or ():
        for broken in (row.get("violations") or ()) if isinstance(row, dict) else ():
            if isinstance(broken, dict) and "PerDay" in str(broken.get("quotaId")):
                return True
    return False


def _wait_in(error: dict[str, Any]) -> float | None:
    """The seconds that an error asks to wait, from its details."""
    for row in error.get("details") or ():
        match = _SECONDS.fullmatch(str(row.get("retryDelay"))) if isinstance(row, dict) else None
        if match:
            return min(float(match[1]), 3600.0)
    return None


def _count(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None
