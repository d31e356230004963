"""A kind of model server that nothing else knows: it answers `POST /ask` with one line of JSON."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any

import httpx

from agents.llm.base import Completion, Delta, Health, Message, TokenUsage
from agents.llm.web import WebProvider


class ToyProvider(WebProvider):
    """A provider in one file, as a contributor would write it."""

    name = "toy"

    async def _chat(
        self,
        messages: Sequence[Message],
        schema: dict[str, Any] | None,
        temperature: float,
        seed: int | None,
        max_tokens: int | None,
    ) -> AsyncGenerator[Delta | Completion, None]:
        answer = await self._call("POST", f"{self.server}/ask", {"model": self.model, "text": messages[-1]["content"]})
        yield Delta(answer["text"])
        yield Completion(answer["text"], TokenUsage(1, 1, 0.0, 0.0, self.model), "stop")

    async def _embed(self, texts: list[str]) -> list[list[float]]:
        return [[float(len(text))] for text in texts]

    def _look(self, client: httpx.Client) -> Health:
        return Health(True, self._get(client, f"{self.server}/ask")["text"], models=(self.model,))
