"""A prompt taken apart again: what each stretch of it is. Fences are respected, so quoted text cannot pass for a
heading.

Prompts are kept as the bytes that were sent; what they consist of is told by the label of the turn and the headings
that the templates write.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agents.llm.base import Message, step_of

HOUSE_RULES = "House patterns that every task obeys"
SUMMARY = "Earlier turns of this conversation, summed up:"
NEWEST_RUN = "The newest failing run:"
CODE_NOW = "Your files as they are now, where you have not seen them so:"
PERSON_SAYS = "A person of the team says:"
MISSING_ANSWER = "What you said was missing:"
TEST_FILES_NOW = "The test files as they are now:"
TESTS_NOW = "The tests your code must pass changed. As they are now (read-only):"

_HEADINGS = {
    "Requirements it serves:": "requirements",
    "Requirements:": "requirements",
    "The document on these requirements, in its own lines (examples, formats):": "document",
    "The requirements found in the document so far:": "requirements",
    "A person added:": "people",
    PERSON_SAYS: "people",
    MISSING_ANSWER: "sub-task",
    "The architect asked for changes to the last plan:": "people",
    "Lessons from earlier tasks:": "lessons",
    "Files that exist already:": "files",
    "Existing tests of these files:": "existing tests",
    "Tests that fail before any change; only what the task asks for has to pass:": "existing tests",
    "What these files import (signatures):": "imports",
    "Other files:": "other files",
    "Code of other files that fits the task:": "retrieved",
    "Map of the rest (signatures):": "map",
    "Documentation that fits the task:": "documentation",
    "Library signatures:": "libraries",
    "The tests your code must pass (read-only):": "tests",
    TESTS_NOW: "tests",
    TEST_FILES_NOW: "tests",
    CODE_NOW: "files",
    "The new tests:": "tests",
    "An earlier approach failed. Take another one. What did not work:": "failed before",
    "Paragraphs that no requirement was read from, each with its line:": "document",
    "The last plan:": "plan",
    "The change:": "change",
    SUMMARY: "summary",
    NEWEST_RUN: "trace",
}
_STEPS = {
    "repair": "trace",
    "repair-back": "trace",
    "repair-resumed": "trace",
    "adjudicate": "trace",
    "findings": "findings",
    "rejected": "review",
    "conflict": "conflict",
    "again": "refusal",
}
_OPEN = re.compile(r"(`{3,})[^`]*")

# What a conversation is about: never shortened.
PINNED = frozenset(
    "system,house rules,task,requirements,people,tests,trace,findings,review,conflict,document,plan".split(",")
)


@dataclass(frozen=True)
class Part:
    """A stretch of a message and what it is."""

    name: str
    text: str


def parts_of(message: Message) -> list[Part]:
    """The message in order; the texts joined are the message again, to the byte."""
    content = message["content"]
    if message["role"] == "assistant":
        return [Part("conversation", content)]
    if message["role"] == "system":
        head, heading, rules = content.partition(f"\n{HOUSE_RULES}\n")
        return [Part("system", head)] + ([Part("house rules", heading + rules)] if heading else [])
    found: list[tuple[str, list[str]]] = [(_STEPS.get(step_of(message), "task"), [])]
    closing = ""
    for line in content.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        if closing:
            closing = "" if bare == closing else closing
        elif opened := _OPEN.fullmatch(bare):
            closing = opened[1]
        elif name := _HEADINGS.get(bare):
            found.append((name, []))
        found[-1][1].append(line)
    return [Part(name, "".join(lines)) for name, lines in found if lines]
