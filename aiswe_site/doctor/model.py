"""The model server, seen from this process."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from django.conf import settings

from aiswe_site.doctor.result import Verdict

if TYPE_CHECKING:
    from agents.llm.base import Health


@cache
def _health() -> Health:
    from agents.llm.registry import make_provider

    return make_provider(
        "ollama", server=settings.OLLAMA_URL, model=settings.MODEL, window=settings.MODEL_WINDOW
    ).health()


def forget() -> None:
    """Ask the server again next time."""
    _health.cache_clear()


def server() -> Verdict:
    """It answers and has the model; a recording needs no server, but must be there."""
    if (scenario := _scenario()) is not None:
        return _recording(scenario)
    found = _health()
    if not found.ok:
        return Verdict(False, found.problem, f"{found.way_out} Meanwhile: aiswe demo".strip())
    spoken = "a recording" if found.recorded else f"Ollama {found.version}"
    return Verdict(True, f"{spoken} at {settings.OLLAMA_URL} has {settings.MODEL}")


def _scenario() -> str | None:
    """The recording that stands for the model, if one does."""
    from projects.models.project import RECORDING

    return settings.MODEL.removeprefix(RECORDING) if settings.MODEL.startswith(RECORDING) else None


def _recording(name: str) -> Verdict:
    from agents.llm.scripted_server.scenario import Scenario, ScenarioError
    from projects.engine.places import scenario_path, scenarios_folder

    try:
        found = Scenario.load(scenario_path(name))
    except ScenarioError as problem:
        known = ", ".join(sorted(path.parent.name for path in scenarios_folder().glob("*/scenario.toml")))
        return Verdict(
            False, str(problem), f"AISWE_MODEL names a recording: scripted: and one of {known}, or a folder."
        )
    return Verdict(True, f"no model but a recording: {found.title}")


def window() -> Verdict:
    """The model holds as much as prompts may need; a smaller window forgets silently."""
    if _scenario() is not None:
        return Verdict(None, "Not judged: a recording needs none")
    found, wanted = _health(), settings.MODEL_WINDOW
    if not found.ok:
        return Verdict(None, "Not judged: the model server does not answer", "First mend the model server.")
    if found.context_length is None:
        return Verdict(
            None, f"{settings.MODEL} does not say how much it holds", f"At least {wanted} tokens are needed."
        )
    return Verdict(
        found.context_length >= wanted,
        f"{settings.MODEL} holds {found.context_length} tokens; {wanted} are asked for",
        "Choose a model with a larger window (AISWE_MODEL), or ask for less (AISWE_MODEL_WINDOW).",
    )
