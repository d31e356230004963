"""Tests as the coder is shown them: of a long file that the repository has, what is new, and the names of the rest.

What stood there before passes already; a test of it that breaks comes with its trace.
"""

from __future__ import annotations

from agents.context import files_text
from agents.context.excerpt import what_changed
from agents.context.parts import TESTS_NOW
from agents.engine.contracts import TaskContext
from agents.engine.nodes.common import added
from agents.engine.nodes.removals import base_files
from agents.engine.state import TaskState
from agents.languages.registry import grammar_of
from agents.languages.symbols import read_symbols
from agents.llm.base import Message
from agents.prompts.provenance import Material

LONG_CHARS = 3_000  # of a test file that the repository has
WORTH = 0.7  # what leaves less of a file away is not worth its gaps


def tests_text(state: TaskState, ctx: TaskContext) -> Material:
    """The tests of the task, for the first message of a conversation."""
    return files_text(_shown(state, ctx))


def add_tests(state: TaskState, ctx: TaskContext, messages: list[Message], heading: str = TESTS_NOW) -> list[Message]:
    """Add tests that this conversation was not shown as they are: the tester corrected some, or they were merged."""
    said = "\n".join(message["content"] for message in messages)
    whole = state["candidate"]["tests"]
    new = {
        path: text
        for path, text in _shown(state, ctx).items()
        if text.rstrip() not in said and whole[path].rstrip() not in said
    }
    return added(messages, heading, files_text(new)) if new else messages


def _shown(state: TaskState, ctx: TaskContext) -> dict[str, str]:
    tests = state["candidate"]["tests"]
    before = base_files(state, ctx, list(tests))[0]
    return {path: _part(path, text, before.get(path, "")) for path, text in tests.items()}


def _part(path: str, text: str, before: str) -> str:
    grammar = grammar_of(path)
    if not before or grammar is None or len(text) <= LONG_CHARS:
        return text
    part = what_changed(text, before, read_symbols(text.encode(), grammar))
    return part if len(part) <= WORTH * len(text) else text
