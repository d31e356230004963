"""Sentences that ask for something: "shall", "must", user stories, WHEN … THEN."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice

from agents.requirements.languages import ends_open, lowered, says, wording

# Quotations, and what a legend explains: "M = must".
_MENTIONED = re.compile(
    r"=\s?\w+|\"[^\"]{0,400}\"|“[^”]{0,400}”|„[^“”]{0,400}[“”]|«[^»]{0,400}»|「[^」]{0,400}」|`[^`]{0,200}`"
)
_SENTENCE_END = re.compile(
    r"[.!?\u061f\u0964][\"”’')\]*_]{0,3}\s(?=[\"“‘«„(\[*_`]{0,3}\S)|(?:[。\uff01\uff1f]|\?(?=[^\x00-\x7f]))[」』\uff09)”]{0,2}(?=.)"
)
_OPENING = '"“‘«„([*_`'
_ABBREVIATIONS = (
    *("etc.", "vs.", "cf.", "approx.", "no.", "fig.", "eg.", "ie.", "rev.", "mr.", "mrs.", "dr.", "st."),
    *("bzw.", "ca.", "nr.", "vgl.", "mme.", "p.ex.", "ej.", "др.", "руб."),
)
# A letter alone is one too: e.g., z. B., г.
_ABBREVIATED = re.compile(rf"(?<!\w)(?:[^\W\d_]\.|{'|'.join(map(re.escape, _ABBREVIATIONS))})\Z", re.IGNORECASE)
# A sentence that begins with one of these goes on about what the sentence before it asks for.
_GOES_ON = re.compile(r"(?:It|They|This|These|Those|He|She|Its|Their) ")
_WISH = re.compile(r"\bI(?:'d like| want| need| would like| can| wish| should| must)\b")
_AS_A = re.compile(r"\bas (?:an? |the )", re.IGNORECASE)
_BOLD = re.compile(r"(?<![\w*])\*\*(?=\S)([^*\n]+)\*\*(?!\w)")
_LABEL = re.compile(
    r"^[*_`]{0,3}([^\W\d_a-z][^:\uff1a.!?|。]{0,60}?)\s?[*_`]{0,3}(?::[*_`]{0,3}(?:\s+|$)|\uff1a[*_`]{0,3})"
)


@lru_cache(maxsize=256)
def is_modal(text: str) -> bool:
    """Whether the text demands something outside its quotations, and is no question."""
    if text.rstrip().endswith(("?", "\uff1f")):
        return False
    demands = wording("modal")
    return bool(demands.search(lowered(text))) and bool(demands.search(lowered(_MENTIONED.sub("", text))))


def asks(text: str) -> bool:
    """Whether the text is a question, maybe with a remark after it that demands nothing."""
    first, *others = split_sentences(text) or [""]
    if others and len(first.strip("?\uff1f ").split()) == 2 and len(others[0].split()) > 3 and not ends_open(text):
        return False  # "No signal? The entry is kept."
    return ends_open(text) or (ends_open(first) and not any(map(is_modal, others)))


def goes_on(sentence: str) -> bool:
    """Whether the sentence is only understood with the one before it."""
    return bool(_GOES_ON.match(sentence)) or says("example", sentence)


def split_sentences(text: str) -> list[str]:
    """Sentences in order; together they are the text again, but for the spaces between them."""
    text = " ".join(text.split())
    sentences, start = [], 0
    for end in _SENTENCE_END.finditer(text):
        stop = end.end() - (text[end.end() - 1] == " ")
        if _ABBREVIATED.search(text, max(start, stop - 9), stop):
            continue
        if text[stop] == " " and text[stop + 1 : stop + 6].lstrip(_OPENING)[:1].islower():
            continue
        sentences.append(text[start:stop].strip())
        start = stop
    if text[start:].strip():
        sentences.append(text[start:].strip())
    return sentences


def user_story(text: str) -> str:
    """The story "As a … I want …" inside the text, from its first word on; empty when there is none."""
    # A paragraph with more wishes than this is no story, and may be there to cost time.
    for wish in islice(_WISH.finditer(text), 50):
        before = max(0, wish.start() - 200)
        openings = list(_AS_A.finditer(text, before, wish.start()))
        if openings:
            start = openings[-1].start()
            return _without_quotes(text, start)
    return text if wording("as_a").search(text[:400].lower()) else ""


def tidy(text: str) -> str:
    """Whitespace and bold markers normalised; nothing else is touched."""
    return " ".join(_BOLD.sub(r"\1", text).split()) if "**" in text else " ".join(text.split())


def label_of(text: str) -> tuple[str, str]:
    """`Label: rest` split in two, for a label of at most six words; otherwise two empty strings."""
    found = _LABEL.match(text)
    if not found or found[1][0].islower() or len(found[1].split()) > 6:
        return "", ""
    return found[1].strip("*_` "), text[found.end() :].strip()


def _without_quotes(text: str, start: int) -> str:
    story = text[start:]
    if start and text[start - 1] in '"“':
        end = max(story.rfind('"'), story.rfind("”"))
        return story[:end] if end > 0 else story
    return story
