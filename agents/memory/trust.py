"""May these words become a lesson? They are a model's, and what it read may have put them there.

Words can be fooled, so nothing rests on this: lessons carry no rights (docs/explanation/injection.md). It keeps out
what is plainly no explanation of a failure.
"""

from __future__ import annotations

import re
import unicodedata

from agents.memory.base import LessonStore
from agents.memory.words import likeness
from agents.requirements.injection_hints import odd

SAME = 0.85  # likeness from which two lessons say the same in other words
_OWN = r"(?:localhost|127\.0\.0\.1|example\.(?:com|org|net))\b"
_ELSEWHERE = re.compile(
    rf"\b(?:https?|ftp|file|ssh|git)://(?!{_OWN})|\bdata:[\w.+-]{{1,40}}/[\w.+-]{{1,40}}[;,]"
    r"|\|\s{0,3}(?:ba|z)?sh\b|\bbase64\s{1,3}-{1,2}d",
    re.IGNORECASE,
)


def planted(text: str) -> str:
    """What makes a text look as if it were to steer its readers, in words; "" when nothing does.

    It is read as written, on one line, and without disguise of its letters.
    """
    folded = unicodedata.normalize("NFKC", text)
    if _ELSEWHERE.search(folded):
        return "names an address outside, or a command that fetches"
    return odd(text) or odd(folded) or odd(" ".join(folded.split()))


def known_as(store: LessonStore, *, project: str, signature: str, text: str) -> str:
    """The id of a lesson from the very same failure that says the same in nearly the same words; "" when there is none.

    A model that was shown a lesson says it again in its diagnosis: one lesson in three wordings would fill all the
    places.
    """
    mine = [one for one in store.by_signature(signature) if one.project == project]
    return next((one.id for one in mine if likeness(text, [one.text])[0] >= SAME), "")


def switched_off(store: LessonStore, *, project: str, signature: str, text: str) -> str:
    """Why a person of this project switched off a lesson with the same content; "" when nobody did."""
    found = [(one, likeness(text, [one.text])[0]) for one in store.by_signature(signature)]
    found += [(near.lesson, near.similarity) for near in store.similar(text)]
    for lesson, similarity in found:
        if lesson.disabled_by and lesson.project == project and similarity >= SAME:
            return f"{lesson.disabled_by} switched off what it says: {lesson.disabled_why}"
    return ""
