"""The code as it is now, for a conversation that saw another version of it.

A merge by definition, edits of quoted lines, and what other tasks merged meanwhile leave files that nobody wrote in a
reply. Of a long file only what changed, and what a trace points at, is shown.
"""

from __future__ import annotations

from agents.context import files_text
from agents.context.parts import CODE_NOW
from agents.engine.contracts import TaskContext
from agents.engine.nodes.common import added, is_long, own_files
from agents.engine.state import TaskState
from agents.languages.registry import language_of, language_of_task
from agents.llm.base import Message
from agents.repair.known import problems_of
from agents.replies.licence import without_licence

CHARS = 12_000


def add_code(state: TaskState, ctx: TaskContext, messages: list[Message]) -> list[Message]:
    """The messages; at the end of the newest what they do not hold of the task's files as these are now."""
    written, before = state["candidate"]["files"], own_files(state, ctx)
    if not written or state["candidate"]["conflict"]:
        return messages
    said, places = "\n".join(message["content"] for message in messages), _places(state)
    shown, left = dict[str, str](), CHARS
    for path, whole in {**before, **written}.items():
        text = without_licence(whole)
        if text.rstrip() in said:
            continue
        part = _part(path, text, without_licence(before.get(path, "")), places, said) if is_long(text) else text
        if part and len(part) <= left:
            shown[path] = part
            left -= len(part)
    return added(messages, CODE_NOW, files_text(shown)) if shown else messages


def _places(state: TaskState) -> set[str]:
    """`path:line` of the code that the failures of the last run point at; lines are those of the file."""
    report = state["candidate"]["report"]
    return {problem.place for problem in problems_of(report, language_of_task(state["task"])) if problem.place}


def _part(path: str, text: str, before: str, places: set[str], said: str) -> str:
    """Of a long file the definitions that differ from `before` or that a failure is in, where nobody saw them so."""
    spoken = language_of(path)
    spans = (spoken.definitions(path, text) if spoken else None) or []
    lines = text.split("\n")
    parts = []
    for span in spans:
        if any(other is not span and span.first <= other.first and other.last <= span.last for other in spans):
            continue  # a class is shown by its methods
        body = "\n".join(lines[span.first - 1 : span.last])
        failed = any(f"{path}:{number}" in places for number in range(span.first, span.last + 1))
        if (failed or body not in before) and body not in said:
            parts.append(body)
    return "\n\n…\n\n".join(parts)
