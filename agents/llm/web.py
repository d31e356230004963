"""What providers over plain HTTP share: connections, keys, time limits, and foreign errors put into our words.

The servers' own Python clients are not used: each costs more than half a second to import in every worker, and what
is needed of them is one POST and a stream of events.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import Any, NoReturn
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import httpx

from agents.llm.base import (
    DEFAULT_WINDOW,
    MAX_REPLY_BYTES,
    Completion,
    ContextTooLong,
    Delta,
    Health,
    LLMError,
    Message,
    ModelMissing,
    ModelRefused,
    ModelTimeout,
    ModelUnavailable,
    ReplyTooLong,
    Timeouts,
)
from agents.llm.deadlines import timed
from agents.llm.sse import Event, EventReader, LineTooLong, NotEvents
from agents.llm.tokens import count_messages
from agents.llm.transport import BUSY, RECORDED_HEADER, clean, retry_after_seconds

TAIL_S = 2.0  # how long the count of tokens may come after the last word
MAX_ERROR_BYTES = 64_000  # of an error's body; the rest is not read
# A refused key is often quoted in part; the parts are nobody's business either.
_QUOTED_KEY = re.compile(r"\b(?:sk|pk|gsk|key|AIza)[A-Za-z0-9_-]*[*.…]{2,}[A-Za-z0-9_-]*|\bBearer\s+\S+", re.I)
TOO_LONG = re.compile(
    r"context[ _](?:length|window|size)|maximum context|input (?:length|token count|is too long)|too many tokens|"
    r"exceeds? the (?:available|maximum)[^.]{0,40}(?:context|tokens)|prompt is too long",
    re.I,
)


class WebProvider(ABC):
    """The common part of `OpenAIProvider` and `GeminiProvider`; safe to use from several event loops.

    The key is read from the environment variable `key_variable` at every call, goes out in a header only, and is
    taken out of every error text.
    """

    name = ""

    def __init__(
        self,
        server: str,
        model: str,
        *,
        window: int = DEFAULT_WINDOW,
        embed_model: str | None = None,
        timeouts: Timeouts | None = None,
        max_reply_bytes: int = MAX_REPLY_BYTES,
        key_variable: str = "",
        recorded: bool = False,
    ) -> None:
        self.server = server.rstrip("/")
        self.model = model
        self.embed_model = embed_model or model
        self.timeouts = timeouts or Timeouts()
        self.key_variable = key_variable
        self._window, self._max_reply_bytes, self._recorded = window, max_reply_bytes, recorded
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = WeakKeyDictionary()

    @property
    def window(self) -> int:
        """Tokens the model holds: what is configured, or less when the server says so."""
        return self._window

    @property
    def recorded(self) -> bool:
        """True when the server last answered as a recording."""
        return self._recorded

    @property
    def host(self) -> str:
        """The machine that is talked to, as a person would name it."""
        return clean(urlsplit(self.server).netloc.rpartition("@")[2] or self.server, 120)

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        schema: dict[str, Any] | None = None,
        temperature: float = 0.2,
        seed: int | None = None,
        max_tokens: int | None = None,
    ) -> AsyncIterator[Delta | Completion]:
        """See `Provider.stream`."""
        source = self._translated(messages, self._chat(messages, schema, temperature, seed, max_tokens))
        async with aclosing(timed(source, self.timeouts)) as items:  # type: ignore[type-var]
            async for item in items:
                yield item

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """See `Provider.embed`."""
        if not texts:
            return []
        try:
            async with asyncio.timeout(self.timeouts.first_token):
                vectors = await self._embed(list(texts))
        except TimeoutError:
            raise ModelTimeout("first_token", self.timeouts.first_token) from None
        except Exception as error:  # noqa: BLE001 - the border: every foreign error becomes one of ours
            raise self._ours(error) from None
        if len(vectors) != len(texts):
            raise ModelRefused(200, f"The model server gave {len(vectors)} vectors for {len(texts)} texts.")
        return vectors

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    def health(self) -> Health:
        """See `Provider.health`."""
        way_out = "Start it, or set another server address."
        try:
            with httpx.Client(
                timeout=max(self.timeouts.connect, 2.0), trust_env=False, follow_redirects=False
            ) as client:
                return self._look(client)
        except ModelMissing as missing:
            return Health(False, problem=str(missing), way_out=missing.way_out)
        except LLMError as error:
            return Health(False, problem=str(error), way_out=self._way_out(error))
        except httpx.TransportError:
            return Health(False, problem=f"No model server answers at {self.host}.", way_out=way_out)
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, AttributeError, TypeError, KeyError):
            problem = f"What answers at {self.host} does not speak the protocol of {self.name}."
            return Health(False, problem=problem, way_out=way_out)

    # What a kind of server brings along.

    @abstractmethod
    def _chat(
        self,
        messages: Sequence[Message],
        schema: dict[str, Any] | None,
        temperature: float,
        seed: int | None,
        max_tokens: int | None,
    ) -> AsyncIterator[Delta | Completion]:
        """Ask and translate; foreign errors may come out of it."""

    @abstractmethod
    async def _embed(self, texts: list[str]) -> list[list[float]]:
        """Vectors for at least one text; foreign errors may come out of it."""

    @abstractmethod
    def _look(self, client: httpx.Client) -> Health:
        """Look at the server; foreign errors may come out of it."""

    @abstractmethod
    def _key_headers(self, key: str) -> dict[str, str]:
        """How this kind of server is shown the key."""

    def _judge(self, status: int, said: str, body: Any, retry_after: float | None) -> LLMError | None:
        """What only this kind of server says by an error; None for what all say."""
        return None

    # What all of them use.

    def _headers(self) -> dict[str, str]:
        key = os.environ.get(self.key_variable, "").strip() if self.key_variable else ""
        if not key:
            return {}
        # A header that cannot be sent is quoted in the HTTP library's error.
        if not re.fullmatch(r"[\x21-\x7e]{1,4096}", key):
            raise ModelRefused(401, f"{self.key_variable} holds characters that no key has: copy it again.")
        return self._key_headers(key)

    def _client(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            total = self.timeouts.total
            # trust_env and redirects are off so that no proxy setting or answer can send a prompt to another machine.
            client = httpx.AsyncClient(
                timeout=httpx.Timeout(connect=self.timeouts.connect, read=total + 1, write=30, pool=total),
                follow_redirects=False,
                trust_env=False,
            )
            self._clients[loop] = client
        return client

    @property
    def _tail_s(self) -> float:
        """How long a whole reply waits for what comes after it."""
        return min(TAIL_S, self.timeouts.idle / 2)

    def _note(self, response: httpx.Response) -> None:
        self._recorded = RECORDED_HEADER in response.headers

    async def _events(self, response: httpx.Response, tail: Callable[[], float | None]) -> AsyncIterator[Event]:
        """The events of an answer. Once the reply is whole, `tail` gives the seconds the rest of it may take.

        It is read to its end, because only then can the connection be used again.
        """
        async with aclosing(self._all_events(response)) as events:  # type: ignore[type-var]
            while True:
                try:
                    async with asyncio.timeout(tail()):
                        event = await anext(events)
                except (StopAsyncIteration, TimeoutError):
                    return
                except httpx.TransportError:
                    if tail() is None:
                        raise
                    return
                yield event

    async def _all_events(self, response: httpx.Response) -> AsyncIterator[Event]:
        reader = EventReader(4 * self._max_reply_bytes)
        async with aclosing(response.aiter_bytes()) as pieces:  # type: ignore[type-var]
            async for piece in pieces:
                for event in reader.feed(piece):
                    yield event
        for event in reader.end():
            yield event

    async def _whole(self, response: httpx.Response, limit: int) -> bytes:
        """The body; raises ReplyTooLong when it passes `limit` bytes."""
        found = bytearray()
        async with aclosing(response.aiter_bytes()) as pieces:  # type: ignore[type-var]
            async for piece in pieces:
                found += piece
                if len(found) > limit:
                    raise ReplyTooLong(limit)
        return bytes(found)

    async def _post(self, address: str, body: dict[str, Any]) -> Any:
        """A short call: JSON out, JSON in."""
        async with self._client().stream("POST", address, json=body, headers=self._headers()) as response:
            self._note(response)
            if response.status_code != 200:
                await self._refuse(response)
            return json.loads(await self._whole(response, 16 * self._max_reply_bytes))

    def _get(self, client: httpx.Client, address: str) -> Any:
        """A look at the server; raises the LLMError tree for an answer that says no."""
        response = client.get(address, headers=self._headers())
        self._note(response)
        if response.status_code != 200:
            raise self._error(response.status_code, response.content[:MAX_ERROR_BYTES], response.headers, ())
        return response.json()

    async def _refuse(self, response: httpx.Response, messages: Sequence[Message] = ()) -> NoReturn:
        raise self._error(response.status_code, await self._error_body(response), response.headers, messages)

    async def _error_body(self, response: httpx.Response) -> bytes:
        found = bytearray()
        async with aclosing(response.aiter_bytes()) as pieces:  # type: ignore[type-var]
            async for piece in pieces:
                found += piece
                if len(found) > MAX_ERROR_BYTES:
                    break
        return bytes(found[:MAX_ERROR_BYTES])

    def _error(self, status: int, raw: bytes, headers: httpx.Headers, messages: Sequence[Message]) -> LLMError:
        text = raw.decode("utf-8", "replace")
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            body = None
        milliseconds = retry_after_seconds(headers.get("retry-after-ms"))
        after = milliseconds / 1000 if milliseconds is not None else retry_after_seconds(headers.get("Retry-After"))
        return self._answered(status, said_in(body) or text, body, after, messages)

    def _answered(
        self, status: int, said: str, body: Any, retry_after: float | None, messages: Sequence[Message]
    ) -> LLMError:
        """An answer that says no, in our words."""
        words = self._safe(said)
        special = self._judge(status, words, body, retry_after)
        if special is not None:
            return special
        if status in (400, 413, 422, 500) and TOO_LONG.search(words):
            return ContextTooLong(count_messages(messages), self._window)
        if status in (401, 403):
            return ModelRefused(status, f"{self.host} refuses the key (HTTP {status}): {words}")
        if status == 404:
            return ModelMissing(self.model, f"{self.host} says: {words}" if words else f"{self.host} does not know it.")
        if status in BUSY:
            told = f" It says: {words}" if words else ""
            return ModelUnavailable(f"The model server {BUSY[status]} (HTTP {status}).{told}", retry_after)
        if status >= 500 and not self.recorded:
            return ModelUnavailable(f"The model server failed (HTTP {status}): {words}", retry_after)
        return ModelRefused(status, f"The model server refused the call (HTTP {status}): {words}")

    async def _translated(
        self, messages: Sequence[Message], source: AsyncIterator[Delta | Completion]
    ) -> AsyncIterator[Delta | Completion]:
        try:
            async with aclosing(source) as items:  # type: ignore[type-var]
                async for item in items:
                    yield item
        except Exception as error:  # noqa: BLE001 - the border: every foreign error becomes one of ours
            # `from None`: the HTTP library's errors carry the request, and with it the key.
            raise self._ours(error) from None

    def _ours(self, error: Exception) -> LLMError:
        """Say in our words what went wrong on the way."""
        if isinstance(error, LLMError):
            return error
        if isinstance(error, httpx.ConnectTimeout):
            return ModelTimeout("connect", self.timeouts.connect)
        if isinstance(error, httpx.ReadTimeout):
            return ModelTimeout("idle", self.timeouts.idle)
        if isinstance(error, ConnectionError | httpx.ConnectError):
            return ModelUnavailable(f"No model server answers at {self.host}.")
        if isinstance(error, LineTooLong):
            return ReplyTooLong(self._max_reply_bytes)
        if isinstance(error, NotEvents | ValueError | KeyError | TypeError | AttributeError | httpx.DecodingError):
            return ModelUnavailable("The model server sent something that is not its protocol.")
        if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol):
            return ModelRefused(0, f"{self.host!r} is no address of a model server.")
        if isinstance(error, httpx.HTTPError):
            return ModelUnavailable("The connection to the model server broke off.")
        return ModelUnavailable(f"The model server's answer could not be read ({type(error).__name__}).")

    def _safe(self, text: str) -> str:
        """A server's words without the key, whole or in part."""
        key = os.environ.get(self.key_variable, "").strip() if self.key_variable else ""
        if len(key) >= 4:
            text = text.replace(key, "[key]")
        return clean(_QUOTED_KEY.sub("[key]", text[:2_000]))

    def _way_out(self, error: LLMError) -> str:
        if isinstance(error, ModelRefused) and error.status in (401, 403) and self.key_variable:
            return f"Set {self.key_variable} in the environment of the server to a key that it takes."
        return "Look at the model server, or name another model."


def said_in(body: Any) -> str:
    """The words of an error in any of the shapes that are about; empty when there are none."""
    for _ in range(4):
        if isinstance(body, list):
            body = body[0] if body else None
        if isinstance(body, str):
            return body
        if not isinstance(body, dict):
            return ""
        body = next(
            (body[key] for key in ("error", "message", "detail", "msg", "error_description") if body.get(key)), ""
        )
    return body if isinstance(body, str) else ""
