"""Ollama's protocol, as far as its clients need it to be served a recording."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agents.llm.scripted_server.connection import Answer, Connection
from agents.llm.scripted_server.pace import EMBED_DIMS, embed
from agents.llm.scripted_server.player import Player
from agents.llm.tokens import count_tokens

VERSION = "0.12.6"
_DETAILS = {
    "family": "recording",
    "families": ["recording"],
    "format": "recording",
    "parameter_size": "",
    "quantization_level": "",
}


class OllamaHandler(Connection):
    """Answers what an Ollama client asks."""

    def gets(self) -> dict[str, Callable[[], None]]:
        return {
            "/": lambda: self.send_body(200, b"Ollama is running", "text/plain; charset=utf-8"),
            "/api/version": self._version,
            "/api/tags": lambda: self.send_json(200, {"models": [self._model()]}),
            "/api/ps": self._ps,
        }

    def posts(self) -> dict[str, Answer]:
        return {"/api/chat": self.chat, "/api/embed": self._embed, "/api/show": self._show}

    def chat(self, body: dict[str, Any]) -> None:
        """Play a reply."""
        Player(self).play(body)

    def _version(self) -> None:
        scenario = self.desk.scenario
        self.send_json(
            200,
            {
                "version": f"{VERSION}-recording",
                "recorded": True,
                "scenario": scenario.name,
                "title": scenario.title,
            },
        )

    def _model(self) -> dict[str, Any]:
        model = self.desk.scenario.model
        return {"name": model, "model": model, "size": 0, "digest": "recording", "details": _DETAILS}

    def _ps(self) -> None:
        window = self.desk.loaded_window
        models = [] if window is None else [{**self._model(), "size_vram": 0, "context_length": window}]
        self.send_json(200, {"models": models})

    def _show(self, body: dict[str, Any]) -> None:
        if (body.get("model") or body.get("name")) != self.desk.scenario.model:
            self.send_json(404, {"error": f"model '{body.get('model')}' not found"})
            return
        info = {"general.architecture": "recording", "recording.context_length": self.desk.window}
        self.send_json(200, {"details": _DETAILS, "model_info": info, "capabilities": ["completion"]})

    def _embed(self, body: dict[str, Any]) -> None:
        texts = body.get("input")
        texts = [texts] if isinstance(texts, str) else texts
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            self.send_json(400, {"error": "invalid input type"})
            return
        answer = {"model": body.get("model"), "embeddings": [embed(text) for text in texts], "dims": EMBED_DIMS}
        self.send_json(200, {**answer, "prompt_eval_count": sum(map(count_tokens, texts))})
