"""The languages there are, by name; each is imported when it is first asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from agents.languages.base import Language
from agents.languages.symbols import Grammar

DEFAULT = "python"
LANGUAGES: dict[str, str] = {
    "python": "agents.languages.python.language.Python",
    "node": "agents.languages.node.language.Node",
}


class UnknownLanguage(ValueError):
    """No language has this name; the text lists those there are."""


def language(name: str = DEFAULT) -> Language:
    """The language of this name; raises UnknownLanguage."""
    if name not in LANGUAGES:
        raise UnknownLanguage(f"There is no language {name!r}. Known: {', '.join(sorted(LANGUAGES))}.")
    return _made(LANGUAGES[name])


@cache
def _made(place: str) -> Language:
    module, _, kind = place.rpartition(".")
    made: Language = getattr(import_module(module), kind)()
    return made


def languages() -> list[Language]:
    """All of them, the default first."""
    return [language(name) for name in LANGUAGES]


def language_of(path: str) -> Language | None:
    """The language of a source file, by its suffix; None for any other file."""
    return next((one for one in languages() if path.endswith(one.suffixes)), None)


def is_test(path: str) -> bool:
    """Whether one of the languages takes the file for a test."""
    return any(one.is_test(path) for one in languages())


def language_labelled(label: str) -> Language | None:
    """The language that a fence's label names."""
    return next((one for one in languages() if label in one.labels), None)


def language_of_task(task: Mapping[str, Any]) -> Language:
    """What a task is written in: the language it names, else the one that owns its files.

    In doubt it is the project's main language, else the default.
    """
    if named := task.get("language"):
        return language(str(named))
    owners = {found.name for path in task.get("files", ()) if (found := owner_of(path))}
    return language(owners.pop() if len(owners) == 1 else str(task.get("main_language") or DEFAULT))


def owner_of(path: str) -> Language | None:
    """The language in which tasks about this source file are done; None for pages, scripts of pages and other files."""
    found = language_of(path)
    return found if found and found.runs_tasks and found.owns(path) else None


def main_language(paths: Iterable[str]) -> str:
    """The name of the language that most of these source files are written in; "" when there are none."""
    counts = Counter(found.name for path in paths if (found := owner_of(path)))
    return next((name for name, _ in counts.most_common(1)), "")


def grammar_of(path: str) -> Grammar | None:
    """How tree-sitter reads this file; None for files without a grammar."""
    found = language_of(path)
    return found.grammar(path) if found else None
