"""What a sentence or a finished draft turns out to be: asked for, excluded, open, or none of it."""

from __future__ import annotations

import re
from typing import Literal

from agents.requirements.drafts import Draft
from agents.requirements.languages import ends_open, is_excluded, is_open, is_struck, needs_clarification, says
from agents.requirements.model import Kind
from agents.requirements.sentences import is_modal, label_of, split_sentences

_ANNOUNCES = re.compile(r"\b(?:the following|as follows|listed below)\b", re.IGNORECASE)
Verdict = Kind | Literal["question"] | None


def of_sentence(sentence: str, *, letter: bool) -> Verdict:
    """What a sentence in prose says. Letters and minutes wish and exclude in softer words than specifications."""
    past = says("today", sentence)
    if is_withdrawn(sentence):
        return "non_goal"
    if is_open(sentence):
        return "question"
    if letter and not past and (is_excluded(sentence) or is_excluded(label_of(sentence)[1])):
        return "non_goal"
    if says("decided", sentence):
        return "functional"
    if past:
        return None
    return "functional" if is_modal(sentence) or (letter and says("wish", sentence)) else None


def is_withdrawn(text: str) -> bool:
    """Whether the text was to be built once: struck out, "withdrawn", "dropped by"."""
    return is_struck(text) or says("ended", text) or (says("withdrawn", text) and not is_modal(text))


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
    if not draft.acceptance and (ends_open(text) or (not draft.key and is_open(text) and not is_modal(text))):
        draft.kind = None
        return True
    return False


def introduces(text: str) -> bool:
    """Whether a paragraph only announces what comes after it."""
    if text.startswith("**") and text.endswith("**") and text.count("**") == 2:
        return True
    text = text.rstrip("*_ ")
    if text.endswith((":", "\uff1a")):
        return len(split_sentences(text)) == 1
    return bool(_ANNOUNCES.search(text)) and len(split_sentences(text)) == 1 and not is_modal(text)
