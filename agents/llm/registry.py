"""Providers by short name, imported only when somebody asks for them."""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

from agents.llm.base import LLMError, Provider

PROVIDERS: dict[str, str] = {
    "gemini": "agents.llm.gemini.GeminiProvider",
    "ollama": "agents.llm.ollama.OllamaProvider",
    "openai": "agents.llm.openai.OpenAIProvider",
    "scripted": "agents.llm.scripted.ScriptedProvider",
}


class UnknownProvider(LLMError):
    """No provider goes by that name."""


def known_providers() -> list[str]:
    """The names `make_provider` understands, sorted."""
    return sorted(PROVIDERS)


def make_provider(name: str, **options: Any) -> Provider:
    """Build a provider from its short name and its own options (server address, model, window, timeouts)."""
    path = PROVIDERS.get(name)
    if path is None:
        raise UnknownProvider(f"There is no model provider called {name!r}. Known: {', '.join(known_providers())}.")
    module, _, attribute = path.rpartition(".")
    return cast(Provider, getattr(import_module(module), attribute)(**options))
