"""What commands that measure share: the model they measure, and the gates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiswe_site.startup import django
from aiswe_site.terminal import output
from aiswe_site.terminal.problems import Missing, WrongUse

if TYPE_CHECKING:
    from agents.llm.base import Provider


def product_gates() -> Any:
    """The review gates with the product's policy, as trials take them."""
    from agents.gates.run import run_gates

    def gates(root: Path, paths: Any, dispositions: Any) -> Any:
        return run_gates(root, paths=list(paths))

    return gates


def served(model: str) -> Provider:
    """A model of a server, which must answer now: hours of trials are not for finding out that it does not."""
    django.start(migrate=False)
    from django.conf import settings

    from agents.llm.base import LLMError
    from agents.llm.registry import make_provider
    from agents.llm.scripted_server.scenario import ScenarioError
    from projects.engine.choice import outside_hosts, provider_of, providers_in_force
    from projects.engine.model_clients import recording
    from projects.models.project import RECORDING

    try:
        if model.startswith(RECORDING):
            server = recording(model.removeprefix(RECORDING))
            return make_provider(
                "scripted", server=server.url, model=server.scenario.model, window=settings.MODEL_WINDOW
            )
        if not model.strip():
            raise WrongUse("--model names no model")
        made, members = provider_of(model, "coder"), providers_in_force(model)
        for number, (name, _, provider) in enumerate(members):
            health = provider.health()
            if health.ok:
                continue
            words = f"--model {name}: {health.problem}"
            if not number:
                # Else the model behind it would do the work, and be measured under this one's name.
                raise Missing(words, f"{health.hint} (reference and simulated:… need no server.)".strip())
            output.note(f"{words} Nothing falls back to it.")
        if hosts := outside_hosts(model):
            output.note(f"The tasks leave this machine: {', '.join(hosts)}.")
    except (LLMError, ScenarioError) as error:
        raise WrongUse(f"--model {model}: {error}") from None
    return made
