"""Requirement ids as people write them: `FR-01: …`, `NFR1`, `**US-3** —`, `REQ_1.2`, `### Requirement 4`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from agents.requirements.model import KINDS, Kind
from agents.requirements.rules import rules

_ID = r"[A-ZА-Я][A-Za-zА-Яа-я]{0,9}(?:[-_][A-Z]{1,8}){0,2}[-_. ]?\d{1,5}(?:[.\-]\d{1,3}){0,3}[a-z]?"
_GROUP = re.compile(r"[A-Za-zА-Яа-я]+")
_LETTERS = re.compile(r"[A-Za-zА-Яа-я]+(?:[-_][A-Z]+)*")
_DIGIT = re.compile(r"\d")
_ID_ONLY = re.compile(rf"^\W{{0,3}}({_ID})\W{{0,3}}$")
# An id defines only when something sets it off from what follows; "FR-1 is covered by …" is a mention.
_DEFINITION = re.compile(
    rf"^[*_`\[(]{{0,4}}({_ID})[*_`\])]{{0,4}}"
    r"(?:\s{0,3}\((?P<title>[^()]{1,80}(?:\([^()]{0,40}\)[^()]{0,40})?)\))?"
    r"[*_`]{0,3}(?:\s{0,3}(?::|[–—]|-(?=\s)|\|)[*_`]{0,3}|[.)](?=\s))(?:\s+|$)"
)
_BRACKETED = re.compile(rf"^[\[/]({_ID})[\]/]:?\s+")
# "FR-01 The system shall …" or "FR-01 `list` prints …": no separator, but a new sentence.
_BARE_START = re.compile(rf"^[*_`]{{0,3}}({_ID})[*_`]{{0,3}}\s+(?=[\"“„«`(*]|[^\W\d_a-zа-я])")
# In a list without bullets the text is set off by a gap.
_GAP = re.compile(rf"^{_ID}\s{{2,}}")
# A list item that begins with an id defines it, unless it goes on to speak about it: "- FR-1 is covered by …".
_ITEM_START = re.compile(
    rf"^[*_`]{{0,3}}({_ID})[*_`]{{0,3}}\s+(?!(?:is|are|was|were|has|and|or|to|see|says|needs|covers?|depends)\b)(?=[\w\"“`(])"
)
_WORD_ID = re.compile(
    r"^(?P<word>(?:non[- ]?functional |functional )?requirement|user story|story|feature|use case|acceptance criterion"
    r"|constraint|goal|objective)\s{1,3}#?(?P<number>\d{1,4}(?:\.\d{1,3}){0,3})\s{0,3}(?:[:.)–—-]\s*|$)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class IdMatch:
    """An id that is being defined: the id, its title if one follows in brackets, and where its text starts."""

    key: str
    title: str
    rest: str
    prefix: str

    @property
    def known(self) -> bool:
        """Whether the prefix alone says that this is a requirement."""
        return self.prefix in _kinds()

    @property
    def certain(self) -> bool:
        """Whether the prefix means a requirement even in a section about something else."""
        return self.prefix in rules("ids")["prefixes"]["certain"]

    @property
    def kind(self) -> Kind | None:
        """The kind its prefix stands for; None when the section decides."""
        return _kinds().get(self.prefix)


def bare_id(text: str) -> str:
    """The id when `text` is an id and nothing else, otherwise the empty string."""
    found = _ID_ONLY.match(text) if len(text) <= 48 else None
    if not found or " " in found[1]:
        return ""
    return "" if _never_an_id(_prefix(found[1])) else found[1]


def defined_id(text: str, *, kind: str = "para") -> IdMatch | None:
    """The id that `text` begins by defining, if it does. In a heading or a list item the id needs no separator."""
    # Almost every paragraph fails here, and this costs far less than the pattern.
    if not (text[:1].isupper() or text[:1] in "*_`[(/") or not _DIGIT.search(text, 1, 64):
        return None
    bracketed = _BRACKETED.match(text)
    if bracketed:
        return _match(bracketed[1], "", text[bracketed.end() :])
    found = _DEFINITION.match(text)
    if found:
        return _match(found[1], found["title"] or "", text[found.end() :])
    bare = (_ITEM_START if kind == "item" else _BARE_START).match(text)
    if bare and " " not in bare[1]:
        match = _match(bare[1], "", text[bare.end() :])
        offset = "**" in text[: bare.end()] or _GAP.match(text)
        if match and (match.certain or (kind == "item" and "-" in match.key) or (kind == "para" and offset)):
            return match
    if kind != "heading":
        return None
    word = _WORD_ID.match(text)
    if word:
        return _worded(word, title=text[word.end() :].strip())
    head, _, tail = text.partition(" ")
    if bare_id(head) and (head.isupper() or "-" in head):
        return _match(bare_id(head), "", tail)
    return None


def worded_id(text: str) -> IdMatch | None:
    """The id in a paragraph such as `Requirement 4: …` or `User Story 2 - …`."""
    word = _WORD_ID.match(text)
    return _worded(word, rest=text[word.end() :].strip()) if word and word.end() < len(text) else None


def _worded(word: re.Match[str], *, title: str = "", rest: str = "") -> IdMatch:
    prefix = rules("ids")["words"][" ".join(word["word"].lower().split())]
    return IdMatch(f"{prefix}{word['number']}", title, rest, prefix)


def _match(key: str, title: str, rest: str) -> IdMatch | None:
    prefix = _prefix(key)
    letters = _LETTERS.match(key)
    upper = letters is not None and letters[0].isupper()
    found = IdMatch(key.replace(" ", ""), title.strip(), rest.strip(), prefix)
    return found if not _never_an_id(prefix) and (upper or (found.certain and key[:1].isupper())) else None


def _never_an_id(prefix: str) -> bool:
    return prefix in rules("ids")["prefixes"]["not_ids"]


@cache
def _kinds() -> dict[str, Kind | None]:
    listed = rules("ids")["kinds"]
    of_a_kind = {prefix: kind for kind in KINDS for prefix in listed[kind]}
    return {**of_a_kind, **dict.fromkeys(listed["by_section"])}


def _prefix(key: str) -> str:
    """The last group of letters: FR of SWE-FR-01."""
    groups = _GROUP.findall(key[:-1] if key[-1:].islower() else key)
    return groups[-1].upper() if groups else ""
