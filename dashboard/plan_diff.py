"""What changed from one version of a plan to the next, task by task."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

FIELDS = ("title", "description", "expects", "agent", "minutes", "requirements", "needs", "files", "packages", "kind")


@dataclass
class PlanChange:
    """One task's change: added, removed or changed, with (field, before, after)."""

    key: str
    title: str
    kind: str
    fields: list[tuple[str, str, str]] = field(default_factory=list)


def _words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value if value is not None else "")


def compare(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[PlanChange]:
    """Changes in the order of the newer plan, removed tasks last."""
    old = {str(entry.get("key")): entry for entry in before}
    new = {str(entry.get("key")): entry for entry in after}
    changes = []
    for key, entry in new.items():
        if key not in old:
            changes.append(PlanChange(key, _words(entry.get("title")), "added"))
            continue
        differs = [
            (name, _words(old[key].get(name)), _words(entry.get(name)))
            for name in FIELDS
            if (old[key].get(name) or None) != (entry.get(name) or None)
        ]
        if differs:
            changes.append(PlanChange(key, _words(entry.get("title")), "changed", differs))
    changes += [PlanChange(key, _words(e.get("title")), "removed") for key, e in old.items() if key not in new]
    return changes
