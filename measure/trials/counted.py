"""Every word that passes a provider, counted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agents.llm.base import Completion, Delta, Message, Provider
from agents.llm.chain import ModelChain
from agents.llm.tokens import count_messages
from measure.trials.counting import uncached_tokens


@dataclass(eq=False)  # the runner keeps providers in a set
class Counted:
    """A provider that counts what passes it, in tokens; everything else is the provider's own."""

    inner: Provider
    sent: int = 0
    uncached: int = 0
    generated: int = 0
    calls: int = 0
    first_call: int = 0
    on_first: Callable[[int], None] = field(default=lambda tokens: None)
    _earlier: list[list[Message]] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    @property
    def used(self) -> int:
        """Tokens sent and written."""
        return self.sent + self.generated

    @property
    def provider(self) -> Provider:
        """What to ask: this, or, of several models that stand in for one another, each of them counted here."""
        if not isinstance(self.inner, ModelChain):
            return self
        members: Any = tuple(_Member(member, self) for member in self.inner.members)
        return replace(self.inner, members=members)

    def stream(self, messages: Sequence[Message], **options: Any) -> AsyncIterator[Delta | Completion]:
        """Count the prompt, pass on what comes, count the reply."""
        return self.passing(self.inner, messages, options)

    async def passing(
        self, inner: Provider, messages: Sequence[Message], options: dict[str, Any]
    ) -> AsyncIterator[Delta | Completion]:
        """The same for one of several."""
        prompt = count_messages(messages)
        self.calls += 1
        self.sent += prompt
        self.uncached += uncached_tokens(messages, self._earlier)
        self._earlier.append(list(messages))
        async for item in inner.stream(messages, **options):
            if isinstance(item, Completion):
                self.generated += item.usage.completion_tokens
                if not self.first_call:
                    self.first_call = prompt + item.usage.completion_tokens
                    self.on_first(self.first_call)
            yield item


@dataclass(eq=False)
class _Member:
    """One of several models; its words are counted with those of the others."""

    inner: Provider
    book: Counted

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def stream(self, messages: Sequence[Message], **options: Any) -> AsyncIterator[Delta | Completion]:
        return self.book.passing(self.inner, messages, options)
