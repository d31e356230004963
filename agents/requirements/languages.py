"""What sentences say, in each language that `languages.toml` knows: asked for, excluded, withdrawn, still open."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache

from agents.requirements.rules import rules

# What a statement is, it says near its beginning; more is not searched, so that a long line costs little.
_NEAR = 600
# Several rules ask the same of a text, one right after the other.
_RECENT = 256
# Letters of scripts beside the Latin one.
_SCRIPT = re.compile(r"[\u0370-\u1fff\u3040-\ud7ff]")
_LATIN = re.compile(r"(?<!\\)[a-z]")
_STRUCK = re.compile(r"~~[^~]+~~")
_NUMBER = re.compile(r"^\d{1,3}(?:\.\d{1,3})*[.):]?\s+")
_MARKUP = "*_`#>|-–—·•☐☑ \t"
_CLARIFY = re.compile(r"\[needs clarification|\btb[dc]\b", re.IGNORECASE)
_ENDS_OPEN = re.compile(r"[?\uff1f\u061f]['\"”»」』)\]*_\s]*(?:\([^()]{0,80}\)\s*)?$")
# "must not" keeps something from being built, unless it limits what is built.
_NEVER = re.compile(
    r"\b(?:must|shall|should|may) not (?!(?:be able|exceed|lose|take|fail|hold|block|crash)\b)", re.IGNORECASE
)
_BREAK = re.compile(r"[.;]\s|\(")
_LIMITED = re.compile(
    r"\d|\b(?:if|when|while|where|unless|until|before|after|without|only|more|less|than|twice|both|must (?!not\b))\b",
    re.IGNORECASE,
)


class PatternSet:
    """Regular expressions that are searched together. What must stand at the beginning is tried there only, what begins
    a word at the words only, and what is written in another script only in texts that have one.
    """

    def __init__(self, entries: Sequence[str]) -> None:
        foreign = [entry for entry in entries if _SCRIPT.search(entry) and not _LATIN.search(entry)]
        latin = [entry for entry in entries if entry not in foreign]
        self._patterns = _patterns(latin)
        self._foreign = _patterns(foreign)

    def search(self, text: str) -> re.Match[str] | None:
        """Where one of them is in the text, which is in lower case."""
        searches = [*self._patterns, *self._foreign] if _SCRIPT.search(text) else self._patterns
        return next((found for search in searches if (found := search(text))), None)


def _patterns(entries: Sequence[str]) -> list[Callable[[str], re.Match[str] | None]]:
    starts = [entry[1:] for entry in entries if entry.startswith("^")]
    words = [entry[2:] for entry in entries if entry.startswith(r"\b")]
    others = [entry for entry in entries if not entry.startswith(("^", r"\b"))]
    found: list[Callable[[str], re.Match[str] | None]] = [re.compile(_either(starts)).match] if starts else []
    found += [re.compile(rf"\b(?:{_either(words)})").search] if words else []
    return found + ([re.compile(_either(others)).search] if others else [])


def _either(entries: Sequence[str]) -> str:
    return "|".join(f"(?:{entry})" for entry in entries)


@cache
def wording(name: str) -> PatternSet:
    """All that the languages have under this name, for a text in lower case."""
    return PatternSet(entries(name))


def entries(name: str) -> list[str]:
    """The regular expressions of this name of all languages."""
    return [entry for language in rules("languages").values() for entry in language.get(name, ())]


@cache
def gherkin(name: str) -> re.Pattern[str]:
    """A line that begins with a keyword of Gherkin in any language; case does not matter."""
    words = {word for language in rules("languages").values() for word in language["gherkin"][name]}
    longest_first = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    return re.compile(rf"^\s*(?:{longest_first})(?:\s*[:\uff1a]|$)", re.IGNORECASE)


@lru_cache(maxsize=_RECENT)
def says(name: str, text: str) -> bool:
    """Whether a pattern of this name is in the text, near its beginning."""
    return wording(name).search(_plain(text)) is not None


def ends_open(text: str) -> bool:
    """Whether the text is a question."""
    return bool(_ENDS_OPEN.search(text[-200:]))


def is_open(text: str) -> bool:
    """Whether the text is a question, or says that something is not decided."""
    return ends_open(text) or says("open", text)


def needs_clarification(text: str) -> bool:
    """Whether the text marks a place in it as open."""
    return bool(_CLARIFY.search(text))


def is_struck(text: str) -> bool:
    """Whether the text begins struck out."""
    return "~~" in text and _STRUCK.match(_NUMBER.sub("", text.strip("*_ |"))) is not None


@lru_cache(maxsize=_RECENT)
def is_excluded(text: str) -> bool:
    """Whether the text keeps something from being built."""
    near = _plain(text)
    denies = wording("denies").search(near) and not wording("may").search(near) and "?" not in near
    if denies or wording("excluded").search(near):
        return True
    return any(_NEVER.search(part) and not _LIMITED.search(part) for part in _BREAK.split(near))


def _plain(text: str) -> str:
    return lowered(_NUMBER.sub("", text[:_NEAR].lstrip(_MARKUP)))


def lowered(text: str) -> str:
    """The text in lower case, where a Turkish capital gives one letter and not two."""
    return text.replace("İ", "i").lower()
