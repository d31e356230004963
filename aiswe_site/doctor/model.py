"""The models, seen from this process."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from django.conf import settings

from aiswe_site.doctor.result import Verdict

if TYPE_CHECKING:
    from agents.llm.base import Health

_KINDS = {"ollama": "Ollama", "openai": "an OpenAI-compatible server", "gemini": "Gemini"}


class Look(NamedTuple):
    """One model that may be asked: what it is called, where it is, what its server says of itself."""

    spec: str
    kind: str
    url: str
    model: str
    window: int
    outside: bool
    health: Health

    @property
    def words(self) -> str:
        """What answers there."""
        spoken = "a recording" if self.health.recorded else f"{_KINDS[self.kind]} {self.health.version}".rstrip()
        return f"{spoken} at {self.url} has {self.model}{' (data leaves this machine)' if self.outside else ''}"


@cache
def _looks() -> tuple[Look, ...]:
    """Every model of the choice in force, looked at once. Raises LLMError for a choice that cannot be read."""
    from agents.capabilities import is_outside
    from projects.engine.choice import providers_in_force

    looks = []
    for spec, server, provider in providers_in_force():
        wanted = provider.window  # before its server is heard, which may say less
        health = provider.health()
        looks.append(Look(spec, server.kind, server.url, provider.model, wanted, is_outside(server.url), health))
    return tuple(looks)


def forget() -> None:
    """Ask the servers again next time."""
    _looks.cache_clear()


def server() -> Verdict:
    """For each persona one model of its list answers; a recording needs no server, but must be there."""
    from agents.llm.base import LLMError
    from agents.personas import PERSONAS
    from projects.engine.choice import specs_for

    if (scenario := _scenario()) is not None:
        return _recording(scenario)
    try:
        looks = {look.spec: look for look in _looks()}
        lists = {persona: specs_for("", persona) for persona in PERSONAS}
    except LLMError as problem:
        return Verdict(False, str(problem), f"Mend {settings.MODELS_FILE}, or the AISWE_MODEL… variables.")
    there = [look.words for look in looks.values() if look.health.ok]
    away = [look for look in looks.values() if not look.health.ok]
    without = [name for name, specs in lists.items() if not any(looks[spec].health.ok for spec in specs)]
    problems = " ".join(dict.fromkeys(look.health.problem for look in away))
    if without:
        way_out = " ".join(dict.fromkeys(look.health.way_out for look in away))
        alone = f" Without a model: {', '.join(without)}." if len(without) < len(lists) else ""
        return Verdict(False, f"{problems}{alone}", f"{way_out} Meanwhile: aiswe demo".strip())
    spare = f"; not there, but others stand in: {problems}" if away else ""
    return Verdict(True, "; ".join(there) + spare)


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
    """Each model holds as much as prompts may need; a smaller window forgets silently."""
    from agents.llm.base import LLMError

    if _scenario() is not None:
        return Verdict(None, "Not judged: a recording needs none")
    try:
        looks = [look for look in _looks() if look.health.ok]
    except LLMError:
        looks = []
    if not looks:
        return Verdict(None, "Not judged: the model server does not answer", "First mend the model server.")
    silent = [look.model for look in looks if look.health.context_length is None]
    small = [
        look for look in looks if look.health.context_length is not None and look.health.context_length < look.window
    ]
    told = [f"{look.model} holds {look.health.context_length} tokens" for look in looks if look.health.context_length]
    asked = max(look.window for look in looks)
    if silent and not small:
        return Verdict(
            None, f"{', '.join(silent)} does not say how much it holds", f"At least {asked} tokens are needed."
        )
    return Verdict(
        not small,
        f"{'; '.join(told)}; {asked} are asked for",
        "Choose a model with a larger window (AISWE_MODEL), or ask for less (AISWE_MODEL_WINDOW).",
    )
