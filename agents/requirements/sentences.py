"""Sentences that ask for something: "shall", "must", user stories, WHEN … THEN."""

from __future__ import annotations

import re
from itertools import islice

_MODAL = re.compile(
    r"\b(?:shall|must|should|needs to|is required|are required|has to)\b|\bSHALL\b|\bMUST\b", re.IGNORECASE
)
_QUOTED = re.compile(r"\"[^\"]{0,400}\"|“[^”]{0,400}”|`[^`]{0,200}`")
_SENTENCE_END = re.compile(r"[.!?][\"”’')\]]{0,3}\s(?=[\"“‘(\[*_`]{0,3}[A-Z0-9])")
_ABBREVIATIONS = ("e.g.", "i.e.", "etc.", "vs.", "cf.", "approx.", "no.", "fig.", "eg.", "ie.")
_WISH = re.compile(r"\bI(?:'d like| want| need| would like| can| wish| should| must)\b")
_AS_A = re.compile(r"\bas (?:an? |the )", re.IGNORECASE)
_BOLD = re.compile(r"(?<![\w*])\*\*(?=\S)([^*\n]+)\*\*(?!\w)")
_LABEL = re.compile(r"^[*_`]{0,3}([A-Z][^:.!?|]{0,60}?)[*_`]{0,3}:[*_`]{0,3}(?:\s+|$)")


def is_modal(text: str) -> bool:
    """Whether the text demands something outside its quotations, and is no question."""
    return bool(_MODAL.search(text)) and not text.rstrip().endswith("?") and bool(_MODAL.search(_QUOTED.sub("", text)))


def modal_sentences(text: str) -> list[str]:
    """The demanding sentences; neighbours stay together, so that "It must also …" keeps what "it" is."""
    found: list[list[str]] = []
    open_run = False
    for sentence in split_sentences(text):
        demanding = is_modal(sentence)
        if demanding and open_run:
            found[-1].append(sentence)
        elif demanding:
            found.append([sentence])
        open_run = demanding
    return [" ".join(run) for run in found]


def split_sentences(text: str) -> list[str]:
    """Sentences in order; joined by one space they are the text again."""
    text = " ".join(text.split())
    sentences, start = [], 0
    for end in _SENTENCE_END.finditer(text):
        stop = end.end() - 1
        if text[max(start, stop - 8) : stop].lower().endswith(_ABBREVIATIONS):
            continue
        sentences.append(text[start:stop])
        start = stop + 1
    if start < len(text):
        sentences.append(text[start:])
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
    return ""


def tidy(text: str) -> str:
    """Whitespace and bold markers normalised; nothing else is touched."""
    return " ".join(_BOLD.sub(r"\1", text).split()) if "**" in text else " ".join(text.split())


def label_of(text: str) -> tuple[str, str]:
    """`Label: rest` split in two, for a label of at most six words; otherwise two empty strings."""
    found = _LABEL.match(text)
    if not found or len(found[1].split()) > 6:
        return "", ""
    return found[1].strip("*_` "), text[found.end() :].strip()


def _without_quotes(text: str, start: int) -> str:
    story = text[start:]
    if start and text[start - 1] in '"“':
        end = max(story.rfind('"'), story.rfind("”"))
        return story[:end] if end > 0 else story
    return story
