"""Keys of requirements: short, and of one meaning in a whole project, however many documents it has."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from agents.requirements.changes import Said, normalized, partners
from projects.models import Project, Requirement, RequirementDocument

_NUMBERED = re.compile(r"\b(R|INF-)(\d+)\b")  # counted inside a document; IMP- keys name their rule
_MANUAL = "MAN-{:02}"


def manual_key(project: Project) -> str:
    """The next free key for what a person adds. Call it under the project's lock."""
    taken = set(Requirement.objects.filter(document__project=project).values_list("key", flat=True))
    return next(key for number in range(1, len(taken) + 2) if (key := _MANUAL.format(number)) not in taken)


def number_on(rows: Sequence[Requirement], document: RequirementDocument) -> None:
    """Give rows that were counted inside their document keys of the project.

    What the document it replaces asks for too keeps its key, also in other words, as does what any document of the
    project says in the same words; what is new takes the next free number.
    """
    others = Requirement.objects.filter(document__project=document.project_id).exclude(document=document)
    known: dict[str, str] = {}
    last: dict[str, int] = defaultdict(int)
    for key, text in others.order_by("document__version", "ordinal").values_list("key", "text"):
        if found := _NUMBERED.fullmatch(key):
            known[normalized(text)] = key
            last[found[1]] = max(last[found[1]], int(found[2]))
    kept = _kept(rows, document)
    for key in kept.values():
        known = {words: other for words, other in known.items() if other != key}
    changed: dict[str, str] = {}
    for row in rows if known else ():
        if found := _NUMBERED.fullmatch(row.key):
            key = kept.get(id(row)) or known.pop(normalized(row.text), "")
            if not key:
                last[found[1]] += 1
                key = f"{found[1]}{last[found[1]]:0{len(found[2])}}"
            changed[row.key], row.key = key, key
    for row in rows if changed else ():  # a suggestion names what calls for it
        row.reason = _NUMBERED.sub(lambda found: changed.get(found[0], found[0]), row.reason)


def said_of(row: Requirement) -> Said:
    """A requirement as it is compared with that of another document."""
    return Said(row.text, row.author_key, tuple(map(str, row.acceptance)))


def _kept(rows: Sequence[Requirement], document: RequirementDocument) -> dict[int, str]:
    """By the identity of a row the key that it has in the document which this one replaces."""
    if document.replaces is None:
        return {}
    found: dict[int, str] = {}
    for prefix in ("R", "INF-"):
        old = [row for row in document.replaces.requirements.order_by("ordinal") if _prefix(row.key) == prefix]
        new = [row for row in rows if _prefix(row.key) == prefix]
        pairs = partners([said_of(row) for row in old], [said_of(row) for row in new])
        found |= {id(new[at]): old[before].key for at, before in pairs.items()}
    return found


def _prefix(key: str) -> str:
    found = _NUMBERED.fullmatch(key)
    return found[1] if found else ""


def names_of(document: RequirementDocument) -> dict[str, str]:
    """The author's id → key of the requirements to build, where that id means one of them."""
    found: dict[str, list[str]] = defaultdict(list)
    for author_key, key in document.requirements.wanted().exclude(author_key="").values_list("author_key", "key"):
        found[author_key].append(key)
    return {author_key: keys[0] for author_key, keys in found.items() if len(keys) == 1}
