"""Several models in order of preference, for one persona: the next one answers when the one before cannot."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from agents.llm.base import (
    Completion,
    ContextTooLong,
    Delta,
    Health,
    LLMError,
    Message,
    ModelMissing,
    ModelRefused,
    ModelTimeout,
    ModelUnavailable,
    Provider,
    Timeouts,
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

    @property
    def name(self) -> str:
        """The protocol of the first one."""
        return self.members[0].name

    @property
    def model(self) -> str:
        """The first one's model."""
        return self.members[0].model

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

    @property
    def recorded(self) -> bool:
        """Whether the first one is a recording."""
        return self.members[0].recorded

    @property
    def timeouts(self) -> Timeouts:
        """The first one's."""
        return self.members[0].timeouts

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

    def stream(
        self,
        messages: Sequence[Message],
        *,
        schema: dict[str, Any] | None = None,
        temperature: float = 0.2,
        seed: int | None = None,
        max_tokens: int | None = None,
    ) -> AsyncIterator[Delta | Completion]:
        """Ask the first one alone; falling back is the runner's, which knows who is down."""
        temperature, max_tokens = self.tuned(temperature, max_tokens)
        return self.members[0].stream(
            messages, schema=schema, temperature=temperature, seed=seed, max_tokens=max_tokens
        )

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """The first one's vectors; another model's could not be compared with them."""
        return await self.members[0].embed(texts)

    async def aclose(self) -> None:
        """Close all of them."""
        for member in self.members:
            await member.aclose()

    def health(self) -> Health:
        """The first one's."""
        return self.members[0].health()


def falls_through(error: LLMError) -> bool:
    """May the next model be asked after this error? Not after a stop, and not when the reply itself was the trouble."""
    if isinstance(error, ModelRefused):
        return error.status in (401, 402, 403, 429)
    return isinstance(error, ModelUnavailable | ModelTimeout | ModelMissing | ContextTooLong)
