"""What providers over HTTP share: connections, keys, time limits, and translating foreign errors into ours.

Most servers' own clients are not used: each takes half a second to import, and one POST and a stream is all we need.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from time import monotonic
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import httpx

from agents.llm.answers import BUSY, RECORDED_HEADER, TOO_LONG, clean, error_text, json_or_none, retry_after_seconds
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
    Stage,
    Timeouts,
    TokenUsage,
)
from agents.llm.bodies import Item, PartialReply, body_up_to, complete_body
from agents.llm.chat import ChatCall as ChatCall
from agents.llm.sse import LineTooLong, NotEvents
from agents.llm.thinking import within_budget
from agents.llm.tokens import count_messages, count_tokens

TAIL_S = 2.0  # how long the token counts may come after the last text
MAX_ADAPTATIONS = 6  # how often one call is sent again without something that the server refuses
MAX_ERROR_BYTES = 64_000  # of an error's body; the rest is not read
# A refused key is often quoted in part.
_QUOTED_KEY = re.compile(r"\b(?:sk|pk|gsk|key|AIza)[A-Za-z0-9_-]*[*.…]{2,}[A-Za-z0-9_-]*|\bBearer\s+\S+", re.I)


class HttpRefusal(Exception):
    """A server answered with an error: the beginning of what it says, and the body of the call."""

    def __init__(self, response: httpx.Response, raw: bytes, body: dict[str, Any]) -> None:
        super().__init__()
        self.response, self.raw, self.body = response, raw, body


class WebProvider(ABC):
    """The common part of the providers; safe to use from several event loops.

    The key is read from the environment variable `key_variable` at every call, is sent in a header only, and is removed
    from every error text.
    """

    name = ""
    start_hint = "Start it, or set another server address."

    def __init__(
        self,
        server: str,
        model: str,
        *,
        window: int = DEFAULT_WINDOW,
        thinking: int | None = None,
        embed_model: str | None = None,
        timeouts: Timeouts | None = None,
        max_reply_bytes: int = MAX_REPLY_BYTES,
        key_variable: str = "",
        recorded: bool = False,
    ) -> None:
        self.server = server.rstrip("/")
        self.model = model
        self.thinking = thinking  # tokens of thoughts before an answer; 0 for none, None for as many as it likes
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
        """True when the server's last answer came from a recording."""
        return self._recorded

    @property
    def host(self) -> str:
        """The machine's name without user, password and path, for messages."""
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
        call = ChatCall(messages, schema, temperature, seed, max_tokens, thinks=self.thinking != 0)
        source = within_budget(self._chat, call, self._window)
        try:
            async with aclosing(timed(source, self.timeouts)) as items:
                async for item in items:
                    yield item
        except Exception as error:  # noqa: BLE001 - the border: every foreign error becomes one of ours
            # `from None`: the HTTP library's errors carry the request, and with it the key.
            raise self._ours(error) from None

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
            # `from None`: the HTTP library's errors carry the request, and with it the key.
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
        try:
            limit = max(self.timeouts.connect, 2.0)
            with httpx.Client(timeout=limit, trust_env=False, follow_redirects=False) as client:
                return self._look(client)
        except ModelMissing as missing:
            return Health(False, problem=str(missing), hint=missing.hint)
        except LLMError as error:
            return Health(False, problem=str(error), hint=self._hint(error))
        except httpx.TransportError:
            return Health(False, problem=f"No model server answers at {self.host}.", hint=self.start_hint)
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, AttributeError, TypeError, KeyError):
            problem = f"What answers at {self.host} does not speak the protocol of {self.name}."
            return Health(False, problem=problem, hint=self.start_hint)

    @abstractmethod
    def _request(self, call: ChatCall) -> tuple[str, dict[str, Any]]:
        """The address and the body of a call."""

    def _texts(self, response: httpx.Response, reply: PartialReply) -> AsyncGenerator[str, None]:
        """Translate an answer, as `_ask` does."""
        raise NotImplementedError

    async def _ask(self, call: ChatCall, reply: PartialReply) -> AsyncGenerator[str, None]:
        """Ask once: the pieces of text as they come, and into `reply` whatever else the answer says.

        An empty piece says that the model is at work: it thinks where nobody reads it. Raises HttpRefusal, and may
        raise foreign errors.
        """
        address, body = self._request(call)
        async with self._client().stream("POST", address, json=body, headers=self._headers(call.messages)) as response:
            self._note(response)
            if response.status_code != 200:
                raise HttpRefusal(response, await body_up_to(response, MAX_ERROR_BYTES), body)
            async with aclosing(self._texts(response, reply)) as texts:
                async for text in texts:
                    yield text

    async def _completion(self, reply: PartialReply, call: ChatCall) -> Completion:
        """The end of an answer whose text is complete. Raises the LLMError tree for one that is not to be used."""
        usage = self._usage(reply, call)
        return Completion(reply.text, usage, reply.reason or "stop", self.recorded, thought=reply.thought)

    def _adapted(self, status: int, raw: bytes, body: dict[str, Any]) -> bool:
        """Whether the call can be sent again without what the server refuses in this error."""
        return False

    @abstractmethod
    async def _embed(self, texts: list[str]) -> list[list[float]]:
        """Vectors for at least one text; may raise foreign errors."""

    @abstractmethod
    def _look(self, client: httpx.Client) -> Health:
        """Check the server; may raise foreign errors."""

    def _key_headers(self, key: str) -> dict[str, str]:
        """The header that carries the key."""
        return {"Authorization": f"Bearer {key}"}

    def _special_error(
        self, status: int, text: str, body: Any, wait: float | None, messages: Sequence[Message]
    ) -> LLMError | None:
        """An error that only this kind of server has; None for those that all have."""
        return None

    # What all of them use.

    async def _chat(self, call: ChatCall) -> AsyncGenerator[Delta | Completion, None]:
        """Ask, and translate the answer; may raise foreign errors."""
        for turn in range(MAX_ADAPTATIONS + 1):
            most = self.thinking if call.thinks else None
            reply = PartialReply(self._max_reply_bytes, min(TAIL_S, self.timeouts.idle / 2), most)
            try:
                async with aclosing(self._ask(call, reply)) as texts:
                    async for text in texts:
                        yield Delta(text)
            except HttpRefusal as refused:
                status = refused.response.status_code
                if turn < MAX_ADAPTATIONS and self._adapted(status, refused.raw, refused.body):
                    continue
                raise self._error(refused.response, refused.raw, call.messages) from None
            if not reply.done and not reply.reason:
                raise ModelUnavailable("The model server hung up in the middle of its reply.")
            if call.thinks:
                reply.need_answer()
            yield await self._completion(reply, call)
            return

    def _usage(
        self,
        reply: PartialReply,
        call: ChatCall,
        *,
        prompt: int | None = None,
        written: int | None = None,
        reading_s: float | None = None,
        writing_s: float | None = None,
        reused: int | None = None,
    ) -> TokenUsage:
        """What a call cost; tokens that the server did not count are estimated, times that it did not take are ours."""
        now = monotonic()
        first = reply.first or now
        return TokenUsage(
            count_messages(call.messages) if prompt is None else prompt,
            count_tokens(reply.text) if written is None else written,
            max(0.0, first - reply.began) if reading_s is None else reading_s,
            max(0.0, now - first) if writing_s is None else writing_s,
            clean(reply.model or self.model, 120),
            reused,
            estimated=prompt is None or written is None,
        )

    def _headers(self, messages: Sequence[Message] = ()) -> dict[str, str]:
        """The headers of a call, which has these messages."""
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
                event_hooks=self._hooks(),
            )
            self._clients[loop] = client
        return client

    def _hooks(self) -> dict[str, list[Any]]:
        """What sees each request and each response of a client."""
        return {}

    def _note(self, response: httpx.Response) -> None:
        self._recorded = RECORDED_HEADER in response.headers

    async def _call(self, method: str, address: str, body: dict[str, Any] | None = None) -> Any:
        """A short call that answers with JSON."""
        async with self._client().stream(method, address, json=body, headers=self._headers()) as response:
            self._note(response)
            if response.status_code != 200:
                raise self._error(response, await body_up_to(response, MAX_ERROR_BYTES))
            return json.loads(await complete_body(response, 16 * self._max_reply_bytes))

    def _get(self, client: httpx.Client, address: str) -> Any:
        """A GET of the health check; raises the LLMError tree for an error answer."""
        response = client.get(address, headers=self._headers())
        self._note(response)
        if response.status_code != 200:
            raise self._error(response, response.content)
        return response.json()

    def _error(self, response: httpx.Response, raw: bytes, messages: Sequence[Message] = ()) -> LLMError:
        text = raw[:MAX_ERROR_BYTES].decode("utf-8", "replace")
        body = json_or_none(text)
        milliseconds = retry_after_seconds(response.headers.get("retry-after-ms"))
        wait = retry_after_seconds(response.headers.get("Retry-After")) if milliseconds is None else milliseconds / 1000
        return self._answered(response.status_code, error_text(body) or text, body, wait, messages)

    def _answered(self, status: int, text: str, body: Any, wait: float | None, messages: Sequence[Message]) -> LLMError:
        """An error answer as one of our errors."""
        text = self._safe(text)
        if (special := self._special_error(status, text, body, wait, messages)) is not None:
            return special
        if status in (400, 413, 422, 500) and TOO_LONG.search(text):
            return ContextTooLong(count_messages(messages), self._window)
        if status in (401, 403):
            return ModelRefused(status, f"{self.host} refuses the key (HTTP {status}): {text}")
        if status == 404:
            return ModelMissing(self.model, f"{self.host} says: {text}" if text else f"{self.host} does not know it.")
        if status in BUSY:
            quoted = f" It says: {text}" if text else ""
            return ModelUnavailable(f"The model server {BUSY[status]} (HTTP {status}).{quoted}", wait)
        if status >= 500 and not self.recorded:
            # Waiting helps: a real server restarts what failed. A recording answers 500 when a reply is missing.
            return ModelUnavailable(f"The model server failed (HTTP {status}): {text}", wait)
        return ModelRefused(status, f"The model server refused the call (HTTP {status}): {text}")

    def _ours(self, error: Exception) -> LLMError:
        """A foreign error as one of ours."""
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
            return ModelRefused(0, f"{self.host!r} is not the address of a model server.")
        if isinstance(error, httpx.HTTPError):
            return ModelUnavailable("The connection to the model server broke off.")
        return ModelUnavailable(f"The model server's answer could not be read ({type(error).__name__}).")

    def _safe(self, text: str) -> str:
        """A server's text without the key, complete or in part."""
        key = os.environ.get(self.key_variable, "").strip() if self.key_variable else ""
        if len(key) >= 4:
            text = text.replace(key, "[key]")
        return clean(_QUOTED_KEY.sub("[key]", text[:2_000]))

    def _hint(self, error: LLMError) -> str:
        if isinstance(error, ModelRefused) and error.status in (401, 403) and self.key_variable:
            return f"Set {self.key_variable} in the environment of the server to a key that it takes."
        return "Look at the model server, or name another model."


def content_type(response: httpx.Response) -> str:
    """The kind of body that an answer announces, in small letters and without its parameters."""
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


def with_path(server: str, path: str) -> str:
    """The address with this path when it has none of its own."""
    address = server.rstrip("/")
    return address + path if "//" in address and not urlsplit(address).path.strip("/") else address


async def timed(source: AsyncGenerator[Item, None], limits: Timeouts) -> AsyncGenerator[Item, None]:
    """Pass items on; raises `ModelTimeout` with the stage in which one came too late. Always closes the source."""
    loop = asyncio.get_running_loop()
    end = loop.time() + limits.total
    stage: Stage = "first_token"
    async with aclosing(source) as items:
        while True:
            allowed = limits.first_token if stage == "first_token" else limits.idle
            left = end - loop.time()
            late: tuple[Stage, float] = ("total", limits.total) if left <= allowed else (stage, allowed)
            try:
                async with asyncio.timeout(max(0.0, min(left, allowed))):
                    item = await anext(items)
            except StopAsyncIteration:
                return
            except TimeoutError:
                raise ModelTimeout(*late) from None
            stage = "idle"
            yield item
