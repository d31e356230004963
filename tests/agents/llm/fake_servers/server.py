"""A recording with faults, keys and refused parameters, over the protocols of Ollama, OpenAI and Gemini."""

import hmac
import json
import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote

from agents.llm.scripted_server.connection import Answer
from agents.llm.scripted_server.handler import OllamaHandler
from agents.llm.scripted_server.pace import embed
from agents.llm.scripted_server.server import ScriptedOllama
from agents.llm.tokens import count_tokens
from tests.agents.llm.fake_servers.faults import Fault, Faults
from tests.agents.llm.fake_servers.players import FaultyOllamaPlayer, FaultyPlayer, GeminiPlayer, OpenAIPlayer

_GEMINI = re.compile(r"/v1beta/models/([^/:?]+):(\w+)")


class FakeHandler(OllamaHandler):
    """Speaks Ollama's protocol, OpenAI's below /v1 and Gemini's below /v1beta."""

    faults: Faults
    key: str
    refuses: frozenset[str]
    fault: Fault | None = None

    @property
    def route(self) -> str:
        """The address without the model in it and without a query; faults are ordered by it."""
        return _GEMINI.sub(r"/v1beta:\2", super().route)

    @property
    def asked_model(self) -> str:
        """The model named in the address, where the protocol has it there."""
        match = _GEMINI.match(self.path)
        return unquote(match[1]) if match else ""

    @property
    def player(self) -> FaultyPlayer:
        """The protocol that the address belongs to."""
        if self.path.startswith("/v1beta"):
            return GeminiPlayer(self)
        return OpenAIPlayer(self) if self.path.startswith("/v1/") else FaultyOllamaPlayer(self)

    def gets(self) -> dict[str, Callable[[], None]]:
        answers = {**super().gets(), "/v1/models": self._openai_models}
        if self.path.startswith("/v1beta/models/"):
            answers[self.route] = self._gemini_model
        if self.path.startswith("/v1"):
            answers = {route: lambda answer=answer: self._let_in() and answer() for route, answer in answers.items()}
        return answers

    def posts(self) -> dict[str, Answer]:
        return {
            **super().posts(),
            "/v1/chat/completions": self.chat,
            "/v1/embeddings": self._openai_embed,
            "/v1beta:generateContent": self.chat,
            "/v1beta:streamGenerateContent": self.chat,
            "/v1beta:batchEmbedContents": self._gemini_embed,
        }

    def dispatch(self, answer: Answer, body: dict[str, Any]) -> None:
        self.fault = None
        if self.path.startswith("/v1") and not self._let_in(body):
            return
        if answer != self.chat and (fault := self.faults.take(self.route)):
            self.fault = fault
            if self.player.break_before(fault):
                return
        answer(body)

    def chat(self, body: dict[str, Any]) -> None:
        self.player.play(body)

    def send_chunk(self, data: bytes) -> None:
        bytewise = self.fault is not None and self.fault.kind == "half_char"
        for part in [data[at : at + 1] for at in range(len(data))] if bytewise else [data]:
            super().send_chunk(part)

    def _let_in(self, body: dict[str, Any] | None = None) -> bool:
        """Look at the key and at the parameters; answers itself when one of them will not do."""
        player = self.player
        google = isinstance(player, GeminiPlayer)
        shown = self.headers.get("x-goog-api-key" if google else "Authorization")
        wanted = self.key if google else f"Bearer {self.key}"
        if self.key and not hmac.compare_digest((shown or "").encode(), wanted.encode()):
            part = (shown or "nothing").removeprefix("Bearer ")
            if google:
                words = "API key not valid. Please pass a valid API key."
                if not shown:
                    words = "Method doesn't allow unregistered callers (callers without established identity)."
                player.refuse(401, words, reason="invalid_api_key" if shown else "no_api_key")
            else:
                words = f"Incorrect API key provided: {part}." if shown else "You didn't provide an API key."
                player.refuse(401, words, reason="invalid_api_key" if shown else "")
            return False
        for name in self.refuses:
            if body and name in json.dumps({key: value for key, value in body.items() if key != "messages"}):
                why = f"Unsupported parameter: '{name}' is not supported with this model."
                player.refuse(400, why, reason="unsupported_parameter")
                return False
        return True

    def _openai_models(self) -> None:
        model = {"id": self.desk.scenario.model, "object": "model", "owned_by": "recording"}
        self.send_json(200, {"object": "list", "data": [{**model, "max_model_len": self.desk.window}]})

    def _openai_embed(self, body: dict[str, Any]) -> None:
        """The rows come last first, which the protocol allows."""
        given = body.get("input")
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            self.player.refuse(400, "input must be a text or a list of texts")
            return
        rows = [{"object": "embedding", "index": at, "embedding": embed(text)} for at, text in enumerate(texts)]
        tokens = sum(count_tokens(text) for text in texts)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        self.send_json(200, {"object": "list", "data": rows[::-1], "model": body.get("model"), "usage": usage})

    def _gemini_model(self) -> None:
        name = self.path.removeprefix("/v1beta/models/").replace("%3A", ":")
        if name != self.desk.scenario.model:
            self.player.refuse(404, f"models/{name} is not found for API version v1beta")
            return
        facts = {"name": f"models/{name}", "version": "recording", "displayName": self.desk.scenario.title}
        limits = {"inputTokenLimit": self.desk.window, "outputTokenLimit": 8_192}
        self.send_json(200, {**facts, **limits, "supportedGenerationMethods": ["generateContent"]})

    def _gemini_embed(self, body: dict[str, Any]) -> None:
        wanted = body.get("requests")
        try:
            texts = ["\n".join(part["text"] for part in each["content"]["parts"]) for each in wanted or []]
        except (TypeError, KeyError):
            self.player.refuse(400, "Invalid JSON payload received.")
            return
        self.send_json(200, {"embeddings": [{"values": embed(text)} for text in texts]})


class FakeModelServer(ScriptedOllama):
    """A recording whose `faults` takes orders.

    With a `key` the OpenAI- and Gemini-shaped routes serve only clients that send it, and refuse the parameters in
    `refuses`, as many compatible servers do.
    """

    def __init__(self, scenario: Any, *, key: str = "", refuses: Iterable[str] = (), **options: Any) -> None:
        super().__init__(scenario, **options)
        self.faults = Faults()
        own = {"faults": self.faults, "key": key, "refuses": frozenset(refuses)}
        self.handler = type("OwnFakeHandler", (FakeHandler,), own)

    def restart(self) -> None:
        """Stop and listen again on the same port."""
        self.stop()
        self.start()
