"""A kind of model server that nothing else knows: it answers `POST /ask` with one line of JSON."""

import json
from collections.abc import AsyncGenerator
from typing import Any

import httpx

from agents.llm.base import Health
from agents.llm.bodies import PartialReply, complete_body
from agents.llm.web import ChatCall, WebProvider


class ToyProvider(WebProvider):
    """A provider in one file, as a contributor would write it."""

    name = "toy"

    def _request(self, call: ChatCall) -> tuple[str, dict[str, Any]]:
        return f"{self.server}/ask", {"model": self.model, "text": call.messages[-1]["content"]}

    async def _texts(self, response: httpx.Response, reply: PartialReply) -> AsyncGenerator[str, None]:
        reply.add(json.loads(await complete_body(response, reply.limit))["text"])
        reply.done = True
        yield reply.text

    async def _embed(self, texts: list[str]) -> list[list[float]]:
        return [[float(len(text))] for text in texts]

    def _look(self, client: httpx.Client) -> Health:
        return Health(True, self._get(client, f"{self.server}/ask")["text"], models=(self.model,))
