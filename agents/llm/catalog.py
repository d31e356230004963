"""Which models do the work: a file names them for each persona, in order of preference.

[servers.studio]                 # a server of your own, besides those of agents.llm.registry
kind = "…"                          # a kind of agents.llm.registry
url = "http://127.0.0.1:1234/v1"
key = "AISWE_STUDIO_API_KEY"         # the name of an environment variable
parallel = 4                         # conversations it takes at a time

[personas.coder]                 # planner, tester, coder, reviewer; default for all that are not named
models = ["ollama:qwen2.5-coder:7b", "studio:qwen3-coder-30b"]
temperature = 0.2
max_tokens = 8000
protocol = "fences"              # or tags, or json

[windows]
"studio:qwen3-coder-30b" = 65536

[thinking]                       # tokens of thoughts before an answer, 0 for none
"ollama:qwen3:8b" = 2048
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agents.llm.base import LLMError
from agents.llm.registry import DEFAULT_PROVIDER, model_servers
from agents.personas import PERSONAS
from agents.replies.types import REPLY_FORMATS, ReplyFormat

MOST_MODELS = 8
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,30}")
# Whatever ends so is known to redaction as a secret.
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{2,60}_(?:API_KEY|TOKEN|SECRET)")


class CatalogError(LLMError):
    """The choice of models is not as it should be; the text names the place and the way out."""


@dataclass(frozen=True)
class Server:
    """Where models are: a kind of protocol, an address, and the variable that holds the key ("" for none).

    `parallel` conversations are held there at a time, None for as many as the installation says.
    """

    name: str
    kind: str
    url: str
    key_variable: str = ""
    parallel: int | None = None


@dataclass(frozen=True)
class Choice:
    """What one persona works with; None keeps the persona's own value."""

    models: tuple[str, ...] = ()
    temperature: float | None = None
    max_tokens: int | None = None
    protocol: ReplyFormat = "fences"


@dataclass(frozen=True)
class Catalog:
    """The whole choice."""

    servers: Mapping[str, Server] = field(default_factory=dict)
    choices: Mapping[str, Choice] = field(default_factory=dict)
    windows: Mapping[str, int] = field(default_factory=dict)
    thinking: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path, servers: Sequence[Server] = ()) -> Catalog:
        """Read a file; one that is not there chooses nothing. Raises CatalogError naming what is wrong with it."""
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return cls(servers={server.name: server for server in servers})
        except (OSError, UnicodeDecodeError) as error:
            raise CatalogError(f"{path} cannot be read: {type(error).__name__}.") from None
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise CatalogError(f"{path} is not valid TOML: {error}.") from None
        return cls.read(data, str(path), servers)

    @classmethod
    def read(cls, data: Mapping[str, Any], where: str, servers: Sequence[Server] = ()) -> Catalog:
        """From the data of such a file; `where` is its name in errors."""
        _only(data, ("servers", "personas", "windows", "thinking"), where)
        found = {server.name: server for server in servers}
        for name, entry in _table(data, "servers", where).items():
            found[name] = _server(name, entry, f"{where}: servers.{name}", found)
        choices = {
            name: _choice(name, entry, f"{where}: personas.{name}")
            for name, entry in _table(data, "personas", where).items()
        }
        catalog = cls(found, choices, _tokens(data, "windows", where, 512), _tokens(data, "thinking", where, 0))
        for name, choice in choices.items():
            for spec in choice.models:
                catalog.resolve(spec, f"{where}: personas.{name}")
        return catalog

    def choice(self, persona: str) -> Choice:
        """What a persona works with: its own entry over the default one, value by value."""
        default, own = self.choices.get("default", Choice()), self.choices.get(persona)
        if own is None:
            return default
        return replace(
            own,
            models=own.models or default.models,
            temperature=default.temperature if own.temperature is None else own.temperature,
            max_tokens=own.max_tokens or default.max_tokens,
            protocol=own.protocol if own.protocol != "fences" else default.protocol,
        )

    def resolve(self, spec: str, where: str = "the model") -> tuple[Server, str]:
        """The server and the model's name of "server:name"; a name alone is a model of the default server."""
        name, _, model = spec.strip().partition(":")
        if name not in self.servers or not model.strip():
            name, model = DEFAULT_PROVIDER, spec.strip()
        if not model or not model.isprintable() or len(model) > 200 or name not in self.servers:
            raise CatalogError(
                f"{where}: {spec[:80]!r} names no model; write server:model, as in {DEFAULT_PROVIDER}:qwen2.5-coder:7b."
            )
        return self.servers[name], model.strip()


def split_models(text: str) -> tuple[str, ...]:
    """The models of a list in one line, "server:a, server:b", in their order. Raises CatalogError for too many."""
    found = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if len(found) > MOST_MODELS:
        raise CatalogError(f"{len(found)} models are named and {MOST_MODELS} are the most: leave some out.")
    return found


def _server(name: str, entry: Any, where: str, known: Mapping[str, Server]) -> Server:
    if not _NAME.fullmatch(name) or name == "scripted":
        raise CatalogError(f"{where}: a server's name is small letters, digits and dashes, and not `scripted`.")
    if not isinstance(entry, dict):
        raise CatalogError(f"{where} must be a table with kind, url and key.")
    _only(entry, ("kind", "url", "key", "parallel"), where)
    before = known.get(name)
    kind, url = entry.get("kind", before.kind if before else None), entry.get("url", before.url if before else None)
    kinds = [each.name for each in model_servers()]
    if kind not in kinds:
        raise CatalogError(f"{where}: kind must be one of {', '.join(kinds)}.")
    if not isinstance(url, str) or not re.fullmatch(r"https?://[^\s@]{1,300}", url):
        raise CatalogError(
            f"{where}: url must be an address like http://127.0.0.1:1234/v1, without a name or password."
        )
    key = entry.get("key", before.key_variable if before else "")
    if not isinstance(key, str) or (key and not _VARIABLE.fullmatch(key)):
        # The value is not quoted: it may be the key itself.
        raise CatalogError(
            f"{where}: key must be the name of an environment variable that ends with _API_KEY, _TOKEN or _SECRET; "
            "the key itself does not belong in a file."
        )
    parallel = entry.get("parallel", before.parallel if before else None)
    if parallel is not None and not _is_within(parallel, 1, 64):
        raise CatalogError(f"{where}: parallel must be a number from 1 to 64.")
    return Server(name, kind, url, key, parallel)


def _choice(name: str, entry: Any, where: str) -> Choice:
    if name != "default" and name not in PERSONAS:
        raise CatalogError(f"{where}: there is no such persona; known: default, {', '.join(PERSONAS)}.")
    if not isinstance(entry, dict):
        raise CatalogError(f"{where} must be a table.")
    _only(entry, ("models", "temperature", "max_tokens", "protocol"), where)
    models = entry.get("models", [])
    models = [models] if isinstance(models, str) else models
    if not isinstance(models, list) or len(models) > MOST_MODELS or not all(isinstance(each, str) for each in models):
        raise CatalogError(f"{where}: models must be a list of at most {MOST_MODELS} texts.")
    temperature, most = entry.get("temperature"), entry.get("max_tokens")
    if temperature is not None and not _is_within(temperature, 0, 2, whole=False):
        raise CatalogError(f"{where}: temperature must be a number from 0 to 2.")
    if most is not None and not _is_within(most, 64, 1_000_000):
        raise CatalogError(f"{where}: max_tokens must be a number from 64 on.")
    protocol = entry.get("protocol", "fences")
    if protocol not in REPLY_FORMATS:
        raise CatalogError(f"{where}: protocol must be one of {', '.join(REPLY_FORMATS)}.")
    return Choice(tuple(models), None if temperature is None else float(temperature), most, protocol)


def _tokens(data: Mapping[str, Any], table: str, where: str, low: int) -> dict[str, int]:
    """Numbers of tokens by model."""
    found = dict(_table(data, table, where))
    for name, tokens in found.items():
        if not _is_within(tokens, low, 10_000_000):
            raise CatalogError(f"{where}: {table}.{name} must be a number of tokens from {low} on.")
    return found


def _is_within(value: Any, low: int, high: int, *, whole: bool = True) -> bool:
    number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    return number and low <= value <= high


def _table(data: Mapping[str, Any], name: str, where: str) -> Mapping[str, Any]:
    found = data.get(name, {})
    if not isinstance(found, dict):
        raise CatalogError(f"{where}: {name} must be a table.")
    return found


def _only(data: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    odd = [key for key in data if key not in known]
    if odd:
        raise CatalogError(f"{where}: {odd[0][:60]!r} is not known here; known: {', '.join(known)}.")
