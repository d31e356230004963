"""One question to a model, and what of its reply goes on the record."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from agents.engine.ask import ask
from agents.llm.base import Completion, Delta, Timeouts, TokenUsage
from agents.llm.runner import ModelRunner

from .nodes.support import MemoryEventLog, question

CANARY = "aiswe-canary-" + "7f3a9c1e5b2d8046" * 2


@dataclass(eq=False)
class Thinker:
    """Replies with a thought and a text."""

    text: str
    name: str = "thinker"
    model: str = "m"
    server: str = "http://127.0.0.1:1"
    window: int = 32_768
    recorded: bool = False
    timeouts: Timeouts = field(default_factory=Timeouts)

    async def stream(self, messages: Any, **_: Any) -> AsyncIterator[Delta | Completion]:
        usage = TokenUsage(10, 2, 0.1, 0.1, "m", 4)
        yield Completion(self.text, usage, "stop", thought="first the sum")

    async def aclose(self) -> None: ...


@pytest.mark.parametrize(("text", "kept"), [("Done.", "first the sum"), (f"My rules: {CANARY}", None)])
def test_a_thought_is_kept_with_its_reply_unless_the_reply_is_withheld(text, kept):
    event_log: Any = MemoryEventLog()
    with ModelRunner() as runner:
        messages = [{"role": "system", "content": "Rules."}, {"role": "user", "content": "Add."}]
        ask(question(event_log, runner, Thinker(text), messages, canary=CANARY))
    (thought,) = event_log.of("thought")
    assert thought["blobs"].get("thinking") == kept
