"""One call to a model, as every provider gets it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agents.llm.base import Message


@dataclass(frozen=True)
class ChatCall:
    """What a model is asked, and how it is to answer. `thinks` is False where a model is to answer at once."""

    messages: Sequence[Message]
    schema: dict[str, Any] | None
    temperature: float
    seed: int | None
    max_tokens: int | None
    thinks: bool = True

    def settings(self, limit_name: str) -> dict[str, Any]:
        """Temperature, seed and the limit of tokens under the server's name for it, as far as they are set."""
        given = {"temperature": self.temperature, "seed": self.seed, limit_name: self.max_tokens}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def turns(self) -> list[dict[str, str]]:
        """The conversation as most servers take it, without our own notes."""
        return [{"role": message["role"], "content": message["content"]} for message in self.messages]
