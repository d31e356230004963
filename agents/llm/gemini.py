"""Google's Gemini, over its own protocol (generateContent, streamed as events)."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any
from urllib.parse import quote

import httpx

from agents.llm.answers import BUSY, clean, count
from agents.llm.base import (
    Completion,
    Health,
    LLMError,
    Message,
    ModelMissing,
    ModelRefused,
    ModelUnavailable,
    TokenUsage,
)
from agents.llm.bodies import PartialReply, events
from agents.llm.gemini_schema import gemini_schema
from agents.llm.tokens import count_tokens
from agents.llm.web import ChatCall, WebProvider, content_type, with_path

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
        super().__init__(with_path(server, "/v1beta"), model.removeprefix("models/"), **options)
        self._takes_schema = self._takes_thinking = True

    def _key_headers(self, key: str) -> dict[str, str]:
        # In a header, not in the address: addresses end up in logs.
        return {"x-goog-api-key": key}

    def _address(self, model: str, verb: str = "") -> str:
        return f"{self.server}/models/{quote(model, safe='-._')}{verb}"

    def _request(self, call: ChatCall) -> tuple[str, dict[str, Any]]:
        settings = call.settings("maxOutputTokens")
        budget = self.thinking if call.thinks else 0
        if budget is not None and self._takes_thinking:
            settings["thinkingConfig"] = {"thinkingBudget": budget}
        if call.schema is not None:
            settings["responseMimeType"] = "application/json"
            if self._takes_schema:
                settings["responseSchema"] = gemini_schema(call.schema)
        body: dict[str, Any] = {"contents": _turns(call.messages), "generationConfig": settings}
        if system := [{"text": message["content"]} for message in call.messages if message["role"] == "system"]:
            body["systemInstruction"] = {"parts": system}
        return self._address(self.model, ":streamGenerateContent?alt=sse"), body

    def _adapted(self, status: int, raw: bytes, body: dict[str, Any]) -> bool:
        if status == 400 and b"hinking" in raw and "thinkingConfig" in body["generationConfig"]:
            self._takes_thinking = False  # this model always thinks, or never
            return True
        if status != 400 or b"chema" not in raw or "responseSchema" not in body["generationConfig"]:
            return False
        self._takes_schema = False  # this model, or this schema, is beyond it: JSON without one
        return True

    async def _texts(self, response: httpx.Response, reply: PartialReply) -> AsyncGenerator[str, None]:
        if content_type(response) not in ("text/event-stream", ""):
            raise ModelUnavailable("The model server sent something that is not its protocol.")
        async with aclosing(events(response, reply)) as arrived:
            async for event in arrived:
                data = json.loads(event.data)
                if isinstance(data, dict) and data.get("error"):
                    raise self._in_midstream(data["error"])
                text = self._take(data, reply)
                if text or not reply.parts:
                    yield text

    async def _completion(self, reply: PartialReply, call: ChatCall) -> Completion:
        if reply.reason not in ("STOP", "MAX_TOKENS"):
            why = _WITHHELD.get(reply.reason, clean(reply.reason, 40))
            raise ModelRefused(200, f"{self.host} withheld the reply because of {why} ({clean(reply.reason, 40)}).")
        reply.reason = "length" if reply.reason == "MAX_TOKENS" else "stop"
        return await super()._completion(reply, call)

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
        self, status: int, text: str, body: Any, wait: float | None, messages: Sequence[Message]
    ) -> LLMError | None:
        first = body[0] if isinstance(body, list) and body else body
        error = first.get("error") if isinstance(first, dict) else None
        details = error if isinstance(error, dict) else {}
        reasons = {str(row.get("reason")) for row in details.get("details") or () if isinstance(row, dict)}
        if status == 400 and ("API_KEY_INVALID" in reasons or "API key not valid" in text):
            return ModelRefused(401, f"{self.host} refuses the key: {text}")
        if status == 429 and _quota_of_the_day(details):
            return ModelRefused(429, f"{self.host} has no quota left for this key today: {text}")
        if status in BUSY and wait is None and (asked := _wait_in(details)) is not None:
            return ModelUnavailable(f"The model server {BUSY[status]} (HTTP {status}). It says: {text}", asked)
        return None

    def _usage(self, reply: PartialReply, call: ChatCall, **_: Any) -> TokenUsage:
        counts = reply.usage
        written, thoughts = count(counts.get("candidatesTokenCount")), count(counts.get("thoughtsTokenCount"))
        return super()._usage(
            reply,
            call,
            prompt=count(counts.get("promptTokenCount")),
            written=(count_tokens(reply.text) if written is None else written) + (thoughts or 0),
            reused=count(counts.get("cachedContentTokenCount")),
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
