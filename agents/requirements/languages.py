"""What sentences say, in each language that `languages.toml` knows: asked for, excluded, withdrawn, still open."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from agents.requirements.rules import rules

# What a statement is, it says near its beginning; more is not searched, so that a long line costs little.
_NEAR = 600
# Several rules ask the same of a text, one right after the other.
_RECENT = 256
_STRUCK = re.compile(r"~~[^~]+~~")
_NUMBER = re.compile(r"^\d{1,3}(?:\.\d{1,3})*[.):]?\s+")
_MARKUP = "*_`#>|-–—·•☐☑ \t"
_CLARIFY = re.compile(r"\[needs clarification|\btb[dc]\b", re.IGNORECASE)
_ENDS_OPEN = re.compile(r"[?\uff1f]['\"”»」』)\]*_\s]*(?:\([^()]{0,80}\)\s*)?$")
# "must not" keeps something from being built, unless it limits what is built.
_NEVER = re.compile(
    r"\b(?:must|shall|should|may) not (?!(?:be able|exceed|lose|take|fail|hold|block|crash)\b)", re.IGNORECASE
)
_LIMITED = re.compile(
    r"\d|\b(?:if|when|while|where|unless|until|before|after|without|only|more|less|than|twice|both)\b", re.IGNORECASE
)


@cache
def wording(name: str) -> re.Pattern[str]:
    """All that the languages have under this name, for a text in lower case."""
    found = [entry for language in rules("languages").values() for entry in language.get(name, ())]
    return re.compile("|".join(f"(?:{entry})" for entry in found))


@cache
def gherkin(name: str) -> re.Pattern[str]:
    """A line that begins with a keyword of Gherkin in any language; case does not matter."""
    words = {word for language in rules("languages").values() for word in language["gherkin"][name]}
    longest_first = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    return re.compile(rf"^\s*(?:{longest_first})(?:\s*[:\uff1a]|$)", re.IGNORECASE)


@lru_cache(maxsize=_RECENT)
def says(name: str, text: str) -> bool:
    """Whether a pattern of this name is in the text, near its beginning."""
    return bool(wording(name).search(_plain(text)))


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
    if wording("excluded").search(near) or (wording("denies").search(near) and not wording("may").search(near)):
        return True
    return bool(_NEVER.search(near)) and not _LIMITED.search(near)


def _plain(text: str) -> str:
    return lowered(_NUMBER.sub("", text[:_NEAR].lstrip(_MARKUP)))


def lowered(text: str) -> str:
    """The text in lower case, where a Turkish capital gives one letter and not two."""
    return text.replace("İ", "i").lower()
