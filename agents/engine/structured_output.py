"""Structure at the end of free thought: the model reasons in prose first, then puts it into JSON in a short call.

A schema held over the whole of an answer costs small models much of their sense. Servers may ignore the schema, so what
comes back is read forgivingly: out of fences and prose, mended, a bare list in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from agents.llm.base import Message
from agents.prompts.provenance import as_turn
from agents.replies.jsonish import parse_json


@dataclass(frozen=True)
class StructuredOutput:
    """What came of it: a JSON object or None, what is wrong with it in words for the model, the longer conversation."""

    value: dict[str, Any] | None
    problems: list[str]
    messages: list[Message]


def ask_structured(
    say: Callable[[list[Message], dict[str, Any]], str],
    messages: Sequence[Message],
    question: Message,
    schema: dict[str, Any],
    *,
    fill: bool = False,
) -> StructuredOutput:
    """Ask, after a conversation in prose, for an object that fits `schema`.

    `say` sends the conversation with the schema and gives the reply. `fill` puts empty values where required ones are
    missing; without it the object comes as it was written, for the caller to judge.
    """
    asked = [*messages, question]
    text = say(asked, schema)
    value, problems = parse_json(text, schema) if fill else parse_json(text)
    if not isinstance(value, dict):
        value, problems = None, problems or ["The reply is not a JSON object."]
    return StructuredOutput(value, problems, [*asked, as_turn("assistant", text)])
