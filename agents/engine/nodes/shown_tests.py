"""Tests as the coder is shown them: of a long file that the repository has, what is new, and the names of the rest.

What stood there before passes already; a test of it that breaks comes with its trace.
"""

from __future__ import annotations

import re

from agents.context import files_text
from agents.context.excerpt import what_changed
from agents.context.parts import TESTS_NOW
from agents.engine.contracts import TaskContext
from agents.engine.nodes.common import added
from agents.engine.nodes.removals import base_files
from agents.engine.state import TaskState
from agents.languages.registry import grammar_of, language_of
from agents.languages.symbols import Symbols, read_symbols
from agents.llm.base import Message
from agents.prompts.provenance import Material, Source, joined

LONG_CHARS = 3_000  # of a test file that the repository has, where nothing was shown of it
WORTH = 0.7  # what leaves less of a file away is not worth its gaps


def tests_text(state: TaskState, ctx: TaskContext) -> Material:
    """The tests of the task, for the first message of a conversation."""
    return files_text(_shown(state, ctx, ""))


def add_tests(state: TaskState, ctx: TaskContext, messages: list[Message]) -> list[Message]:
    """Tell the coder which tests changed, and why, where this conversation was not shown them as they are."""
    new, why = unseen_tests(state, ctx, messages), state["history"].get("corrected", "")
    because = Material(f"Why: {why}" if why else "", {Source.MODEL})
    return added(messages, TESTS_NOW, joined([because, new], "\n")) if new else messages


def unseen_tests(state: TaskState, ctx: TaskContext, messages: list[Message]) -> Material:
    """Tests that this conversation does not hold as they are; of a file that it knows, the definitions that changed."""
    return files_text(_shown(state, ctx, "\n".join(message["content"] for message in messages)))


def _shown(state: TaskState, ctx: TaskContext, said: str) -> dict[str, str]:
    tests = state["candidate"]["tests"]
    before, shown = base_files(state, ctx, list(tests))[0], dict[str, str]()
    for path, text in tests.items():
        first, part = (what_is_new(path, text, before.get(path, ""), known) for known in ("", said))
        if not said or not any(one.rstrip() in said for one in (text, first, part)):
            shown[path] = part
    return shown


def what_is_new(path: str, text: str, before: str, said: str) -> str:
    """The file, or of a long one what neither `before` nor `said`, the conversation if it knows the file, holds."""
    grammar, known = grammar_of(path), re.search(rf"path={re.escape(path)}\s", said)
    before = f"{before}\n{said}" if known else before
    if not before or grammar is None or (len(text) <= LONG_CHARS and not known):
        return text
    symbols = read_symbols(text.encode(), grammar)
    if _are_calls(path, text, symbols):
        return text
    part = what_changed(text, before, symbols)
    return part if len(part) <= WORTH * len(text) else text


def _are_calls(path: str, text: str, symbols: Symbols) -> bool:
    """True for tests that are calls and no definitions, of which a view of definitions would show none."""
    language = language_of(path)
    names = {one.name for one in symbols.definitions}
    ids = language.ids_of_tests(path, text) if language is not None and language.is_test(path) else []
    return any(one.rpartition("::")[2] not in names for one in ids)
