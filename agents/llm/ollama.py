"""Ollama, over its own protocol: JSON lines.

Calls go over the HTTP base of all providers: Ollama's Python client has no parameter for `truncate` and `shift`,
without which a server drops old messages silently, and it discards headers (Retry-After). The client looks at what a
server has, where a slow import costs nothing.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from typing import Any
from urllib.parse import urlsplit

import httpx

from agents.llm.answers import TOO_LONG, clean, count, error_text, json_or_none
from agents.llm.base import (
    Completion,
    ContextTooLong,
    Health,
    LLMError,
    Message,
    ModelMissing,
    ModelUnavailable,
    TokenUsage,
)
from agents.llm.bodies import PartialReply, lines
from agents.llm.tokens import count_messages
from agents.llm.web import ChatCall, WebProvider


class OllamaProvider(WebProvider):
    """One model on one Ollama server.

    `window` is sent with every call as `num_ctx`, because the server's own default is small and cuts silently; the
    model stays loaded.
    """

    name = "ollama"
    start_hint = "Start it with `ollama serve`, or set another server address."

    def __init__(self, server: str, model: str = "", **options: Any) -> None:
        # OLLAMA_HOST may be a bare host, with or without a port.
        if server and "//" not in server:
            server = f"http://{server}" if urlsplit(f"//{server}").port else f"http://{server}:11434"
        super().__init__(server, model, **options)
        self._window_known = False

    def _request(self, call: ChatCall) -> tuple[str, dict[str, Any]]:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": call.turns,
            "stream": True,
            # Refuse a conversation longer than the window instead of shortening it.
            "truncate": False,
            "shift": False,
            "options": {"num_ctx": self._window, **call.settings("num_predict")},
            "keep_alive": -1,
        }
        if call.schema is not None:
            body["format"] = call.schema
        if not call.thinks:
            body["think"] = False
        return f"{self.server}/api/chat", body

    async def _texts(self, response: httpx.Response, reply: PartialReply) -> AsyncGenerator[str, None]:
        async with aclosing(lines(response, reply)) as chunks:
            async for line in chunks:
                if reply.done:
                    continue
                chunk = json.loads(line)
                if chunk.get("error"):
                    # The runner crashed or ran out of memory; it usually comes back.
                    raise ModelUnavailable(f"The model server stopped with an error: {self._safe(error_text(chunk))}")
                message = chunk["message"]
                text, thought = message.get("content") or "", message.get("thinking") or ""
                reply.add(text, thought)
                if text or (thought and not reply.parts):
                    yield text
                if chunk.get("done"):
                    reply.done, reply.usage = True, chunk
                    reply.reason, reply.model = chunk.get("done_reason") or "stop", str(chunk.get("model") or "")

    async def _completion(self, reply: PartialReply, call: ChatCall) -> Completion:
        await self._check_window(call.messages, reply.usage)
        return await super()._completion(reply, call)

    def _usage(self, reply: PartialReply, call: ChatCall, **_: Any) -> TokenUsage:
        last = reply.usage
        return super()._usage(
            reply,
            call,
            prompt=count(last.get("prompt_eval_count")),  # older servers leave it out when all was in their cache
            written=count(last.get("eval_count")) or 0,
            reading_s=(count(last.get("prompt_eval_duration")) or 0) / 1e9,
            writing_s=(count(last.get("eval_duration")) or 0) / 1e9,
            reused=count(last.get("prompt_eval_cached_count")),  # since September 2026; prompt_eval_count includes it
        )

    async def _check_window(self, messages: Sequence[Message], last: dict[str, Any]) -> None:
        """Refuse a reply to a conversation that the server has cut: the model did not see its beginning."""
        if not self._window_known:
            # The window a model was loaded with can be smaller than the one asked for (its own maximum).
            with suppress(LLMError, httpx.HTTPError, ValueError, AttributeError, TypeError, KeyError):
                for entry in (await self._call("GET", f"{self.server}/api/ps"))["models"]:
                    if entry.get("model") == self.model and entry.get("context_length"):
                        self._window = min(self._window, int(entry["context_length"]))
                self._window_known = True
        counted, estimate = count(last.get("prompt_eval_count")) or 0, count_messages(messages)
        # The estimate is high by less than half: over that, only dropped messages explain that the server answered.
        # More tokens than the window holds, and no cut: an older server pushed the beginning out to go on writing.
        written = count(last.get("eval_count")) or 0
        shifted = last.get("done_reason") == "stop" and counted + written > self._window + 1
        if estimate > 1.5 * self._window or counted >= self._window or shifted:
            raise ContextTooLong(max(estimate, counted), self._window)

    async def _embed(self, texts: list[str]) -> list[list[float]]:
        body = {"model": self.embed_model, "input": texts, "truncate": True, "keep_alive": -1}
        answer = await self._call("POST", f"{self.server}/api/embed", body)
        return [list(map(float, vector)) for vector in answer["embeddings"]]

    def _look(self, client: httpx.Client) -> Health:
        import ollama  # takes as long to import as everything else here together, and calls do without it

        version = clean(self._get(client, f"{self.server}/api/version").get("version", ""), 60)
        options: dict[str, Any] = {"timeout": client.timeout, "trust_env": False, "follow_redirects": False}
        try:
            with ollama.Client(self.server, headers=self._headers(), **options) as api:
                models = tuple(clean(entry.model, 120) for entry in api.list().models)
                if not _present(self.model, models):
                    problem = f"The model {self.model} is not on the server at {self.host}."
                    hint = f"Run `ollama pull {self.model}`."
                    return Health(False, version, problem, hint, models, None, self.recorded)
                facts = api.show(self.model).modelinfo or {}
        except (ollama.ResponseError, ConnectionError) as error:
            raise ModelUnavailable(f"The model server failed: {self._safe(str(error))}") from None
        windows = [count(value) for name, value in facts.items() if name.endswith(".context_length")]
        return Health(True, version, models=models, context_length=next(iter(windows), None), recorded=self.recorded)

    def _special_error(
        self, status: int, text: str, body: Any, wait: float | None, messages: Sequence[Message]
    ) -> LLMError | None:
        if TOO_LONG.search(text):
            tokens, window = _limits_in(body)
            return ContextTooLong(tokens or count_messages(messages), window or self._window)
        if status == 404:
            return ModelMissing(self.model, f"Run `ollama pull {self.model}`.")
        return None


def _limits_in(body: Any) -> tuple[int | None, int | None]:
    """Tokens of the prompt and of the window, where the runner's own error (JSON inside the server's) has them."""
    outer = body.get("error") if isinstance(body, dict) else None
    inner = json_or_none(outer) if isinstance(outer, str) else None
    details = inner.get("error") if isinstance(inner, dict) else None
    if not isinstance(details, dict):
        return None, None
    return count(details.get("n_prompt_tokens")), count(details.get("n_ctx"))


def _present(model: str, models: Sequence[str]) -> bool:
    return model in models or (":" not in model and f"{model}:latest" in models)
