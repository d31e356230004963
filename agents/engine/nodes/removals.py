"""What a change takes away: definitions that the task does not want gone, and existing files as git has them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agents.engine.contracts import TaskContext
from agents.engine.state import TaskState
from agents.replies.paths import BadPath, check_path
from agents.replies.types import Reply

_REMOVES = re.compile(
    r"\b(?:remov|delet|drop|renam|replac|mov(?:e|ed|es|ing)\b|retir|deprecat|obsolete|inlin|split|merg|extract|"
    r"rid of|no longer|instead of|rewrit|chang\w+ the name)",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")


def sentences_of(task: Mapping[str, Any]) -> list[str]:
    """What the task says, sentence by sentence, with the words of its requirements and of people."""
    rows = task.get("requirements", [])
    wanted = [str(part) for row in rows for part in (row.get("text", ""), *row.get("acceptance", []))]
    parts = [str(task.get(name, "")) for name in ("title", "description", "expects", "note")]
    return [sentence for part in (*parts, *wanted) for sentence in _SENTENCE.split(part)]


def removal_words(task: Mapping[str, Any]) -> Callable[[str], bool]:
    """Tells whether the task wants a definition gone: a sentence that speaks of removing names it."""
    removing = "\n".join(sentence for sentence in sentences_of(task) if _REMOVES.search(sentence))
    return lambda name: mentions(removing, name.rpartition(".")[2])


def mentions(text: str, name: str) -> bool:
    """True when the text holds this name as a word of its own."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def paths_of(reply: Reply) -> set[str]:
    """The files that a reply speaks of, as far as their paths can be used."""
    found, parts = set(), [part.path for part in reply.files] + [part.path for part in reply.edits]
    for path in parts:
        try:
            found.add(check_path(path))
        except BadPath:
            continue
    return found


def base_files(state: TaskState, ctx: TaskContext, paths: Iterable[str]) -> tuple[dict[str, str], set[str]]:
    """Texts of these files at the task's base with their own line ends, and the paths of those that hold no text."""
    blobs = ctx.repository.blobs(state["base"])
    there = {path: blobs[path].hash for path in paths if path in blobs}
    contents = ctx.repository.contents(sorted(set(there.values())))
    texts, odd = {}, set()
    for path, name in there.items():
        try:
            texts[path] = contents[name].decode("utf-8")
        except (KeyError, UnicodeDecodeError):
            odd.add(path)
    return texts, odd
