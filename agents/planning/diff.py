"""What changed between two versions of a plan: the unit a person reviews."""

from __future__ import annotations

from dataclasses import dataclass, fields

from agents.planning.model import PlanDraft, PlanTask

_SETS = frozenset({"requirements", "needs", "files", "packages"})


@dataclass(frozen=True, slots=True)
class TaskChange:
    """A task in both versions, and the names of the values that differ."""

    old: PlanTask
    new: PlanTask
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanDiff:
    """Tasks only in the new plan, only in the old one, in both but different; `notes_changed` for the note."""

    added: tuple[PlanTask, ...]
    removed: tuple[PlanTask, ...]
    changed: tuple[TaskChange, ...]
    notes_changed: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether both plans say the same."""
        return not (self.added or self.removed or self.changed or self.notes_changed)

    @property
    def summary(self) -> str:
        """In a few signs: `+2 −1 ~3`."""
        counts = (("+", self.added), ("−", self.removed), ("~", self.changed))
        return " ".join(f"{sign}{len(items)}" for sign, items in counts if items) or (
            "notes" if self.notes_changed else "no change"
        )


def diff_plans(old: PlanDraft, new: PlanDraft) -> PlanDiff:
    """Compare two plans by task key. Order says nothing."""
    before = {task.key: task for task in reversed(old.tasks)}
    after = {task.key: task for task in reversed(new.tasks)}
    changed = []
    for task in _first_bearers(new):
        earlier = before.get(task.key)
        if earlier is not None:
            names = tuple(f.name for f in fields(PlanTask) if _differs(f.name, earlier, task))
            if names:
                changed.append(TaskChange(earlier, task, names))
    return PlanDiff(
        added=tuple(t for t in _first_bearers(new) if t.key not in before),
        removed=tuple(t for t in _first_bearers(old) if t.key not in after),
        changed=tuple(changed),
        notes_changed=old.notes != new.notes,
    )


def _first_bearers(plan: PlanDraft) -> list[PlanTask]:
    return list({task.key: task for task in reversed(plan.tasks)}.values())[::-1]


def _differs(name: str, old: PlanTask, new: PlanTask) -> bool:
    a, b = getattr(old, name), getattr(new, name)
    return set(a) != set(b) if name in _SETS else a != b
