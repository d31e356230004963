"""What a planner asks to see before it decides, read from prose or JSON."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from agents.replies.jsonish import mended

MOST_FILES, MOST_QUESTIONS = 6, 4
_LONGEST = 300  # characters of one path or question
_ASKS = re.compile(r"\b(read_file|search_docs)[\"'`*]*\s*[:=]\s*[*`]*(\[[^\]]{0,4000}\]|[^\n\[{]{1,2000})")


@dataclass(frozen=True, slots=True)
class Lookups:
    """Paths of files to read, and questions to documentation and code; each once, in order."""

    files: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.files or self.questions)


def lookups_in(text: str) -> Lookups:
    """What a reply asks for; what goes beyond the limits is not read."""
    found: dict[str, dict[str, None]] = {"read_file": {}, "search_docs": {}}
    for name, value in _ASKS.findall(text):
        for entry in _entries(value):
            if words := " ".join(entry.split()).strip("\"'` ")[:_LONGEST]:
                found[name].setdefault(words)
    files, questions = found.values()
    return Lookups(tuple(files)[:MOST_FILES], tuple(questions)[:MOST_QUESTIONS])


def _entries(value: str) -> list[str]:
    if not value.startswith("["):
        return re.split(r",\s+", value)
    try:
        listed = json.loads(value)
    except ValueError:
        listed = mended(value)
    return [entry for entry in listed if isinstance(entry, str)] if isinstance(listed, list) else []
