"""Ask a model until its answer can be used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from agents.engine.ask import Answer, Question, ask
from agents.engine.contracts import TaskContext
from agents.engine.state import TaskState, key_of
from agents.events.effects import ErrorRaised
from agents.llm.base import Message, ReplyTooLong
from agents.personas import Persona
from agents.prompts.provenance import Material, as_turn
from agents.repair.feedback import clip

ASK_AGAIN = 2  # bounded repair of unusable replies (ABUSE 4)
UNUSABLE_CHARS = 8_000  # of an unusable reply, kept in the conversation
Value = TypeVar("Value")


@dataclass(frozen=True)
class LastAnswer(Generic[Value]):
    """The answer that was taken, or the last of those that could not be used.

    `value` is what it was read as, `reasons` why it cannot be used, and `messages` the conversation it answers.
    """

    messages: list[Message]
    text: str
    value: Value
    reasons: list[str]


def ask_until_usable(
    messages: list[Message],
    question: Callable[[list[Message], int], Question],
    read: Callable[[Answer, int], tuple[Value, list[str]]],
    refusal: Callable[[Value, list[str]], Material | str],
    record: Callable[[list[str], int], None],
    *,
    step: str = "again",
) -> LastAnswer[Value]:
    """Ask until `read` gives no reason against the answer, at most ASK_AGAIN times more.

    `question` makes the question of a turn, counted from 0. An answer that cannot be used is put on `record` and goes
    back shortened, with `refusal` as the next turn, whose step is `step`. Raises what `ask` raises, ReplyTooLong at the
    last turn only.
    """
    turn = 0
    while True:
        try:
            answer = ask(question(messages, turn))
        except ReplyTooLong as endless:
            # There is nothing to answer to: the same question, sampled anew.
            if turn == ASK_AGAIN:
                raise
            record([str(endless)], turn)
        else:
            value, reasons = read(answer, turn)
            if reasons:
                record(reasons, turn)
            if not reasons or turn == ASK_AGAIN:
                return LastAnswer(messages, answer.text, value, reasons)
            # What could not be used is not worth its place in the window: enough stays to see what is meant.
            shortened = as_turn("assistant", clip(answer.text, UNUSABLE_CHARS))
            messages = [*messages, shortened, as_turn("user", refusal(value, reasons), step=step)]
        turn += 1


def unusable(state: TaskState, ctx: TaskContext, persona: Persona, reasons: list[str], name: str) -> None:
    """Put on the record why an answer was not taken."""
    error = ErrorRaised(
        summary=f"The {persona.title}'s answer could not be used: {reasons[0]}",
        role=persona.role,
        message="; ".join(reasons)[:2000],
        tool="reply",
        next_steps=["retry", "adjust", "skip", "escalate"],
    )
    ctx.event_log.emit(error, attempt=state["counters"]["attempt"], key=key_of(state, f"{name}:unusable"))
