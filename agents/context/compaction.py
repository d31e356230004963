"""Keeping a conversation inside the window without losing what it is about (SWE-NFR-03).

A task begins a conversation of its own, so nothing is carried from task to task but the repository and the lessons. In
a conversation nothing is touched below 75 % of the window: its beginning stays the same byte by byte and the server's
prefix cache keeps it. Above that, older turns become a summary. Shortening is computed turn by turn from the beginning,
so that the shortened conversation, too, only grows at its end until it is full again.
"""

from __future__ import annotations

from collections.abc import Sequence

from agents.context.parts import NEWEST_RUN, PERSON_SAYS, PINNED, SUMMARY, Part, parts_of
from agents.llm.base import Message
from agents.llm.tokens import count_messages
from agents.prompts.provenance import Source, label, sources_in
from agents.repair.feedback import clip

COMPACT_AT = 0.75  # of the window
SUMMARY_LINES = 40
_TOLD = ("Cause:", "Hypothesis:", "Plan:", "E  ")
# What goes first when a summary is not enough; the files last, because edits refer to them.
_GIVEN_UP = (
    "map",
    "retrieved",
    "other files",
    "documentation",
    "libraries",
    "imports",
    "existing tests",
    "lessons",
    "failed before",
    "change",
    "refusal",
    "summary",
    "files",
)
_REPLY_CHARS = (8_000, 2_000, 400)  # of the newest reply, when all else is gone


def compact(messages: Sequence[Message], window: int, reply: int = 0) -> tuple[list[Message], int]:
    """The conversation as it is sent, and how many tokens that saves (0: nothing was changed).

    `reply` is how many tokens of the window the answer needs. Pinned parts (agents.context.parts.PINNED) of the first
    message, everything that people said, and the newest failing trace stay word for word; when they alone are too long,
    the conversation comes back longer than the window, for the caller to refuse.
    """
    limit = min(int(COMPACT_AT * window), window - reply)
    before = count_messages(messages)
    if before <= limit:
        return list(messages), 0
    head = 2 if messages and messages[0]["role"] == "system" else 1
    view = list(messages[:head])
    for number, message in enumerate(messages[head:], head):
        view.append(message)
        if (
            message["role"] == "user"
            and (number == len(messages) - 1 or _asked(messages, number))
            and count_messages(view) > limit
        ):
            view = _shortened(view, head, limit)
    if count_messages(view) > limit:
        view = _shortened(view, head, limit)
    return view, before - count_messages(view)


def _asked(messages: Sequence[Message], number: int) -> bool:
    """True when this turn was the end of a prompt once: an answer follows it."""
    return messages[number + 1]["role"] == "assistant"


def _shortened(view: list[Message], head: int, limit: int) -> list[Message]:
    start, middle, tail = view[:head], view[head:-2], view[-2:] if len(view) - head >= 2 else view[head:]
    if middle:
        start = [*start[:-1], _with_summary(start[-1], middle, keep_trace=not _has_trace(tail))]
    made = start + tail
    for name in _GIVEN_UP:
        if count_messages(made) <= limit:
            return made
        made[head - 1] = _without(made[head - 1], name)
    for chars in _REPLY_CHARS:
        if count_messages(made) <= limit:
            return made
        made = [
            {**message, "content": clip(message["content"], chars)} if message["role"] == "assistant" else message
            for message in made
        ]
    return made


def _has_trace(messages: Sequence[Message]) -> bool:
    return any(part.name == "trace" for message in messages for part in parts_of(message))


def _with_summary(first: Message, middle: Sequence[Message], *, keep_trace: bool) -> Message:
    """The first message with a summary of the turns that go, and word for word what of them must stay."""
    own = parts_of(first)
    gone = [part for message in middle for part in parts_of(message)]
    traces = [part for part in (*own, *gone) if part.name == "trace"][-1:] if keep_trace else []
    said = [part for part in gone if part.name == "people"]
    lines = [line for part in own if part.name == "summary" for line in part.text.splitlines() if line.startswith("- ")]
    for message in middle:
        told = [line for line in message["content"].splitlines() if line.startswith(_TOLD)]
        lines.extend(f"- {message['role']}: {line[:300]}" for line in told[:4])
    words = "\n".join(lines[-SUMMARY_LINES:] or ["- nothing of note"])
    summary = [Part("summary", f"{SUMMARY}\n{label(words, Source.MODEL)}\n")]
    heading = f"{NEWEST_RUN}\n"
    traces = [Part("trace", heading + part.text.removeprefix(heading)) for part in traces]
    kept = [part for part in own if part.name not in ("summary", "trace")]
    # Messages from people come last, as in a conversation that was not shortened.
    place = next((number for number, part in enumerate(kept) if part.text.startswith(PERSON_SAYS)), len(kept))
    order = [*kept[:place], *summary, *traces, *kept[place:], *said]
    sources = sorted({source for message in (first, *middle) for source in sources_in(message)})
    return {**first, "content": _text(order), "sources": sources}


def _without(message: Message, name: str) -> Message:
    parts = parts_of(message)
    kept = [part for part in parts if part.name != name or part.name in PINNED]
    return message if len(kept) == len(parts) else {**message, "content": _text(kept)}


def _text(parts: Sequence[Part]) -> str:
    """Parts as one text, with an empty line between those that do not bring one."""
    made = ""
    for part in parts:
        if made and not made.endswith("\n\n") and not part.text.startswith("\n"):
            made = made.rstrip("\n") + "\n\n"
        made += part.text
    return made
