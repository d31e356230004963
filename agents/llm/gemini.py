"""Google's Gemini, by Google's SDK over our own HTTP client.

The SDK builds the requests and reads the answers. What it is not trusted with stays here: it never has the key, sends
nothing anywhere else, repeats nothing on its own and takes nothing from GOOGLE_* variables; an answer is bounded before
it reads it. It takes most of a second to import, so nothing but the registry imports this module.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from itertools import groupby
from typing import Any, cast
from urllib.parse import quote
from weakref import WeakKeyDictionary

import httpx
from google.genai import Client, types
from google.genai.client import DebugConfig
from google.genai.errors import APIError
from google.genai.models import AsyncModels

from agents.llm.answers import BUSY, clean, count
from agents.llm.base import (
    Completion,
    Health,
    LLMError,
    Message,
    ModelMissing,
    ModelRefused,
    ModelUnavailable,
    ReplyTooLong,
    TokenUsage,
)
from agents.llm.bodies import PartialReply, body_up_to, with_tail
from agents.llm.sse import EventReader
from agents.llm.tokens import count_tokens
from agents.llm.web import MAX_ERROR_BYTES, ChatCall, HttpRefusal, WebProvider, with_path

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


# The response that a call has open: the SDK leaves it to the garbage collector when a call is stopped.
_opened: ContextVar[list[httpx.Response]] = ContextVar("opened")


class _Bounded(httpx.AsyncByteStream):
    """The body of an answer, at most `limit` bytes of it; of a stream, that much of each event.

    The events are passed on as the SDK reads them: it stumbles over the comments that keep a quiet connection open.
    """

    def __init__(self, source: httpx.AsyncByteStream, limit: int, *, events: bool) -> None:
        self._source, self._limit, self._events = source, limit, events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        reader, size = EventReader(self._limit), 0
        async for piece in self._source:
            if self._events:
                for event in reader.feed(piece):
                    yield _line(event.data)
            elif (size := size + len(piece)) > self._limit:
                raise ReplyTooLong(self._limit)
            else:
                yield piece
        for event in reader.end():
            yield _line(event.data)

    async def aclose(self) -> None:
        await self._source.aclose()


class GeminiProvider(WebProvider):
    """One Gemini model; `server` is the address up to the version of the protocol (added when there is no path)."""

    name = "gemini"

    def __init__(self, server: str, model: str = "", **options: Any) -> None:
        super().__init__(with_path(server, "/v1beta"), model.removeprefix("models/"), **options)
        self._takes = {b"hinking", b"chema"}  # parameters, as an error names them
        self._sdks: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[httpx.AsyncClient, Client]] = WeakKeyDictionary()

    def _key_headers(self, key: str) -> dict[str, str]:
        # In a header, not in the address: addresses end up in logs.
        return {"x-goog-api-key": key}

    def _models(self) -> AsyncModels:
        """The part of the SDK that asks models, on this event loop, over our client."""
        loop, client = asyncio.get_running_loop(), self._client()
        made = self._sdks.get(loop)
        if made is None or made[0] is not client:
            # Whatever the SDK would else look for in the environment is given.
            options = types.HttpOptions(base_url=self.server or "http://", api_version="", httpx_async_client=client)
            options.client_args = {"trust_env": False}
            debug = DebugConfig(client_mode=None, replays_directory=None, replay_id=None)
            sdk = Client(vertexai=False, api_key="kept from it", debug_config=debug, http_options=options)
            made = self._sdks[loop] = (client, sdk)
        return made[1].aio.models

    def _hooks(self) -> dict[str, list[Any]]:
        async def before(request: httpx.Request) -> None:
            request.headers.pop("x-goog-api-key", None)
            request.headers.update({**self._headers(), "Accept-Encoding": "identity"})
            request.extensions["timeout"] = self._client().timeout.as_dict()  # the SDK sets none

        async def after(response: httpx.Response) -> None:
            self._note(response)
            if response.status_code != 200:
                raise HttpRefusal(response, await body_up_to(response, MAX_ERROR_BYTES), {})
            _opened.get([]).append(response)
            events = ":stream" in response.request.url.path
            limit = (4 if events else 16) * self._max_reply_bytes
            response.stream = _Bounded(cast(httpx.AsyncByteStream, response.stream), limit, events=events)

        return {"request": [before], "response": [after]}

    def _request(self, call: ChatCall) -> tuple[str, dict[str, Any]]:
        config: dict[str, Any] = {
            **call.settings("max_output_tokens"),
            "automatic_function_calling": {"disable": True},
            "automatic_continuation": False,
        }
        budget = self.thinking if call.thinks else 0
        if budget is not None and b"hinking" in self._takes:
            config["thinking_config"] = {"thinking_budget": budget}
        if call.schema is not None:
            config["response_mime_type"] = "application/json"
            if b"chema" in self._takes:
                config["response_json_schema"] = call.schema
        if system := [types.Part(text=message["content"]) for message in call.messages if message["role"] == "system"]:
            config["system_instruction"] = types.Content(parts=system)
        return _path(self.model), config

    def _adapted(self, status: int, raw: bytes, body: dict[str, Any]) -> bool:
        # A model that always thinks, or never, or one that this schema is beyond: JSON without one.
        refused = {word for word in self._takes if status == 400 and word in raw}
        self._takes -= refused
        return bool(refused)

    async def _ask(self, call: ChatCall, reply: PartialReply) -> AsyncGenerator[str, None]:
        opened: list[httpx.Response] = []
        _opened.set(opened)
        model, config = self._request(call)
        try:
            asked = types.GenerateContentConfig(**config)
            chunks = await self._models().generate_content_stream(
                model=model, contents=_turns(call.messages), config=asked
            )
            source = cast(AsyncGenerator[types.GenerateContentResponse, None], chunks)
            async with aclosing(with_tail(source, reply)) as arrived:
                async for chunk in arrived:
                    text = self._take(chunk, reply)
                    if text or not reply.parts:
                        yield text
        except APIError as error:
            raise self._in_midstream(error.details["error"]) from None
        finally:
            for response in opened:
                await response.aclose()

    async def _completion(self, reply: PartialReply, call: ChatCall) -> Completion:
        if reply.reason not in ("STOP", "MAX_TOKENS"):
            why = _WITHHELD.get(reply.reason, clean(reply.reason, 40))
            raise ModelRefused(200, f"{self.host} withheld the reply because of {why} ({clean(reply.reason, 40)}).")
        reply.reason = "length" if reply.reason == "MAX_TOKENS" else "stop"
        return await super()._completion(reply, call)

    def _take(self, data: types.GenerateContentResponse, reply: PartialReply) -> str:
        """Note what a chunk says; gives its text."""
        if data.usage_metadata:
            reply.usage = data.usage_metadata.model_dump(exclude_none=True) or reply.usage
        reply.model = data.model_version or reply.model
        if data.prompt_feedback and (blocked := data.prompt_feedback.block_reason):
            raise ModelRefused(200, f"{self.host} does not take this conversation ({clean(blocked.value, 40)}).")
        if not data.candidates:
            return ""
        first = data.candidates[0]
        reply.reason = str(first.finish_reason.value) if first.finish_reason else reply.reason
        parts = (first.content.parts if first.content else None) or []
        text = "".join(part.text or "" for part in parts if not part.thought)
        reply.add(text, "".join(part.text or "" for part in parts if part.thought))
        return text

    def _in_midstream(self, details: dict[str, Any]) -> LLMError:
        text, code = self._safe(str(details.get("message") or "it gave no reason")), int(details["code"])
        if 400 <= code < 500 and code != 429:
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
        written, thoughts = count(counts.get("candidates_token_count")), count(counts.get("thoughts_token_count"))
        return super()._usage(
            reply,
            call,
            prompt=count(counts.get("prompt_token_count")),
            written=(count_tokens(reply.text) if written is None else written) + (thoughts or 0),
            reused=count(counts.get("cached_content_token_count")),
        )

    async def _embed(self, texts: list[str]) -> list[list[float]]:
        # One content for each text: some models take a list of texts for one.
        contents = [types.Content(parts=[types.Part(text=text)]) for text in texts]
        model = _path(self.embed_model.removeprefix("models/"))
        try:
            answer = await self._models().embed_content(model=model, contents=contents)
        except HttpRefusal as refused:
            raise self._error(refused.response, refused.raw) from None
        return [row.values or [] for row in answer.embeddings or ()]

    def _look(self, client: httpx.Client) -> Health:
        try:
            found = self._get(client, f"{self.server}/{_path(self.model)}")
        except ModelMissing:
            problem = f"The model {self.model} is not on the server at {self.host}."
            return Health(False, "", problem, "Name a model that it has.", (), None, self.recorded)
        window = count(found["inputTokenLimit"])
        if window:
            self._window = min(self._window, window)
        version = clean(found.get("version") or "", 60)
        return Health(True, version, models=(self.model,), context_length=window, recorded=self.recorded)


def _path(model: str) -> str:
    return f"models/{quote(model, safe='-._')}"


def _line(data: str) -> bytes:
    return b"data: " + data.replace("\n", " ").encode() + b"\n\n"


def _turns(messages: Sequence[Message]) -> list[types.Content]:
    """The conversation without its system messages; turns of one side in a row become one turn."""
    said = groupby((m for m in messages if m["role"] != "system"), lambda message: message["role"] == "assistant")
    return [
        types.Content(role="model" if own else "user", parts=[types.Part(text=turn["content"]) for turn in turns])
        for own, turns in said
    ]


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
