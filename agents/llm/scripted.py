"""A recording played over Ollama's protocol, and always labelled as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agents.llm.answers import REPLY_HEADER
from agents.llm.base import Health, Message, TurnLabel, step_of
from agents.llm.ollama import OllamaProvider


class ScriptedProvider(OllamaProvider):
    """The Ollama provider connected to a scripted server; recorded from the start, not only from the first answer."""

    name = "scripted"

    def __init__(self, server: str, model: str = "", **options: Any) -> None:
        super().__init__(server, model, **{**options, "recorded": True})

    def _headers(self, messages: Sequence[Message] = ()) -> dict[str, str]:
        """Names the reply, because a recording cannot choose one by what it is asked."""
        name = reply_name(messages)
        return super()._headers(messages) | ({REPLY_HEADER: name} if name else {})

    def health(self) -> Health:
        """As for Ollama, but a server that is not a recording is a problem: its replies would be mislabelled."""
        health = super().health()
        if health.ok and not health.recorded:
            problem = f"The server at {self.server} is a real model server, not a recording."
            return replace(health, ok=False, problem=problem, hint="Use the provider `ollama` for it.")
        return health


def reply_name(messages: Sequence[Message]) -> str:
    """The recorded reply that a conversation asks for: <task>/<persona>-<step>[-a<approach>][-<n>], n for the nth time.

    It is told by the labels of the turns alone, so a restart, a retry or a second worker gets the same reply. Empty for
    a conversation without labels.
    """
    label: TurnLabel = {}
    for message in messages:
        label = {**label, **message.get("label", {})}
    step = label.get("step", "")
    if not step:
        return ""
    times = Counter(map(step_of, messages))[step]
    approach = label.get("approach", 1)
    name = f"{label.get('task', 'plan')}/{label.get('persona', '')}-{step}"
    return name + (f"-a{approach}" if approach > 1 else "") + (f"-{times}" if times > 1 else "")
