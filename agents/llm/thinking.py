"""A thinking model's budget: what it thinks beyond that is cut off, kept, and answered from without more thinking.

Small models think in circles: without a limit they use up all their tokens and answer nothing. To stop them and to ask
for the answer is as good as a longer thought (Muennighoff et al., "s1: Simple test-time scaling", 2025).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace

from agents.llm.base import Completion, Delta, Message
from agents.llm.bodies import PartialReply, ThoughtsRanOut
from agents.llm.chat import ChatCall
from agents.llm.tokens import count_messages

ANSWER_NOW = "You have thought enough. Give the answer now, in the form that was asked for."

Items = AsyncGenerator[Delta | Completion, None]


async def within_budget(ask: Callable[[ChatCall], Items], call: ChatCall, window: int) -> Items:
    """Ask, and once more without thinking where the thoughts left no answer."""
    try:
        async with aclosing(ask(call)) as items:
            async for item in items:
                yield item
        return
    except ThoughtsRanOut as end:
        reply = end.reply
    async with aclosing(ask(_without_thinking(call, reply, window))) as items:
        async for item in items:
            yield _with_first(item, call, reply) if isinstance(item, Completion) else item


def _without_thinking(call: ChatCall, reply: PartialReply, window: int) -> ChatCall:
    """The same call, its conversation continued by the thoughts so far where they fit."""
    more: list[Message] = [
        {"role": "assistant", "content": reply.thought},
        {"role": "user", "content": ANSWER_NOW},
    ]
    messages = [*call.messages, *more]
    fits = count_messages(messages) + (call.max_tokens or 0) <= window
    return replace(call, messages=messages if fits else call.messages, thinks=False)


def _with_first(done: Completion, call: ChatCall, reply: PartialReply) -> Completion:
    """The answer with the trace, and with what the call that was cut off took."""
    usage = replace(
        done.usage,
        prompt_tokens=done.usage.prompt_tokens + count_messages(call.messages),
        completion_tokens=done.usage.completion_tokens + reply.thought_tokens,
        estimated=True,
    )
    return replace(done, usage=usage, thought=reply.thought)
