"""What a sentence or a finished draft turns out to be: asked for, excluded, open, or none of it."""

from __future__ import annotations

import re
from typing import Literal

from agents.requirements.drafts import Draft
from agents.requirements.languages import is_excluded, is_open, is_struck, needs_clarification, says
from agents.requirements.legend import legend_pairs
from agents.requirements.model import Kind
from agents.requirements.sections import heading_role
from agents.requirements.sentences import asks, is_modal, label_of, split_sentences, user_story

_WHOLE = re.compile(r"^(?:\*[^*]+\*|_[^_]+_|\((?:[^()]|\([^()]*\))+\)|\uff08[^\uff08\uff09]+\uff09)$")
_ANNOUNCES = re.compile(r"\b(?:the following|as follows|listed below)\b", re.IGNORECASE)
# A criterion of EARS states behaviour of its own.
_EARS = re.compile(r"(?:WHEN|IF|WHILE|WHERE|ONCE|AFTER|THE)\b.*\bSHALL\b", re.IGNORECASE)
_THEN = frozenset("SHALL DANN ALORS ENTONCES ALLORA ENTÃO DAN WTEDY ТО".split())
_CLAUSE_NUMBER = re.compile(r"^[*_]*(?:\d{1,2}(?:\.\d{1,3}){1,4}[.)]?\s+)?")
Verdict = Kind | Literal["question"] | None


def of_sentence(sentence: str, *, letter: bool, rules: bool = False) -> Verdict:
    """What a sentence in prose says. Letters and minutes wish and exclude in softer words than specifications, in whose
    sections a general rule ("every", "no") or a limit is a demand.
    """
    past = says("today", sentence)
    if is_withdrawn(sentence):
        return "non_goal"
    if is_open(sentence) or asks(sentence):
        return "question"
    if letter and not past and (is_excluded(sentence) or is_excluded(label_of(sentence)[1])):
        return "non_goal"
    if says("decided", sentence):
        return "functional"
    if past:
        return None
    if rules and (says("rule", sentence) or says("limit", sentence)):
        return "functional"
    return "functional" if is_modal(sentence) or (letter and says("wish", sentence)) else None


def is_criterion_of_ears(text: str) -> bool:
    """Whether an item or a numbered clause is "WHEN … the system SHALL …", also in other languages."""
    text = _CLAUSE_NUMBER.sub("", text)
    words = re.findall(r"\w+", text)
    return bool(_EARS.match(text)) or (text[:2].isupper() and not _THEN.isdisjoint(words))


def is_aside(text: str) -> bool:
    """Whether a paragraph is an example, a legend, or a remark as a whole in brackets or in italics."""
    if user_story(text):
        return False
    return bool(_WHOLE.match(text)) or bool(legend_pairs(text)) or says("example", text)


def says_several(text: str) -> bool:
    """Whether later sentences of a paragraph demand or exclude something of their own."""
    return not is_withdrawn(text) and any(is_modal(s) or is_excluded(s) for s in split_sentences(text)[1:])


def is_withdrawn(text: str) -> bool:
    """Whether the text was to be built once: struck out, "withdrawn", "dropped by"."""
    return is_struck(text) or says("ended", text) or (says("withdrawn", text) and not is_modal(text))


def is_marked_out(marks: str) -> bool:
    """Whether the tags and comments above a scenario keep it from being built."""
    return is_withdrawn(marks) or is_excluded(marks) or heading_role(marks) == "non_goal"


def judge_draft(draft: Draft) -> bool:
    """Correct the kind by what the whole draft says. Whether it leaves something open; it is then no requirement,
    unless its author gave it an id or it demands something beside."""
    text = draft.text
    if is_withdrawn(draft.title) or is_withdrawn(text):
        draft.kind = "non_goal"
    elif draft.kind in ("functional", "constraint") and is_excluded(label_of(text)[1] or text):
        # A label may be a quality, as in "No dependencies: Use the standard library."
        draft.kind = "non_goal"
    if draft.kind == "non_goal":
        return False
    if needs_clarification(text):
        if not draft.key and not is_modal(text):
            draft.kind = None
        return True
    if not draft.acceptance and (asks(text) or (not draft.key and is_open(text) and not is_modal(text))):
        draft.kind = None
        return True
    return False


def introduces(text: str) -> bool:
    """Whether a paragraph only announces what comes after it."""
    if text.startswith("**") and text.endswith("**") and text.count("**") == 2:
        return True
    text = text.rstrip("*_ ")
    if text.endswith((":", "\uff1a")):
        *before, last = split_sentences(text)
        return not before or (len(last.split()) < 3 and not any(map(is_modal, before)))
    return bool(_ANNOUNCES.search(text)) and len(split_sentences(text)) == 1 and not is_modal(text)
