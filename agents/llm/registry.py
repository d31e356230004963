"""The kinds of model server: a new one is a file with its provider and an entry here.

Everything that lists providers reads this table: settings, the choice of models, the doctor and the documentation. It
holds what they need without importing a provider, because the HTTP libraries are slow to import.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

from agents.llm.base import LLMError, Provider


@dataclass(frozen=True)
class ProviderKind:
    """A kind of model server: its short name, its class, and what is known of it before it is asked.

    `url` is the default address ("" when it must be given), `url_fallback` an environment variable of the server's own
    that names its address. `takes_key` says that an API key is usual.
    """

    name: str
    path: str
    label: str
    url: str = ""
    url_fallback: str = ""
    takes_key: bool = False

    @property
    def url_variable(self) -> str:
        """The environment variable with the address."""
        return f"AISWE_{self.name.upper()}_URL"

    @property
    def key_variable(self) -> str:
        """The environment variable with the API key; empty when none is usual."""
        return f"AISWE_{self.name.upper()}_API_KEY" if self.takes_key else ""

    def url_in(self, environment: Mapping[str, str]) -> str:
        """The address that an environment configures."""
        return environment.get(self.url_variable) or environment.get(self.url_fallback) or self.url

    def load(self) -> type[Any]:
        """Import the provider's class."""
        module, _, attribute = self.path.rpartition(".")
        return cast(type[Any], getattr(import_module(module), attribute))


# The first one serves models that are named without a server.
_KINDS = (
    ProviderKind(
        "ollama", "agents.llm.ollama.OllamaProvider", "Ollama", "http://127.0.0.1:11434", url_fallback="OLLAMA_HOST"
    ),
    ProviderKind(
        "openai",
        "agents.llm.openai.OpenAIProvider",
        "an OpenAI-compatible server",
        "https://api.openai.com/v1",
        takes_key=True,
    ),
    ProviderKind(
        "gemini",
        "agents.llm.gemini.GeminiProvider",
        "Gemini",
        "https://generativelanguage.googleapis.com/v1beta",
        takes_key=True,
    ),
    ProviderKind("scripted", "agents.llm.scripted.ScriptedProvider", "a recording"),
)
PROVIDERS: dict[str, ProviderKind] = {kind.name: kind for kind in _KINDS}
DEFAULT_PROVIDER = _KINDS[0].name


class UnknownProvider(LLMError):
    """No provider has that name."""


def model_servers() -> list[ProviderKind]:
    """The kinds with an address of their own, which a choice of models may name."""
    return [kind for kind in PROVIDERS.values() if kind.url]


def make_provider(name: str, **options: Any) -> Provider:
    """Build a provider from its short name and its options (server address, model, window, timeouts)."""
    kind = PROVIDERS.get(name)
    if kind is None:
        raise UnknownProvider(f"There is no model provider called {name!r}. Known: {', '.join(sorted(PROVIDERS))}.")
    if kind.url:
        options = {"server": kind.url, "key_variable": kind.key_variable, **options}
    return cast(Provider, kind.load()(**options))
