"""Several models in order of preference, for one persona: the next one answers when the one before cannot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agents.llm.base import (
    ContextTooLong,
    LLMError,
    ModelMissing,
    ModelRefused,
    ModelTimeout,
    ModelUnavailable,
    Provider,
)


@dataclass(frozen=True, eq=False)
class ModelChain:
    """A provider made of others; `ModelRunner` asks them one after the other and says which one answered.

    What must hold for every one of them is told of the strictest: `window` is the smallest, `server` the first that is
    not `here` (so that nothing secret is prepared for a server that may turn out to be outside).
    """

    members: tuple[Provider, ...]
    outside: tuple[bool, ...]
    usual_temperature: float
    temperature: float | None = None
    max_tokens: int | None = None
    protocol: str = "fences"  # agents.replies.types.ReplyFormat

    def __getattr__(self, name: str) -> Any:
        """Everything else is the first one's: `ModelRunner` asks the members themselves."""
        return getattr(self.members[0], name)

    @property
    def server(self) -> str:
        """The first server outside of this machine if any is, else the first of all."""
        return next(
            (each.server for each, out in zip(self.members, self.outside, strict=True) if out), self.members[0].server
        )

    @property
    def window(self) -> int:
        """What fits all of them, in tokens."""
        return min(member.window for member in self.members)

    def tuned(self, temperature: float, max_tokens: int | None) -> tuple[float, int | None]:
        """The parameters to send: the configured ones in place of the persona's usual ones.

        A temperature raised on purpose (a fresh approach) is not lowered again.
        """
        if self.temperature is not None:
            fresh = temperature > self.usual_temperature
            temperature = max(temperature, self.temperature) if fresh else self.temperature
        if self.max_tokens is not None and max_tokens is not None:
            max_tokens = self.max_tokens
        return temperature, max_tokens


def falls_through(error: LLMError) -> bool:
    """May the next model be asked after this error? Not after a stop, and not when the reply itself was the trouble."""
    if isinstance(error, ModelRefused):
        return error.status in (401, 402, 403, 429)
    return isinstance(error, ModelUnavailable | ModelTimeout | ModelMissing | ContextTooLong)
