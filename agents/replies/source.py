"""What the readers of replies ask about source files; the answers are the languages' own."""

from __future__ import annotations

from agents.languages.base import Language
from agents.languages.registry import language_labelled, language_of


def written_in(path: str, label: str) -> Language | None:
    """The language of a block that can be checked, by its path, or without one by its fence's label."""
    return language_of(path) if path else language_labelled(label)


def compiles(path: str, text: str, label: str = "") -> bool:
    """True for source that surely compiles; nothing is run."""
    found = written_in(path, label)
    return found is not None and bool(found.compiles(text))


def is_broken(path: str, text: str) -> bool:
    """True for source that surely does not compile."""
    found = language_of(path)
    return found is not None and found.compiles(text) is False


def without_talk(path: str, text: str) -> str | None:
    """Source without the prose that follows it; None when that is not what is wrong with it."""
    found = language_of(path)
    return found.without_talk(text) if found else None
