"""Which models do the work of a project: its own choice, else that of the persona, else that of the installation."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings

from agents.firewall.trifecta import is_outside
from agents.llm.base import Provider, Timeouts
from agents.llm.catalog import Catalog, Server, split_models
from agents.llm.chain import ModelChain
from agents.llm.registry import make_provider, model_servers
from agents.personas import PERSONAS
from projects.models.project import RECORDING

_catalogs: dict[tuple[Any, ...], Catalog] = {}


def catalog() -> Catalog:
    """The choice of this installation, read again when its file changes. Raises CatalogError."""
    path = Path(settings.MODELS_FILE)
    try:
        stamp = path.stat().st_mtime_ns
    except OSError:
        stamp = 0
    urls = settings.MODEL_URLS
    key = (str(path), stamp, *urls.items())
    if key not in _catalogs:
        known = [Server(kind.name, kind.name, urls[kind.name], kind.key_variable) for kind in model_servers()]
        found = Catalog.load(path, known)
        _catalogs.clear()
        _catalogs[key] = found
    return _catalogs[key]


def specs_for(own: str, persona: str) -> tuple[str, ...]:
    """The models of a persona, best first; `own` is what the project itself names ("" for nothing)."""
    named = split_models(own) or split_models(settings.MODEL_OF.get(persona, ""))
    return named or catalog().choice(persona).models or split_models(settings.MODEL)


def provider_of(own: str, persona: str) -> Provider:
    """The provider of a persona: one model, or several of which the next stands in for the one before.

    Raises agents.llm.base.LLMError for a choice that cannot be read or names no model.
    """
    choice, book = catalog().choice(persona), catalog()
    specs = specs_for(own, persona)
    members, outside = [], []
    for spec in specs:
        server, model = book.resolve(spec)
        members.append(_usual(server, model, book, spec))
        outside.append(is_outside(server.url))
    is_usual = choice.temperature is None and choice.max_tokens is None and choice.protocol == "fences"
    if len(members) == 1 and is_usual:
        return members[0]
    return ModelChain(
        tuple(members),
        tuple(outside),
        PERSONAS[persona].temperature if persona in PERSONAS else 0.2,
        choice.temperature,
        choice.max_tokens,
        choice.protocol,
    )


def providers_in_force(own: str = "") -> list[tuple[str, Server, Provider]]:
    """Every model that may be asked, once, with its server; for a look at whether they are there."""
    book = catalog()
    specs = dict.fromkeys(spec for persona in PERSONAS for spec in specs_for(own, persona))
    found = []
    for spec in specs:
        if not spec.startswith(RECORDING):
            server, model = book.resolve(spec)
            found.append((spec, server, _usual(server, model, book, spec)))
    return found


def outside_hosts(own: str) -> list[str]:
    """The machines other than this one that a project's conversations may go to, as a person would name them."""
    return sorted({server.url for _, server, _ in providers_in_force(own) if is_outside(server.url)})


def _usual(server: Server, model: str, book: Catalog, spec: str) -> Provider:
    window, thinking = book.windows.get(spec, settings.MODEL_WINDOW), book.thinking.get(spec)
    return _made(server, model, window, thinking, Timeouts(**settings.MODEL_TIMEOUTS))


@cache
def _made(server: Server, model: str, window: int, thinking: int | None, timeouts: Timeouts) -> Provider:
    """One provider for each model of this process: its connections are used again, and what it learnt is kept."""
    return make_provider(
        server.kind,
        server=server.url,
        model=model,
        window=window,
        thinking=thinking,
        timeouts=timeouts,
        key_variable=server.key_variable,
    )
