"""What a heading promises about the paragraphs under it."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Literal

from agents.requirements.languages import PatternSet, entries, lowered
from agents.requirements.model import Kind
from agents.requirements.rules import rules

# question: what is open
# prose: sentences with "shall" and the like count · part: a part of the product, whose list items count too ·
# mute: stories only · design: statements of an architecture
Role = Kind | Literal["prose", "part", "mute", "design", "question"]

_NUMBER = re.compile(r"^(\d{1,3}(?:\.\d{1,3}){0,5})[.):]?\s+")
# Numbers that are not written in digits: 三、 or 第三章 or IV. or 제3장.
_WRITTEN = re.compile(
    r"^(?:第?([一二三四五六七八九十]{1,3})(?:[、.\uff0e]|[章节節部]\s?)|([IVX]{1,5})[.)]\s+|[第제]\s?(\d{1,2})\s?[章节節部장]\s*)(?=\S)"
)
_DIGITS = "一二三四五六七八九十"
_ROMAN = "I II III IV V VI VII VIII IX X XI XII XIII XIV XV".split()
_STEP = re.compile(
    r"^(step|phase|stage|part|release|milestone|iteration|sprint|epic|module)\s+(\d{1,3})\b", re.IGNORECASE
)
_AND = re.compile(r"\s*[·&,/]\s*|\s(?:and|und|et|y|e|en|i|и|ve)\s")
_LETTERED = re.compile(r"^[A-Z][.)]\s")


def plain_title(heading: str) -> str:
    """The heading in lower case without its number and its markup."""
    text = heading.strip().strip("*_:#").strip()
    text = _WRITTEN.sub("", _NUMBER.sub("", text))
    text = _LETTERED.sub("", text)
    return " ".join(lowered(text.strip("*_: ")).split())


def heading_role(heading: str) -> Role | None:
    """What the heading promises; None when it says nothing (the section above decides then)."""
    title = plain_title(heading)
    return _role_of(title) if 0 < len(title) <= 160 else None


@lru_cache(maxsize=4096)
def _role_of(title: str) -> Role | None:
    for role, pattern in _role_patterns():
        if pattern.search(title):
            return role
    words, about = set(re.findall(r"[a-z&]+", title)), rules("headings")["words"]
    if all(_qualities().fullmatch(part) for part in _AND.split(title)):
        return "non_functional"
    if words.intersection(about["qualities"]) and words <= {*about["qualities"], *about["fillers"]}:
        return "non_functional"
    return None


@cache
def _qualities() -> re.Pattern[str]:
    return re.compile("|".join(entries("qualities")))


@cache
def _role_patterns() -> list[tuple[Role, PatternSet]]:
    # Of all languages; the first role that fits counts, and what is open or excluded is asked for first.
    listed = rules("headings")["roles"]
    order: list[Role] = ["question", *listed]
    found = []
    for role in order:
        found.append((role, PatternSet([*listed.get(role, ()), *entries(role)])))
    return found


@cache
def _title_pattern() -> re.Pattern[str]:
    titles = {name: "|".join(patterns) for name, patterns in rules("headings")["titles"].items()}
    return re.compile(f"^(?:(?:{titles['before']})?(?:{titles['qualified']})|{titles['alone']})$")


def is_known_title(line: str) -> bool:
    """Whether a line of a plain text is a heading by its words alone."""
    return len(line) <= 48 and bool(_title_pattern().match(plain_title(line)))


def heading_number(heading: str) -> tuple[int, ...]:
    """2.1 as (2, 1), 三、 as (3,); empty when the heading has no number."""
    text = heading.strip().strip("*_").strip()
    found = _NUMBER.match(text)
    if found:
        return tuple(int(part) for part in found[1].split("."))
    written = _WRITTEN.match(text)
    if not written:
        return ()
    if written[1]:
        tens, _, ones = written[1].rpartition("十")
        ten = 10 * (_DIGITS.find(tens) + 1 if tens else 1) if "十" in written[1] else 0
        return (ten + (_DIGITS.index(ones[-1]) + 1 if ones else 0),)
    if written[2]:
        return (_ROMAN.index(written[2]) + 1,) if written[2] in _ROMAN else ()
    return (int(written[3]),)


def step_label(heading: str) -> str:
    """S2 for "Step 2 — …", P1 for "Phase 1: …"; empty when the heading is neither."""
    found = _STEP.match(heading.strip().strip("*_").strip())
    return f"{found[1][0].upper()}{int(found[2])}" if found else ""
