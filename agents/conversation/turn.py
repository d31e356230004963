"""One turn: ask the model, do what it asks for, give it the results, until it asks for nothing more.

parse.py reads the commands of a reply, tools.py does them; a result that failed counts as the turn's (`Turn.failed`).
"""

from __future__ import annotations

import time

from agents.conversation.contracts import TalkContext
from agents.conversation.execution import SECONDS
from agents.conversation.memory import history, remember, tree
from agents.conversation.parse import read_commands
from agents.conversation.results import shares, shown
from agents.conversation.state import Command, Exchange, TodoWork, ToolResult, Turn
from agents.conversation.tools import do
from agents.conversation.web_search import NoSearch
from agents.engine.ask import ask, question_of
from agents.events.lifecycle import HumanMessage
from agents.languages.registry import language, main_language
from agents.llm.base import Message
from agents.personas import CHAT
from agents.prompts.provenance import Material, Source, as_turn, joined, label, render
from agents.repair.feedback import clip

MOST_ROUNDS = 12  # questions to the model in one turn
MOST_REPEATS = 2  # replies in a row that ask for the same again
RESULT_CHARS = 18_000
TROUBLE_CHARS = 2_000
LOOKING = frozenset({"read", "find", "search"})  # what they did not find may not be needed
SAID_CHARS = 8_000  # of a prompt on the record; all of it is in the prompt of the model's call
MOST_WORDS = 60_000  # characters of a prompt
NOTHING = Material("", ())


class TurnTooLong(Exception):
    """A turn came to no end by itself; the text says what it did last."""


def begin_turn(
    ctx: TalkContext, prompt: str, *, shown: str | None = None, given: Material = NOTHING, todo: bool = False
) -> Turn:
    """Start a turn with a person's words (`shown` on the record instead of a prompt that was made of them).

    `given` is labelled material that the person put beside their words. `todo` has them worked on in TODO mode.
    """
    conversation = ctx.conversation
    conversation.number += 1
    words = prompt.strip()[:MOST_WORDS]
    said = shown if shown is not None else words
    turn = Turn(conversation.number, said, todo=TodoWork() if todo else None)
    if said:
        ctx.event_log.emit(HumanMessage(summary=said, text=clip(said, SAID_CHARS)), key=f"said/{turn.number}")
    # In TODO mode each call is shown the files as they are then.
    files = label(tree(ctx.files.paths()), Source.REPOSITORY) if turn.todo is None else ""
    opening = joined([files, given, Material(words, {Source.PERSON})])
    turn.messages = [dict(as_turn("user", opening, step="chat"))]
    if turn.todo is not None:
        conversation.plan = None  # it makes one of its own
    conversation.turn = turn
    ctx.save()
    return turn


def take_turn(ctx: TalkContext, *, rounds: int = MOST_ROUNDS) -> Exchange:
    """Go on with the conversation's turn to its end, and remember it. What was done before a crash is not done again.

    Raises LLMError, OverBudget, Stopped, Waiting and TurnTooLong; in all of these cases the turn can be gone on with,
    or given up with `give_up`.
    """
    conversation, turn = ctx.conversation, ctx.conversation.turn
    if turn is None:
        raise ValueError("there is no turn to go on with")
    while True:
        _do_pending(ctx, turn)
        if turn.results:
            turn.messages.append(dict(_results_turn(turn.results)))
            trouble = _failures(turn.results)
            turn.failed = bool(trouble)
            turn.trouble = clip("\n".join(one.output for one in trouble), TROUBLE_CHARS)
            turn.results = []
            ctx.save()
        if turn.messages[-1]["role"] == "assistant":
            break  # its reply asks for nothing
        if turn.rounds >= rounds:
            raise TurnTooLong(f"The model asked for {rounds} rounds of commands without coming to an end.")
        _ask(ctx, turn)
    exchange = remember(conversation, turn)
    conversation.time_taken(turn.model_seconds)
    conversation.turn = None
    ctx.save()
    return exchange


def give_up(ctx: TalkContext, why: str) -> Exchange | None:
    """End the turn where it stands; what it did stays, and is remembered."""
    turn = ctx.conversation.turn
    if turn is None:
        return None
    if turn.todo is not None and ctx.conversation.plan is not None:
        ctx.conversation.plan.over = True
    turn.done.append(f"ended: {why}")
    exchange = remember(ctx.conversation, turn)
    ctx.conversation.turn = None
    ctx.save()
    return exchange


def messages_of(ctx: TalkContext, turn: Turn | None = None) -> list[Message]:
    """Everything that a call of this turn is shown: each call stands for itself. Without a turn, what goes before."""
    spoken = ctx.test_setup.language or main_language(ctx.files.paths())
    system = render(
        "system.chat",
        persona=ctx.persona or render("chat.persona"),
        house_rules=ctx.house_rules,
        seconds=int(SECONDS),
        review=ctx.conversation.mode == "review",
        search=not isinstance(ctx.web, NoSearch),
        tests=" ".join(language(spoken).test_command) if spoken else "",
    )
    turns: list[Message] = [as_turn("system", system, persona=CHAT.name), *history(ctx.conversation)]
    return [*turns, *(turn.messages if turn is not None else [])]  # type: ignore[list-item]  # stored as plain data


def _ask(ctx: TalkContext, turn: Turn) -> None:
    key = f"chat/{turn.number}/{turn.rounds}"
    began = time.monotonic()
    answer = ask(question_of(ctx, CHAT, messages_of(ctx, turn), step="chat", key=key))
    turn.model_seconds += time.monotonic() - began
    read = read_commands(answer.text, truncated=answer.truncated)
    ctx.surface.replied(read.outline)
    turn.rounds += 1
    text = read.spelt or "(no reply)"
    again = bool(read.commands) and _repeats(turn, read.commands)
    turn.messages.append(dict(as_turn("assistant", text)))
    turn.said.append(read.shown or text)
    turn.pending = read.commands
    if again:
        turn.pending = []
        ctx.surface.notice("The model asks for the same commands again and again; the turn ends here.")
        turn.done.append("ended: the model repeated itself")
    elif read.invented:
        ctx.surface.notice("The model wrote results of its commands before they ran; these are left out.")
    elif not answer.text.strip():
        ctx.surface.notice("The model's reply was empty or withheld.")
    ctx.save()


def _repeats(turn: Turn, commands: list[Command]) -> bool:
    """Whether the newest replies all asked for exactly this."""
    wanted = [(one.tool, one.argument, one.body) for one in commands]
    replies = [message["content"] for message in turn.messages if message["role"] == "assistant"][-MOST_REPEATS:]
    asked = [[(one.tool, one.argument, one.body) for one in read_commands(text).commands] for text in replies]
    return len(asked) == MOST_REPEATS and all(one == wanted for one in asked)


def _do_pending(ctx: TalkContext, turn: Turn) -> None:
    """Do the commands of the newest reply in their order; after a failure those that follow are still tried."""
    while turn.pending:
        command = turn.pending[0]
        result = do(ctx, command)
        turn.pending.pop(0)
        turn.results.append(result)
        turn.done.append(result.line)
        ctx.save()


def _results_turn(results: list[ToolResult]) -> Message:
    room = shares([len(one.output) for one in results], RESULT_CHARS)
    parts = joined(shown(one, share) for one, share in zip(results, room, strict=True))
    failures, refused = (
        Material("; ".join(one.title for one in found), {Source.MODEL})
        for found in (_failures(results), [one for one in results if one.refused])
    )
    return as_turn("user", render("chat.results", results=parts, failed=failures, refused=refused), step="results")


def _failures(results: list[ToolResult]) -> list[ToolResult]:
    """What failed and still matters: a change that was not made does, also where the tests after it pass."""
    return [one for one in results if not (one.ok or one.refused) and (one.tool not in LOOKING or one is results[-1])]
