"""Where each piece of a prompt is from.

Text from anywhere but the product, its people and their rules goes into a fence that names its source. The labels are
constants, so a prompt's beginning stays the same byte by byte and the model's cache is reused. What a call was shown is
on record with the call. A label protects nothing by itself: the limits on effects do (docs/explanation/injection.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Unpack

from agents.llm.base import Message, TurnLabel
from agents.prompts.render import INLINE, quoted, render_text


class Source(StrEnum):
    """Who wrote a piece of text."""

    PRODUCT = "product"  # prompts that ship with it
    ARCHITECT = "architect"  # house rules, the recipe that was chosen, comments on a plan
    PERSON = "person"  # what a member of the team says to a task
    DOCUMENT = "document"  # the requirements document
    REPOSITORY = "repository"  # files and history of the project
    MODEL = "model"  # anything a model wrote: plans, code, tests, verdicts, lessons
    TESTS = "test-output"  # what code printed and raised in the sandbox
    TOOLS = "scanner"  # findings, which quote code
    PACKAGE = "package"  # what comes with a dependency
    COMMENT = "comment"  # what people write on pull requests
    WEB = "web"
    UNKNOWN = "unknown"  # a turn from before sources were kept


TRUSTED = frozenset({Source.PRODUCT, Source.ARCHITECT, Source.PERSON})


class Material(str):
    """Text that knows its sources."""

    sources: frozenset[Source]

    def __new__(cls, text: str, sources: Iterable[Source]) -> Material:
        made = super().__new__(cls, text)
        made.sources = frozenset(sources)
        return made


def label(text: str, source: Source, info: str = "") -> Material:
    """The text in a fence that no line of it can close, named by its source. Empty text stays empty."""
    if not text.strip():
        return Material("", ())
    return Material(quoted(text, f"{info} from={source}".strip()), {source})


def joined(parts: Iterable[str], between: str = "\n\n") -> Material:
    """Several pieces as one, with the sources of all."""
    kept = [part for part in parts if part]
    return Material(between.join(kept), {source for part in kept for source in sources_of(part)})


def sources_of(value: Any) -> frozenset[Source]:
    """The sources of labelled text; none for anything else."""
    return value.sources if isinstance(value, Material) else frozenset()


def render(name: str, **variables: Any) -> Material:
    """Render prompts/<name>.md; the result has the sources of all that went into it.

    What a template shows without a fence (a task's title, the reasons for a refusal) is declared in prompting.INLINE.
    Raises jinja2.UndefinedError for a variable that was forgotten.
    """
    sources = {Source.PRODUCT, *(Source(word) for word in INLINE.get(name, ()))}
    for key, value in variables.items():
        sources |= sources_of(value)
        if key in ("house_rules", "recipe", "comment") and value:
            sources.add(Source.ARCHITECT)
    return Material(render_text(name, **variables), sources)


def as_turn(role: Any, text: str, **labels: Unpack[TurnLabel]) -> Message:
    """One turn of a conversation with the sources of its text; an assistant's is the model's."""
    known = sources_of(text) or ({Source.MODEL} if role == "assistant" else {Source.UNKNOWN})
    turn: Message = {"role": role, "content": str(text), "sources": sorted(source.value for source in known)}
    return {**turn, "label": labels} if labels else turn


def sources_in(message: Message) -> list[str]:
    """The sources of a turn, in order; unknown when nothing was kept."""
    known = message.get("sources")
    return list(known) if known else [(Source.MODEL if message["role"] == "assistant" else Source.UNKNOWN).value]


def untrusted(messages: Iterable[Message]) -> list[str]:
    """Sources in a conversation that are nobody's orders."""
    trusted = {source.value for source in TRUSTED}
    return sorted({source for message in messages for source in sources_in(message)} - trusted)
