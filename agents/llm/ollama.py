"""Ollama, over its own client and its own protocol."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, suppress
from typing import Any
from weakref import WeakKeyDictionary

import httpx
import ollama
import pydantic

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
    Usage,
)
from agents.llm.deadlines import timed
from agents.llm.tokens import count_messages
from agents.llm.transport import END_S, RECORDED_HEADER, OllamaTransport, clean
from agents.llm.web import said_in

DEFAULT_SERVER = "http://127.0.0.1:11434"
DEFAULT_MODEL = "qwen2.5-coder:7b"
_TOO_LONG = re.compile(r"context (?:length|window|size)|input (?:length|is too long)", re.I)


class OllamaProvider:
    """One model on one Ollama server.

    `window` is sent with every call as `num_ctx`, because the server's own default is small and cuts in silence; the
    model stays loaded. Safe to use from several event loops: each gets connections of its own.
    """

    name = "ollama"

    def __init__(
        self,
        server: str = DEFAULT_SERVER,
        model: str = DEFAULT_MODEL,
        *,
        window: int = DEFAULT_WINDOW,
        embed_model: str | None = None,
        timeouts: Timeouts | None = None,
        max_reply_bytes: int = MAX_REPLY_BYTES,
        recorded: bool = False,
    ) -> None:
        self.server = server.rstrip("/")
        self.model = model
        self.embed_model = embed_model or model
        self.timeouts = timeouts or Timeouts()
        self._window, self._max_reply_bytes = window, max_reply_bytes
        self._recorded, self._window_seen = recorded, False
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, ollama.AsyncClient] = WeakKeyDictionary()

    @property
    def window(self) -> int:
        """Tokens the loaded model really holds: what we ask for, or less when the server says so."""
        return self._window

    @property
    def recorded(self) -> bool:
        """True when the server last answered as a recording."""
        return self._recorded

    def _mark_recorded(self, recorded: bool) -> None:
        self._recorded = recorded

    def _client(self) -> ollama.AsyncClient:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            # trust_env and redirects are off so that no proxy setting or answer can send a prompt to another machine.
            client = ollama.AsyncClient(
                self.server,
                timeout=httpx.Timeout(
                    connect=self.timeouts.connect, read=self.timeouts.total + 1, write=30, pool=self.timeouts.total
                ),
                transport=OllamaTransport(self._mark_recorded),
                follow_redirects=False,
                trust_env=False,
            )
            self._clients[loop] = client
        return client

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()  # type: ignore[no-untyped-call]

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
        options: dict[str, Any] = {"num_ctx": self._window, "temperature": temperature}
        if seed is not None:
            options["seed"] = seed
        if max_tokens is not None:
            options["num_predict"] = max_tokens
        async with aclosing(timed(self._chat(messages, schema, options), self.timeouts)) as items:  # type: ignore[type-var]
            async for item in items:
                yield item

    async def _chat(
        self, messages: Sequence[Message], schema: dict[str, Any] | None, options: dict[str, Any]
    ) -> AsyncIterator[Delta | Completion]:
        parts: list[str] = []
        size = 0
        try:
            chunks = await self._client().chat(
                self.model, list(messages), stream=True, format=schema, options=options, keep_alive=-1
            )
            async with aclosing(chunks) as stream:  # type: ignore[type-var]
                async for chunk in stream:
                    text, thought = chunk.message.content or "", chunk.message.thinking or ""
                    size += len(text.encode("utf-8", "replace")) + len(thought)
                    if size > self._max_reply_bytes:
                        raise ReplyTooLong(self._max_reply_bytes)
                    if text:
                        parts.append(text)
                    if text or (thought and not parts):
                        # An empty piece says that the model is at work: it thinks where nobody reads it.
                        yield Delta(text)
                    if chunk.done:
                        with suppress(TimeoutError, ollama.ResponseError, httpx.HTTPError, ValueError):
                            # Only an answer that was read to its end leaves a connection that can be used again.
                            async with asyncio.timeout(END_S):
                                await anext(stream, None)
                        await self._check_window(messages, chunk)
                        usage = _usage(chunk, self.model, messages)
                        yield Completion("".join(parts), usage, chunk.done_reason or "stop", self.recorded)
                        return
        except Exception as error:  # the border: every foreign error becomes one of ours
            raise self._ours(error, messages) from error
        raise ModelUnavailable("The model server hung up in the middle of its reply.")

    async def _check_window(self, messages: Sequence[Message], chunk: ollama.ChatResponse) -> None:
        """Refuse a reply to a conversation that the server has cut: the model did not see its beginning."""
        if not self._window_seen:
            # The window a model was loaded with can be smaller than the one asked for (its own maximum).
            with suppress(ollama.ResponseError, ConnectionError, httpx.HTTPError, ValueError):
                running = await self._client().ps()
                for entry in running.models:
                    if entry.model == self.model and entry.context_length:
                        self._window = min(self._window, int(entry.context_length))
                self._window_seen = True
        counted, estimate = chunk.prompt_eval_count, count_messages(messages)
        # The estimate is high by less than half: over that, only dropped messages explain that the server answered.
        # More tokens than the window holds, and no cut: an older server pushed the beginning out to go on writing.
        shifted = chunk.done_reason == "stop" and (counted or 0) + (chunk.eval_count or 0) > self._window + 1
        if estimate > 1.5 * self._window or (counted or 0) >= self._window or shifted:
            raise ContextTooLong(max(estimate, counted or 0), self._window)

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """See `Provider.embed`."""
        if not texts:
            return []
        try:
            async with asyncio.timeout(self.timeouts.first_token):
                answer = await self._client().embed(self.embed_model, list(texts), truncate=True, keep_alive=-1)
        except TimeoutError:
            raise ModelTimeout("first_token", self.timeouts.first_token) from None
        except Exception as error:  # the border, as above
            raise self._ours(error, ()) from error
        vectors = [list(map(float, vector)) for vector in answer.embeddings]
        if len(vectors) != len(texts):
            raise ModelRefused(200, f"The model server gave {len(vectors)} vectors for {len(texts)} texts.")
        return vectors

    def health(self) -> Health:
        """See `Provider.health`."""
        start = "Start it with `ollama serve`, or set another server address."
        try:
            with httpx.Client(base_url=self.server, timeout=self.timeouts.connect, trust_env=False) as client:
                answer = client.get("/api/version").raise_for_status()
                version = clean(answer.json().get("version", ""), 60)
                recorded = RECORDED_HEADER in answer.headers
                tags = client.get("/api/tags").raise_for_status().json().get("models") or []
                models = tuple(clean(entry["name"], 120) for entry in tags)
                have = _present(self.model, models)
                context = _context_length(client, self.model) if have else None
        except httpx.TransportError:
            return Health(False, problem=f"No model server answers at {self.server}.", way_out=start)
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, AttributeError, TypeError, KeyError):
            problem = f"What answers at {self.server} does not speak Ollama's protocol."
            return Health(False, problem=problem, way_out=start)
        self._recorded = recorded
        if not have:
            problem = f"The model {self.model} is not on the server at {self.server}."
            return Health(False, version, problem, f"Run `ollama pull {self.model}`.", models, None, recorded)
        return Health(True, version, models=models, context_length=context, recorded=recorded)

    def _ours(self, error: Exception, messages: Sequence[Message]) -> LLMError:
        """Say in our words what went wrong."""
        if isinstance(error, LLMError):
            return error
        if isinstance(error, ollama.ResponseError):
            return self._answered(error, messages)
        if isinstance(error, httpx.ConnectTimeout):
            return ModelTimeout("connect", self.timeouts.connect)
        if isinstance(error, httpx.ReadTimeout):
            return ModelTimeout("idle", self.timeouts.idle)
        if isinstance(error, ConnectionError | httpx.ConnectError):
            return ModelUnavailable(f"No model server answers at {self.server}.")
        if isinstance(error, json.JSONDecodeError | pydantic.ValidationError | UnicodeError | httpx.DecodingError):
            return ModelUnavailable("The model server sent something that is not its protocol.")
        if isinstance(error, httpx.HTTPError):
            return ModelUnavailable("The connection to the model server broke off.")
        return ModelUnavailable(f"The model server's answer could not be read ({type(error).__name__}).")

    def _answered(self, error: ollama.ResponseError, messages: Sequence[Message]) -> LLMError:
        inner = _inner(error.error)
        said = clean(said_in(inner) or error.error)
        if _TOO_LONG.search(said):
            told = [inner["error"].get(name) for name in ("n_prompt_tokens", "n_ctx")] if inner else [None, None]
            tokens, window = (each if isinstance(each, int) and each > 0 else None for each in told)
            return ContextTooLong(tokens or count_messages(messages), window or self._window)
        if error.status_code == 404:
            return ModelMissing(self.model, f"Run `ollama pull {self.model}`.")
        if error.status_code == -1:
            # An error line in mid-stream: the runner crashed or ran out of memory; it usually comes back.
            return ModelUnavailable(f"The model server stopped with an error: {said}")
        if error.status_code in (500, 502, 504) and not self.recorded:
            # A real server says so when its runner died, and starts another; a recording when a reply is missing.
            return ModelUnavailable(f"The model server failed (HTTP {error.status_code}): {said}")
        return ModelRefused(error.status_code, f"The model server refused the call (HTTP {error.status_code}): {said}")


def _inner(error: str) -> dict[str, Any]:
    """The runner's own error, which newer servers hand on as JSON inside of theirs; {} when there is none."""
    try:
        found = json.loads(error) if error.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("error"), dict) else {}


def _usage(chunk: ollama.ChatResponse, model: str, messages: Sequence[Message]) -> Usage:
    # Older servers leave the count out when all of the prompt was in their cache.
    counted = chunk.prompt_eval_count
    return Usage(
        prompt_tokens=count_messages(messages) if counted is None else counted,
        estimated=counted is None,
        completion_tokens=chunk.eval_count or 0,
        prompt_eval_s=(chunk.prompt_eval_duration or 0) / 1e9,
        eval_s=(chunk.eval_duration or 0) / 1e9,
        model=clean(chunk.model or model, 120),
    )


def _present(model: str, models: Sequence[str]) -> bool:
    return model in models or (":" not in model and f"{model}:latest" in models)


def _context_length(client: httpx.Client, model: str) -> int | None:
    """The window the model was trained with, in tokens, when the server tells."""
    info = client.post("/api/show", json={"model": model}).raise_for_status().json().get("model_info") or {}
    lengths = [value for key, value in info.items() if key.endswith(".context_length") and isinstance(value, int)]
    return lengths[0] if lengths else None
