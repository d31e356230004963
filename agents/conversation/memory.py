"""What a conversation remembers: the last five exchanges word for word, a line for each one before, the files."""

from __future__ import annotations

from collections.abc import Sequence

from agents.conversation.parse import read_commands
from agents.conversation.state import ChatState, Exchange, Turn
from agents.engine.reply_text import first_sentence
from agents.llm.base import Message
from agents.prompts.provenance import Material, Source, as_turn
from agents.repair.feedback import clip

REMEMBERED = 5  # exchanges
MOST_EARLIER = 40  # lines
RESPONSE_CHARS = 6_000  # of a reply that is remembered
MOST_DONE = 20  # results of one exchange that are remembered
SHOWN_FILES = 80  # by their names
MOST_ROWS, MOST_INNER = 60, 12  # lines of folders, and folders in one that is looked into


def remember(conversation: ChatState, turn: Turn) -> Exchange:
    """The turn becomes an exchange; what is older than the last five keeps one line each."""
    replies = [str(message["content"]) for message in turn.messages if message["role"] == "assistant"]
    response = "\n\n".join(turn.said).strip()
    exchange = Exchange(turn.prompt, response, list(turn.done), turn.failed, turn.trouble, replies)
    conversation.exchanges.append(exchange)
    while len(conversation.exchanges) > REMEMBERED:
        conversation.earlier.append(_line(conversation.exchanges.pop(0)))
    del conversation.earlier[:-MOST_EARLIER]
    return exchange


def forget(conversation: ChatState) -> None:
    """Forget what was said; files, leave and packages stay."""
    conversation.exchanges, conversation.earlier, conversation.plan = [], [], None


def _line(exchange: Exchange) -> str:
    asked = first_sentence(" ".join(exchange.prompt.split()), "(nothing)")[:160]
    did = "; ".join(exchange.done[:6])[:240]
    return f"- {asked}" + (f" → {did}" if did else "")


def history(conversation: ChatState) -> list[Message]:
    """The remembered exchanges as turns, in the form that the model is to go on in: commands, results, its answer."""
    turns: list[Message] = []
    for number, exchange in enumerate(conversation.exchanges):
        prompt = exchange.prompt
        if number == 0 and conversation.earlier:
            prompt = "\n".join(["Earlier in this conversation:", *conversation.earlier, "", prompt])
        turns.append(as_turn("user", Material(prompt, {Source.PERSON})))
        replies = list(exchange.replies) or [exchange.response]
        answer = "" if read_commands(replies[-1]).commands else replies.pop()
        if replies:
            turns.append(as_turn("assistant", clip("\n\n".join(replies), RESPONSE_CHARS)))
        if exchange.done:
            did = "\n".join(["Results of your commands:", *(f"- {line}" for line in exchange.done[:MOST_DONE])])
            turns.append(as_turn("user", Material(did, {Source.MODEL})))
        turns.append(as_turn("assistant", clip(answer, RESPONSE_CHARS) or "(no reply)"))
    return turns


def tree(paths: Sequence[str]) -> str:
    """The files of the workspace in a few lines: all of them, or of a large one as many as there is room for."""
    if not paths:
        return "The workspace is empty."
    if len(paths) <= SHOWN_FILES:
        return "Files of the workspace:\n" + "\n".join(paths)
    return "\n".join([f"The workspace has {len(paths)} files (<<FIND: words>> finds them):", *_folders(paths)])


def _folders(paths: Sequence[str]) -> list[str]:
    """A line for each folder, the upper ones first: the names in it, or how many files are below."""
    rows, room, level = list[str](), SHOWN_FILES, [""]
    while level:
        below = list[str]()
        for folder in level:
            within = [path.removeprefix(folder) for path in paths if path.startswith(folder)]
            names = [name for name in within if "/" not in name]
            inner = list(dict.fromkeys(name.partition("/")[0] for name in within if "/" in name))
            if len(rows) >= MOST_ROWS:
                return [*rows, "… and more folders"]
            if len(names) > room or (folder and len(inner) > MOST_INNER):
                rows.append(f"{folder or './'} ({len(within)} file{'s' * (len(within) != 1)})")
                if folder:
                    continue
            elif names:
                rows.append(f"{folder or './'}: {', '.join(names)}")
                room -= len(names)
            below += [f"{folder}{name}/" for name in inner]
        level = below
    return rows
