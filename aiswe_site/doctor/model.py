"""The models, seen from this process."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from django.conf import settings

from agents.llm.registry import PROVIDERS
from aiswe_site.doctor.result import CheckVerdict

if TYPE_CHECKING:
    from agents.llm.base import Health


class ModelProbe(NamedTuple):
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
        spoken = (
            "a recording" if self.health.recorded else f"{PROVIDERS[self.kind].label} {self.health.version}".rstrip()
        )
        return f"{spoken} at {self.url} has {self.model}{' (data leaves this machine)' if self.outside else ''}"


@cache
def _looks() -> tuple[ModelProbe, ...]:
    """Every model of the choice in force, looked at once. Raises LLMError for a choice that cannot be read."""
    from agents.firewall.trifecta import is_outside
    from projects.engine.choice import providers_in_force

    looks = []
    for spec, server, provider in providers_in_force():
        wanted = provider.window  # before its server is heard, which may say less
        health = provider.health()
        looks.append(ModelProbe(spec, server.kind, server.url, provider.model, wanted, is_outside(server.url), health))
    return tuple(looks)


def forget() -> None:
    """Ask the servers again next time."""
    _looks.cache_clear()


def server() -> CheckVerdict:
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
        return CheckVerdict(False, str(problem), f"Fix {settings.MODELS_FILE}, or the AISWE_MODEL… variables.")
    there = [look.words for look in looks.values() if look.health.ok]
    away = [look for look in looks.values() if not look.health.ok]
    without = [name for name, specs in lists.items() if not any(looks[spec].health.ok for spec in specs)]
    problems = " ".join(dict.fromkeys(look.health.problem for look in away))
    if without:
        hint = " ".join(dict.fromkeys(look.health.hint for look in away))
        alone = f" Without a model: {', '.join(without)}." if len(without) < len(lists) else ""
        return CheckVerdict(False, f"{problems}{alone}", f"{hint} Meanwhile: aiswe demo".strip())
    spare = f"; not available, but others are used instead: {problems}" if away else ""
    return CheckVerdict(True, "; ".join(there) + spare)


def _scenario() -> str | None:
    """The recording that stands for the model, if one does."""
    from projects.models.project import RECORDING

    return settings.MODEL.removeprefix(RECORDING) if settings.MODEL.startswith(RECORDING) else None


def _recording(name: str) -> CheckVerdict:
    from agents.llm.scripted_server.scenario import Scenario, ScenarioError
    from projects.storage.paths import scenario_path, scenarios_folder

    try:
        found = Scenario.load(scenario_path(name))
    except ScenarioError as problem:
        known = ", ".join(sorted(path.parent.name for path in scenarios_folder().glob("*/scenario.toml")))
        return CheckVerdict(
            False, str(problem), f"AISWE_MODEL names a recording: scripted: and one of {known}, or a folder."
        )
    return CheckVerdict(True, f"a recording instead of a model: {found.title}")


def window() -> CheckVerdict:
    """Each model holds as much as prompts may need; a smaller window forgets silently."""
    from agents.llm.base import LLMError

    if _scenario() is not None:
        return CheckVerdict(None, "Not checked: a recording needs none")
    try:
        looks = [look for look in _looks() if look.health.ok]
    except LLMError:
        looks = []
    if not looks:
        return CheckVerdict(None, "Not checked: the model server does not respond", "First mend the model server.")
    silent = [look.model for look in looks if look.health.context_length is None]
    small = [
        look for look in looks if look.health.context_length is not None and look.health.context_length < look.window
    ]
    told = [f"{look.model} holds {look.health.context_length} tokens" for look in looks if look.health.context_length]
    asked = max(look.window for look in looks)
    if silent and not small:
        return CheckVerdict(
            None, f"{', '.join(silent)} does not report its context window", f"At least {asked} tokens are needed."
        )
    return CheckVerdict(
        not small,
        f"{'; '.join(told)}; {asked} are required",
        "Choose a model with a larger window (AISWE_MODEL), or lower AISWE_MODEL_WINDOW.",
    )


def size() -> CheckVerdict:
    """The weights of models on this machine fit its memory; names the largest that do."""
    from agents.llm.base import LLMError
    from aiswe_site.doctor import weights

    memory, whose = weights.memory_gb()
    window, parallel = settings.MODEL_WINDOW, settings.MODEL_PARALLEL
    best = weights.largest_that_fits(memory, window, parallel)
    context = f"with {window} tokens" + (f" for each of {parallel} conversations" if parallel > 1 else "")
    told = f"{memory:.0f} GB {whose}: " + (
        f"{best.model} (Q4_K_M) fits, it needs {best.need_gb(window, parallel):.1f} GB {context}"
        if best
        else f"no model that is known here fits {context}"
    )
    try:
        here = [] if _scenario() is not None else [look for look in _looks() if not look.outside]
    except LLMError:
        here = []
    large = [one for look in here if (one := weights.known(look.model)) and one.need_gb(window, parallel) > memory]
    if not large:
        return CheckVerdict(None if best is None else True, told, "Lower AISWE_MODEL_WINDOW or AISWE_MODEL_PARALLEL.")
    needs = "; ".join(f"{one.model} needs {one.need_gb(window, parallel):.1f} GB" for one in large)
    way = f"Set AISWE_MODEL={best.model}, or lower" if best else "Lower"
    return CheckVerdict(False, f"{needs} {context}. {told}", f"{way} AISWE_MODEL_WINDOW or AISWE_MODEL_PARALLEL.")


def prefix() -> CheckVerdict:
    """Servers keep the beginning of a prompt between calls, as recent calls tell."""
    from django.db import DatabaseError

    from projects.services.insight.prefixes import prefix_use

    try:
        found = prefix_use()
    except DatabaseError:  # not made yet, or broken: a finding of its own
        found = []
    if not found:
        return CheckVerdict(None, "Not checked: no call yet that could reuse the beginning of an earlier prompt")
    told = "; ".join(f"{one.model} read {one.lost} of {one.calls} common beginnings anew" for one in found)
    return CheckVerdict(
        not any(2 * one.lost > one.calls for one in found),
        told,
        "Give the server a place for each conversation: start Ollama with OLLAMA_NUM_PARALLEL of at least "
        "`parallel_tasks`, llama.cpp with as many slots (-np), vLLM with --enable-prefix-caching. Keep the model "
        "loaded (OLLAMA_KEEP_ALIVE=-1, OLLAMA_MAX_LOADED_MODELS), with one context length for all that use it.",
    )
