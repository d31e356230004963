"""Requirement ids as people write them: `FR-01: …`, `NFR1`, `**US-3** —`, `REQ_1.2`, `### Requirement 4`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agents.requirements.model import Kind

_ID = r"[A-Z][A-Za-z]{0,9}(?:[-_][A-Z]{1,8}){0,2}[-_. ]?\d{1,5}(?:[.\-]\d{1,3}){0,3}[a-z]?"
_GROUP = re.compile(r"[A-Za-z]+")
_LETTERS = re.compile(r"[A-Za-z]+(?:[-_][A-Z]+)*")
_DIGIT = re.compile(r"\d")
_ID_ONLY = re.compile(rf"^\W{{0,3}}({_ID})\W{{0,3}}$")
# An id defines only when something sets it off from what follows; "FR-1 is covered by …" is a mention.
_DEFINITION = re.compile(
    rf"^[*_`\[(]{{0,4}}({_ID})[*_`\])]{{0,4}}"
    r"(?:\s{0,3}\((?P<title>[^()]{1,80}(?:\([^()]{0,40}\)[^()]{0,40})?)\))?"
    r"[*_`]{0,3}(?:\s{0,3}(?::|[–—]|-(?=\s)|\|)[*_`]{0,3}|[.)](?=\s))(?:\s+|$)"
)
_BRACKETED = re.compile(rf"^\[({_ID})\]\s+")
# "FR-01 The system shall …": no separator, but a new sentence.
_BARE_START = re.compile(rf"^[*_`]{{0,3}}({_ID})[*_`]{{0,3}}\s+(?=[A-Z\"“])")
_WORD_ID = re.compile(
    r"^(?P<word>(?:non[- ]?functional |functional )?requirement|user story|story|feature|use case|acceptance criterion"
    r"|constraint|goal|objective)\s{1,3}#?(?P<number>\d{1,4}(?:\.\d{1,3}){0,3})\s{0,3}(?:[:.)–—-]\s*|$)",
    re.IGNORECASE,
)
_WORDS = {
    "requirement": "R",
    "functional requirement": "FR",
    "non-functional requirement": "NFR",
    "non functional requirement": "NFR",
    "nonfunctional requirement": "NFR",
    "user story": "US",
    "story": "US",
    "feature": "F",
    "use case": "UC",
    "acceptance criterion": "AC",
    "constraint": "C",
    "goal": "G",
    "objective": "O",
}
_KINDS: dict[str, Kind | None] = {
    **dict.fromkeys(("FR", "F", "FEAT", "FUNC", "UR"), "functional"),
    **dict.fromkeys(("NFR", "NF", "QR", "PERF", "SEC", "QA"), "non_functional"),
    **dict.fromkeys(("US", "STORY", "UC"), "story"),
    **dict.fromkeys(("AC",), "acceptance"),
    **dict.fromkeys(("C", "CON", "TC"), "constraint"),
    **dict.fromkeys(("G", "GOAL", "O", "OBJ", "KPI"), "goal"),
    **dict.fromkeys(("NG",), "non_goal"),
    # Their kind comes from the section they stand in.
    **dict.fromkeys(("R", "REQ", "BR", "SR", "SYS", "SRS", "PRD", "RQ", "UI", "DR"), None),
}
_CERTAIN = frozenset({"FR", "NFR", "US", "REQ", "AC", "UC", "STORY"})
_NOT_IDS = frozenset(
    (
        "UTF SHA ISO RFC GPT TLS SSL HTTP HTTPS MD IEEE CVE CWE RGB UTC GMT IPV PEP ES EC S P Q V H L X T K M B PHASE "
        "STEP LAYER PART CHAPTER SECTION STAGE MODULE WEEK DAY MONTH LEVEL RISK TASK SPRINT MILESTONE PYTHON NODE PAGE "
        "FIGURE TABLE APPENDIX VERSION PERSONA EXAMPLE OPTION RULE NOTE LINE"
    ).split()
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
        return self.prefix in _KINDS

    @property
    def certain(self) -> bool:
        """Whether the prefix means a requirement even in a section about something else."""
        return self.prefix in _CERTAIN

    @property
    def kind(self) -> Kind | None:
        """The kind its prefix stands for; None when the section decides."""
        return _KINDS.get(self.prefix)


def bare_id(text: str) -> str:
    """The id when `text` is an id and nothing else, otherwise the empty string."""
    found = _ID_ONLY.match(text) if len(text) <= 48 else None
    if not found or " " in found[1]:
        return ""
    return found[1] if _prefix(found[1]) not in _NOT_IDS else ""


def defined_id(text: str, *, heading: bool = False) -> IdMatch | None:
    """The id that `text` begins by defining, if it does. In a heading the id needs no separator."""
    # Almost every paragraph fails here, and this costs far less than the pattern.
    if not (text[:1].isupper() or text[:1] in "*_`[(") or not _DIGIT.search(text, 1, 64):
        return None
    bracketed = _BRACKETED.match(text)
    if bracketed:
        return _match(bracketed[1], "", text[bracketed.end() :])
    found = _DEFINITION.match(text)
    if found:
        return _match(found[1], found["title"] or "", text[found.end() :])
    bare = _BARE_START.match(text)
    if bare and " " not in bare[1]:
        match = _match(bare[1], "", text[bare.end() :])
        if match and match.certain:
            return match
    if not heading:
        return None
    word = _WORD_ID.match(text)
    if word:
        prefix = _WORDS[" ".join(word["word"].lower().split())]
        return IdMatch(f"{prefix}{word['number']}", text[word.end() :].strip(), "", prefix)
    head, _, tail = text.partition(" ")
    if bare_id(head) and (head.isupper() or "-" in head):
        return _match(bare_id(head), "", tail)
    return None


def worded_id(text: str) -> IdMatch | None:
    """The id in a paragraph such as `Requirement 4: …` or `User Story 2 - …`."""
    word = _WORD_ID.match(text)
    if not word or word.end() >= len(text):
        return None
    prefix = _WORDS[" ".join(word["word"].lower().split())]
    return IdMatch(f"{prefix}{word['number']}", "", text[word.end() :].strip(), prefix)


def _match(key: str, title: str, rest: str) -> IdMatch | None:
    prefix = _prefix(key)
    letters = _LETTERS.match(key)
    upper = letters is not None and letters[0].isupper()
    if prefix in _NOT_IDS or not (upper or (prefix in _CERTAIN and key[:1].isupper())):
        return None
    return IdMatch(key.replace(" ", ""), title.strip(), rest.strip(), prefix)


def _prefix(key: str) -> str:
    """The last group of letters: FR of SWE-FR-01."""
    groups = _GROUP.findall(key[:-1] if key[-1:].islower() else key)
    return groups[-1].upper() if groups else ""
