"""The code as it is now, for a conversation that saw another version of it.

A merge by definition, edits of quoted lines, and what other tasks merged meanwhile leave files that nobody wrote in a
reply. Of a long file only what changed, and what a trace points at, is shown.
"""

from __future__ import annotations

from collections.abc import Sequence

from agents.context import files_text
from agents.context.parts import CODE_NOW
from agents.engine.contracts import TaskContext
from agents.engine.nodes.common import added, is_long, own_files
from agents.engine.nodes.removals import tests_of
from agents.engine.state import TaskState
from agents.languages.registry import language_of, language_of_task
from agents.llm.base import Message
from agents.prompts.provenance import Source, joined
from agents.repair.known import problems_of
from agents.replies.licence import without_licence

CHARS = 12_000
AROUND = 6  # lines shown before and after one that changed or failed


def add_code(state: TaskState, ctx: TaskContext, messages: list[Message]) -> list[Message]:
    """The messages; at the end of the newest what they do not hold of the task's files as these are now."""
    written, before, is_test = state["candidate"]["files"], own_files(state, ctx), tests_of(state, ctx)
    if not written or state["candidate"]["conflict"]:
        return messages
    said, places = "\n".join(message["content"] for message in messages), _places(state)
    shown, left = dict[str, str](), CHARS
    for path, whole in {**before, **written}.items():
        if is_test(path) or (path not in written and f"Parts of {path}, " in said):
            continue  # tests are shown in the state that judges the code
        text = without_licence(whole)
        if text.rstrip() in said:
            continue
        part = _part(path, text, without_licence(before.get(path, "")), places, said) if is_long(text) else text
        if part and len(part) <= left:
            shown[path] = part
            left -= len(part)
    there = {path: part for path, part in shown.items() if path not in written}
    own = files_text({path: part for path, part in shown.items() if path in written})
    return added(messages, CODE_NOW, joined([own, files_text(there, Source.REPOSITORY)])) if shown else messages


def _places(state: TaskState) -> set[str]:
    """`path:line` of the code that the failures of the last run point at; lines are those of the file."""
    report = state["candidate"]["report"]
    return {problem.place for problem in problems_of(report, language_of_task(state["task"])) if problem.place}


def _part(path: str, text: str, before: str, places: set[str], said: str) -> str:
    """Of a long file the definitions that differ from `before` or that a failure is in, where nobody saw them so."""
    spoken = language_of(path)
    spans = (spoken.definitions(path, text) if spoken else None) or []
    lines, there, told = text.split("\n"), set(before.split("\n")), set(said.split("\n"))
    parts = []
    for span in spans:
        if any(other is not span and span.first <= other.first and other.last <= span.last for other in spans):
            continue  # a class is shown by its methods
        rows = range(span.first - 1, span.last)
        body, failed = "\n".join(lines[rows[0] : span.last]), {row for row in rows if f"{path}:{row + 1}" in places}
        known = there if lines[rows[0]] in there else told
        if (failed or body not in before) and body not in said:
            parts.append(_near(lines, rows, {row for row in rows if lines[row] not in known} | failed))
    return "\n\n…\n\n".join(parts)


def _near(lines: Sequence[str], rows: range, marked: set[int]) -> str:
    """The head of a definition and the lines around those that matter; a short one whole."""
    if len(rows) <= 4 * AROUND or not marked:
        return "\n".join(lines[row] for row in rows)
    kept = [row for row in rows if any(abs(row - one) <= AROUND for one in {rows[0], *marked})]
    return "\n".join("…\n" * (row - 1 not in kept and row != rows[0]) + lines[row] for row in kept)
