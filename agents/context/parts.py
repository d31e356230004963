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
TESTS_NOW = "The tests that your code must pass changed. As they are now:"

_HEADINGS = {
    "Requirements:": "requirements",
    "The document on these:": "document",
    "Requirements that need no task here:": "requirements",
    "A person added:": "people",
    PERSON_SAYS: "people",
    MISSING_ANSWER: "sub-task",
    "The architect asked for changes to the last plan:": "people",
    "Lessons from earlier tasks:": "lessons",
    "Lessons from earlier repairs in this project:": "lessons",
    "Files that exist already:": "files",
    "Existing tests of these files:": "existing tests",
    "How a test file here begins:": "existing tests",
    "Tests that fail before any change; only what the task asks for has to pass:": "existing tests",
    "What these files import (signatures):": "imports",
    "Other files:": "other files",
    "Code of other files that fits the task:": "retrieved",
    "Map of the rest (signatures):": "map",
    "Map (signatures):": "map",
    "The recipe that the project starts from, on planning:": "house rules",
    "The repository. Change its files where they are; tests go beside those that exist.": "map",
    "How its tests are run:": "existing tests",
    "Documentation that fits the task:": "documentation",
    "Documentation of libraries that can be searched:": "documentation",
    "What you asked to see:": "retrieved",
    "Library signatures:": "libraries",
    "The tests that your code must pass:": "tests",
    TESTS_NOW: "tests",
    TEST_FILES_NOW: "tests",
    CODE_NOW: "files",
    "The new tests:": "tests",
    "An earlier approach failed. Take another one. What did not work:": "failed before",
    "What the document says beside its requirements:": "document",
    "The document, in numbered pieces:": "document",
    "The last plan:": "plan",
    "The change:": "change",
    "Unchanged code that the change uses:": "retrieved",
    SUMMARY: "summary",
    NEWEST_RUN: "trace",
    # What is to be done, below the material.
    "Say of every number what the piece is, by what it means and where it stands:": "task",
    "This is small work: plan one task for it, and more only if one engineer cannot finish it in an hour.": "task",
    "Think about how to split this: which files, what needs what. Prose, short.": "task",
    "Now the plan as JSON alone, in the given schema.": "task",
    "Lacking something that belongs elsewhere, send only: MISSING: <what>, in <path>": "task",
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
