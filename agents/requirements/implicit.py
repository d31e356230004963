"""What requirements imply without saying it: "login" means password hashing. By rules, each with its reason.

The rules are data (`implicit.toml`). They add at most one requirement each, and none that the document states itself.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from agents.requirements.model import KINDS, Kind, Stated
from agents.requirements.rules import rules

# What is excluded, hoped for or merely a library implies nothing to build.
_SILENT = frozenset({"non_goal", "goal", "constraint"})
# "no login" and "without a login" ask for the opposite.
_DENIED = re.compile(r"(?:\b(?:no|not|without|without a|without any)\s|\bnon-)$", re.IGNORECASE)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class ImpliedRequirement:
    """A requirement nobody wrote: why it is needed (`reason`) and the key of the first that calls for it."""

    key: str
    text: str
    kind: Kind
    reason: str
    because_of: str
    origin: str = "implied"

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {name: getattr(self, name) for name in self.__slots__}

    def to_row(self) -> dict[str, Any]:
        """In the shape in which written requirements are kept: no lines, and the reason names what calls for it."""
        return {
            "key": self.key,
            "text": self.text,
            "kind": self.kind,
            "lines": [0, 0],
            "acceptance": [],
            "origin": self.origin,
            "reason": f"{self.reason} (because of {self.because_of})",
        }


@dataclass(frozen=True, slots=True)
class _Rule:
    id: str
    text: str
    kind: Kind
    reason: str
    starts: tuple[str, ...]
    when: re.Pattern[str]
    maybe: re.Pattern[str]
    beside: re.Pattern[str]
    unless: re.Pattern[str]


def imply(requirements: Iterable[Stated]) -> list[ImpliedRequirement]:
    """The implied requirements in the order of the rules; keys start with IMP- and never meet a written one."""
    stated = [(r.key, " ".join((r.text, *r.acceptance)), r.kind) for r in requirements]
    taken = {key for key, _, _ in stated}
    building = [(key, text) for key, text, kind in stated if kind not in _SILENT]
    everything = "\n".join(text for _, text, _ in stated)
    vocabulary = sorted({word for _, text in building for word in _WORD.findall(text.lower())})
    implied = []
    for rule in _rules():
        if not any(_begins(vocabulary, start) for start in rule.starts) or rule.unless.search(everything):
            continue
        because_of = next((key for key, text in building if _calls_for(rule, text)), None)
        if because_of is None:
            continue
        key = f"IMP-{rule.id.upper()}"
        while key in taken:
            key += "-X"
        taken.add(key)
        implied.append(ImpliedRequirement(key, rule.text, rule.kind, rule.reason, because_of))
    return implied


@cache
def _rules() -> tuple[_Rule, ...]:
    found = []
    for entry in rules("implicit")["rule"]:
        if entry["kind"] not in KINDS:
            raise ValueError(f"implicit.toml: rule {entry['id']} has the unknown kind {entry['kind']!r}.")
        found.append(
            _Rule(
                id=entry["id"],
                text=entry["text"],
                kind=entry["kind"],
                reason=entry["reason"],
                starts=tuple(
                    {_WORD.findall(phrase.lower())[0] for phrase in (*entry["when"], *entry.get("maybe", ()))}
                ),
                when=_words(entry["when"]),
                maybe=_words(entry.get("maybe", [])),
                beside=_words(entry.get("beside", [])),
                unless=_words(entry["unless"]),
            )
        )
    return tuple(found)


def _begins(vocabulary: list[str], start: str) -> bool:
    """Whether a word of the sorted vocabulary begins like this; spares the search through all texts."""
    at = bisect_left(vocabulary, start)
    return at < len(vocabulary) and vocabulary[at].startswith(start)


def _calls_for(rule: _Rule, text: str) -> bool:
    return _asks(rule.when, text) or (_asks(rule.maybe, text) and rule.beside.search(text) is not None)


def _asks(pattern: re.Pattern[str], text: str) -> bool:
    return any(not _DENIED.search(text[max(0, m.start() - 14) : m.start()]) for m in pattern.finditer(text))


def _words(phrases: list[str]) -> re.Pattern[str]:
    parts = []
    for phrase in phrases:
        words = re.escape(phrase.rstrip("*")).replace(r"\ ", r"\s").replace(r"\*", r"\w{0,20}")
        parts.append(words + (r"\w{0,20}" if phrase.endswith("*") else r"\b"))
    return re.compile(rf"\b(?:{'|'.join(parts)})" if parts else r"(?!)", re.IGNORECASE)
