"""A question in the words that code has for it: without small talk, with other words for the same, in English.

People ask how "somebody is slowed down who guesses"; the code sleeps after a failed attempt.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from agents.context.index import SETTINGS
from agents.context.retrieval import Chunk, terms
from agents.languages.registry import language_of

MEANT = 0.5  # what another word for the same counts beside the question's own, which is 1
_WORD = re.compile(r"\w+")
_HISTORY = re.compile(
    r"(?i)(?:^|/)(?:changes|changelog|history|news|upgrading|authors|licen[cs]e)(?:\.(?:md|rst|txt))?$"
)
_EXAMPLES = re.compile(r"(?i)(?:^|/)(?:examples?|samples?|demos?|vendor|third_party)/")
_ABOUT_DOCUMENTS = re.compile(r"(?i)\b(?:doc(?:s|ument\w*)|guide|manual|tutorial|readme|advice|explained)\b")
_ABOUT_TESTS = re.compile(r"(?i)\b(?:tests|tested|test suite|fixtures?)\b")  # "the test client" is code
_ABOUT_SETTINGS = re.compile(
    r"(?i)\b(?:sets?|settings?|config\w*|lint\w*|rules?|versions?|ship\w*|dependenc\w+|build|test run)\b"
)
_ABOUT_HISTORY = re.compile(r"(?i)\b(?:change(?:s|d|log)|upgrad\w+|since when|licen[cs]e|authors?)\b")


@dataclass(frozen=True)
class Wording:
    """A question as it is searched for: `weights` of word stems, and `text` for an embedding."""

    text: str
    weights: Mapping[str, float]

    def worth(self, chunk: Chunk) -> float:
        """What a find of the chunk's kind counts: tests and documents speak of code in the words of a question."""
        written = language_of(chunk.path)
        if _HISTORY.search(chunk.path):
            return 1.0 if _ABOUT_HISTORY.search(self.text) else 0.4
        if written is not None and written.is_test(chunk.path):
            return 1.0 if _ABOUT_TESTS.search(self.text) else 0.5
        documents = bool(_ABOUT_DOCUMENTS.search(self.text))
        part = 0.6 if _EXAMPLES.search(chunk.path) else 1.0
        if written is not None:
            return part * (0.7 if documents else 1.0) * (0.7 if chunk.piece.is_between else 1.0)
        asked = _ABOUT_SETTINGS.search(self.text) if chunk.path.endswith(SETTINGS) else documents
        return part * (1.15 if asked else 0.7)


def is_aside(path: str) -> bool:
    """Whether a file is seldom what a question is about: a test, or the history of the project."""
    written = language_of(path)
    return bool(_HISTORY.search(path) or (written is not None and written.is_test(path)))


def wording_of(question: str) -> Wording:
    """The question as it is searched for."""
    known = _vocabulary()
    words = [one.lower() for one in _WORD.findall(question)]
    foreign = [known.german[one] for one in words if one in known.german]
    foreign += [english for one, english in known.japanese.items() if one in question]
    own = terms(" ".join([*foreign, *(one for one in words if one not in known.small)]))
    weights = dict.fromkeys(own, 1.0)
    for word in own:
        for other in known.same.get(word, ()):
            weights.setdefault(other, MEANT)
    return Wording(" ".join([question, *foreign]), weights)


@dataclass(frozen=True)
class _Vocabulary:
    small: frozenset[str]
    same: Mapping[str, set[str]]
    german: Mapping[str, str]
    japanese: Mapping[str, str]


@cache
def _vocabulary() -> _Vocabulary:
    table: dict[str, Any] = tomllib.loads(Path(__file__).with_name("vocabulary.toml").read_text("utf-8"))
    same: dict[str, set[str]] = {}
    for line in table["same"]:
        stems = set(terms(line))
        for stem in stems:
            same.setdefault(stem, set()).update(stems - {stem})
    german, japanese = (dict(line.split(" ", 1) for line in table[name]) for name in ("german", "japanese"))
    return _Vocabulary(frozenset(table["small"].split()), same, german, japanese)
