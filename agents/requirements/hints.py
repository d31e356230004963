"""What can be doubted about requirements by looking at them together: hints for their author, never a verdict."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from agents.requirements.gaps import gaps
from agents.requirements.languages import wording
from agents.requirements.model import Stated

_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?![\w.]*\d)")
_WORD = re.compile(r"[^\W\d_]{2,}")
_MODAL = re.compile(r"\b(?:must|shall|should|will|can|may)\b")
_RULED_OUT = "non_goal"
_DENIALS = frozenset({"not", "no", "never", "cannot", "without"})
# Fewer words than this say too little about what a number counts.
_SUBJECT = 4
_MOST = 50
_BUILT = frozenset({"functional", "non_functional", "story", "constraint", "acceptance"})


@dataclass(frozen=True, slots=True)
class Hint:
    """Something about one or two requirements that their author may want to say more precisely."""

    keys: tuple[str, ...]
    why: str


def hints_for(requirements: Iterable[Stated], beside: Iterable[Stated] = (), text: str = "") -> list[Hint]:
    """What contradicts, words that no test can check, and, with the document's `text`, what is unsaid. At most 50.

    `beside` are requirements of other documents: only what contradicts them is told.
    """
    beside = list(beside)
    wanted = [r for r in requirements if r.kind in _BUILT or r.kind == _RULED_OUT]
    own = {r.key for r in wanted}
    found = _contradictions([*(r for r in beside if r.kind in _BUILT or r.kind == _RULED_OUT), *wanted])
    vague = [hint for r in wanted if r.kind in _BUILT and (hint := _untestable(r))]
    built = [r for r in wanted if r.kind in _BUILT]
    unsaid = [Hint((key,), why) for key, why in gaps(built, text, beside)] if text else []
    return [*(hint for hint in found if not own.isdisjoint(hint.keys)), *vague, *unsaid][:_MOST]


def _contradictions(requirements: Iterable[Stated]) -> list[Hint]:
    by_subject: dict[tuple[str, ...], list[tuple[Stated, tuple[str, ...]]]] = defaultdict(list)
    by_claim: dict[tuple[str, ...], dict[bool, str]] = defaultdict(dict)
    denied = []
    for requirement in requirements:
        for sentence in re.split(r"(?<=[.;])\s+", requirement.text[:2_000]):
            numbers = tuple(_NUMBER.findall(sentence))
            words = tuple(_WORD.findall(_MODAL.sub(" ", _NUMBER.sub(" ", sentence.lower()))))
            if numbers and len(words) >= _SUBJECT and requirement.kind in _BUILT:
                by_subject[words].append((requirement, numbers))
            claim = tuple(word for word in words if word not in _DENIALS)
            if len(claim) >= _SUBJECT:
                sides = by_claim[*claim, *numbers]
                denies = bool(_DENIALS & {*words}) or requirement.kind == _RULED_OUT
                against = sides.get(not denies, requirement.key)
                if against != requirement.key:
                    denied.append(Hint((against, requirement.key), "One asks for what the other one rules out."))
                sides.setdefault(denies, requirement.key)
    hints = denied
    for places in by_subject.values():
        first, numbers = places[0]
        other = next((place for place in places[1:] if place[1] != numbers and place[0].key != first.key), None)
        if other:
            values = " and ".join(", ".join(found) for found in (numbers, other[1]))
            hints.append(Hint((first.key, other[0].key), f"They say the same with different numbers: {values}."))
    return hints


def _untestable(requirement: Stated) -> Hint | None:
    said = " ".join((requirement.text[:2_000], *requirement.acceptance))
    found = wording("vague").search(said.lower())
    # A number or criteria beside the word may say what it means.
    if not found or requirement.acceptance or re.search(r"\d", said):
        return None
    return Hint((requirement.key,), f"No test can check “{found[0].strip()}”: say how it is measured.")
