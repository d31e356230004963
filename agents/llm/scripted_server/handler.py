"""Ollama's protocol, as far as its clients need it to be served a recording."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from agents.llm.scripted_server.connection import Answer, Connection
from agents.llm.scripted_server.pace import EMBED_DIMS, embed
from agents.llm.scripted_server.player import ChatRequest, Figures, Player, as_json, dicts_in, positive
from agents.llm.tokens import count_tokens

VERSION = "0.12.6"
_DEFAULT_WINDOW = 4096  # what a real Ollama takes when the client asks for nothing
_DETAILS = {
    "family": "recording",
    "families": ["recording"],
    "format": "recording",
    "parameter_size": "",
    "quantization_level": "",
}


class OllamaPlayer(Player):
    """/api/chat: JSON lines."""

    def read(self, body: dict[str, Any]) -> ChatRequest:
        """See `Player.read`."""
        given = body.get("options")
        options = given if isinstance(given, dict) else {}
        return ChatRequest(
            str(body.get("model")),
            dicts_in(body.get("messages")),
            positive(options.get("num_predict"), 0),
            bool(body.get("stream", True)),
            positive(options.get("num_ctx"), _DEFAULT_WINDOW),
            body.get("truncate") is not False,
        )

    def send_piece(self, text: str) -> None:
        """See `Player.send_piece`."""
        self.send_line({**self._head(text), "done": False})

    def send_end(self, figures: Figures) -> None:
        """See `Player.send_end`."""
        self.send_line(self._last("", figures))

    def send_complete(self, text: str, figures: Figures) -> None:
        """See `Player.send_complete`."""
        self.http.send_json(200, self._last(text, figures))

    def refuse(self, status: int, why: str, headers: dict[str, str] | None = None, *, reason: str = "") -> None:
        """See `Player.refuse`."""
        self.http.send_json(status, {"error": why}, headers)

    def send_line(self, data: dict[str, Any]) -> None:
        """One JSON line of the stream."""
        self.http.send_chunk(as_json(data) + b"\n")

    def _head(self, text: str) -> dict[str, Any]:
        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        return {"model": self.model, "created_at": now, "message": {"role": "assistant", "content": text}}

    def _last(self, text: str, figures: Figures) -> dict[str, Any]:
        return {
            **self._head(text),
            "done": True,
            "done_reason": "length" if figures.cut else "stop",
            "total_duration": _ns(figures.total_s),
            "load_duration": 0,
            "prompt_eval_count": figures.prompt,
            "prompt_eval_duration": _ns(figures.reading_s),
            "eval_count": figures.written,
            "eval_duration": _ns(figures.writing_s),
        }


class OllamaHandler(Connection):
    """Answers what an Ollama client asks."""

    def gets(self) -> dict[str, Callable[[], None]]:
        """See `Connection.gets`."""
        return {
            "/": lambda: self.send_body(200, b"Ollama is running", "text/plain; charset=utf-8"),
            "/api/version": self._version,
            "/api/tags": lambda: self.send_json(200, {"models": [self._model()]}),
            "/api/ps": self._ps,
        }

    def posts(self) -> dict[str, Answer]:
        """See `Connection.posts`."""
        return {"/api/chat": self.chat, "/api/embed": self._embed, "/api/show": self._show}

    def chat(self, body: dict[str, Any]) -> None:
        """Play a reply."""
        OllamaPlayer(self).play(body)

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


def _ns(seconds: float) -> int:
    return max(1, int(seconds * 1e9))
