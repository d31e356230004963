"""Google's Gemini, over its own protocol (generateContent, streamed as events)."""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from agents.llm.answers import BUSY, clean, count
from agents.llm.base import (
    Completion,
    Delta,
    Health,
    LLMError,
    Message,
    ModelMissing,
    ModelRefused,
    ModelUnavailable,
    TokenUsage,
)
from agents.llm.gemini_schema import gemini_schema
from agents.llm.tokens import count_messages, count_tokens
from agents.llm.web import PartialReply, WebProvider

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


class GeminiProvider(WebProvider):
    """One Gemini model; `server` is the address up to the version of the protocol (added when there is no path)."""

    name = "gemini"

    def __init__(self, server: str, model: str = "", **options: Any) -> None:
        address = server.rstrip("/")
        if "//" in address and not urlsplit(address).path.strip("/"):
            address += "/v1beta"
        super().__init__(address, model.removeprefix("models/"), **options)
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
    ) -> AsyncGenerator[Delta | Completion, None]:
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
                async with aclosing(self._read(response, messages, began)) as items:
                    async for item in items:
                        yield item
            return

    async def _read(
        self, response: httpx.Response, messages: Sequence[Message], began: float
    ) -> AsyncGenerator[Delta | Completion, None]:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in ("text/event-stream", ""):
            raise ModelUnavailable("The model server sent something that is not its protocol.")
        reply = PartialReply(self._max_reply_bytes)
        async with aclosing(self._events(response, reply)) as events:
            async for event in events:
                data = json.loads(event.data)
                if isinstance(data, dict) and data.get("error"):
                    raise self._in_midstream(data["error"])
                text = self._take(data, reply)
                if text or not reply.parts:
                    # An empty piece says that the model is at work: it thinks where nobody reads it.
                    yield Delta(text)
        if not reply.reason:
            raise ModelUnavailable("The model server hung up in the middle of its reply.")
        if reply.reason not in ("STOP", "MAX_TOKENS"):
            why = _WITHHELD.get(reply.reason, clean(reply.reason, 40))
            raise ModelRefused(200, f"{self.host} withheld the reply because of {why} ({clean(reply.reason, 40)}).")
        done = "length" if reply.reason == "MAX_TOKENS" else "stop"
        yield Completion(reply.text, self._usage(reply, messages, began), done, self.recorded)

    def _take(self, data: dict[str, Any], reply: PartialReply) -> str:
        """Note what a chunk says; gives its text."""
        reply.usage = data.get("usageMetadata") or reply.usage
        reply.model = str(data.get("modelVersion") or reply.model)
        if blocked := (data.get("promptFeedback") or {}).get("blockReason"):
            raise ModelRefused(200, f"{self.host} does not take this conversation ({clean(blocked, 40)}).")
        candidates = data.get("candidates") or []
        if not candidates:
            return ""
        reply.reason = str(candidates[0].get("finishReason") or reply.reason)
        parts = (candidates[0].get("content") or {}).get("parts") or []
        text = "".join(part.get("text") or "" for part in parts if not part.get("thought"))
        reply.add(text, "".join(part.get("text") or "" for part in parts if part.get("thought")))
        return text

    def _in_midstream(self, error: Any) -> LLMError:
        details = error if isinstance(error, dict) else {"message": str(error)}
        text, code = self._safe(str(details.get("message") or "it gave no reason")), details.get("code")
        if isinstance(code, int) and 400 <= code < 500 and code != 429:
            return self._answered(code, text, {"error": details}, None, ())
        return ModelUnavailable(f"The model server stopped with an error: {text}", _wait_in(details))

    def _special_error(
        self, status: int, text: str, body: Any, retry_after: float | None, messages: Sequence[Message]
    ) -> LLMError | None:
        first = body[0] if isinstance(body, list) and body else body
        error = first.get("error") if isinstance(first, dict) else None
        details = error if isinstance(error, dict) else {}
        reasons = {str(row.get("reason")) for row in details.get("details") or () if isinstance(row, dict)}
        if status == 400 and ("API_KEY_INVALID" in reasons or "API key not valid" in text):
            return ModelRefused(401, f"{self.host} refuses the key: {text}")
        if status == 429 and _quota_of_the_day(details):
            return ModelRefused(429, f"{self.host} has no quota left for this key today: {text}")
        if status in BUSY and retry_after is None and (wait := _wait_in(details)) is not None:
            return ModelUnavailable(f"The model server {BUSY[status]} (HTTP {status}). It says: {text}", wait)
        return None

    def _usage(self, reply: PartialReply, messages: Sequence[Message], began: float) -> TokenUsage:
        now = time.monotonic()
        first = reply.first or now
        counts = reply.usage
        prompt, written = count(counts.get("promptTokenCount")), count(counts.get("candidatesTokenCount"))
        thoughts = count(counts.get("thoughtsTokenCount")) or 0
        return TokenUsage(
            prompt_tokens=count_messages(messages) if prompt is None else prompt,
            completion_tokens=(count_tokens(reply.text) if written is None else written) + thoughts,
            prompt_eval_s=max(0.0, first - began),
            eval_s=max(0.0, now - first),
            model=clean(reply.model or self.model, 120),
            reused_tokens=count(counts.get("cachedContentTokenCount")),
            estimated=prompt is None,
        )

    async def _embed(self, texts: list[str]) -> list[list[float]]:
        model = f"models/{self.embed_model.removeprefix('models/')}"
        wanted = [{"model": model, "content": {"parts": [{"text": text}]}} for text in texts]
        answer = await self._call("POST", self._address(self.embed_model, ":batchEmbedContents"), {"requests": wanted})
        return [list(map(float, row["values"])) for row in answer["embeddings"]]

    def _look(self, client: httpx.Client) -> Health:
        try:
            found = self._get(client, self._address(self.model))
        except ModelMissing:
            problem = f"The model {self.model} is not on the server at {self.host}."
            return Health(False, "", problem, "Name a model that it has.", (), None, self.recorded)
        window = count(found["inputTokenLimit"])
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
