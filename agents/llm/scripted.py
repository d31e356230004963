"""A recording played over Ollama's protocol, and always labelled as one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agents.llm.base import Health
from agents.llm.ollama import OllamaProvider


class ScriptedProvider(OllamaProvider):
    """The Ollama provider connected to a scripted server; recorded from the start, not only from the first answer."""

    name = "scripted"

    def __init__(self, server: str, model: str = "", **options: Any) -> None:
        super().__init__(server, model, **{**options, "recorded": True})

    def health(self) -> Health:
        """As for Ollama, but a server that is not a recording is a problem: its replies would be mislabelled."""
        health = super().health()
        if health.ok and not health.recorded:
            problem = f"The server at {self.server} is a real model server, not a recording."
            return replace(health, ok=False, problem=problem, hint="Use the provider `ollama` for it.")
        return health
