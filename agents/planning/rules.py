"""Variants of a plan that need no model. None loses a requirement, a file or a package, and none closes a circle."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from agents.planning.graph import ancestors_of, followers_of, needs_of, plan_order
from agents.planning.model import PlanDraft, PlanTask
from agents.planning.validate import PlanLimits
from agents.planning.writers import order_writers, plain_path

MOST_MINUTES = PlanLimits().max_minutes
PART_MINUTES = 10  # a task is not split into smaller parts
MOST_TITLE = 200
RISKY_SHARE = 4  # one task in so many counts as risky


@dataclass(frozen=True, slots=True)
class Rule:
    """A change of a plan; one that `loosens` drops needs, so a person has to look at what it drops."""

    name: str
    about: str
    change: Callable[[PlanDraft], PlanDraft]
    loosens: bool = False

    def apply(self, plan: PlanDraft) -> PlanDraft:
        """The changed plan, in which tasks that write one file are in order."""
        return order_writers(self.change(plan))[0]


def merge_chains(plan: PlanDraft) -> PlanDraft:
    """One task of two, where the second needs only the first and nothing else needs the first."""
    tasks, needs = {task.key: task for task in plan.tasks}, needs_of(plan)
    followers, names, merged = followers_of(needs), dict[str, str](), dict[str, PlanTask]()
    for key in plan_order(needs):
        task = _renamed(tasks[key], names)
        linked = len(needs[key]) == 1 and followers[needs[key][0]] == [key]
        first = merged[task.needs[0]] if linked else task
        same = (first.kind, first.agent) == (task.kind, task.agent) and not (first.blueprint or task.blueprint)
        if linked and same and first.minutes + task.minutes <= MOST_MINUTES:
            names[key], merged[first.key] = first.key, _joined(first, task)
        else:
            merged[key] = task
    return replace(plan, tasks=tuple(merged.values()))


def _joined(first: PlanTask, second: PlanTask) -> PlanTask:
    return replace(
        first,
        title=f"{first.title}; {second.title}"[:MOST_TITLE],
        description="\n\n".join(filter(None, (first.description, second.description))),
        expects=" ".join(filter(None, (first.expects, second.expects))),
        minutes=first.minutes + second.minutes,
        requirements=tuple(dict.fromkeys((*first.requirements, *second.requirements))),
        files=tuple(dict.fromkeys((*first.files, *second.files))),
        packages=tuple(dict.fromkeys((*first.packages, *second.packages))),
    )


def _renamed(task: PlanTask, names: dict[str, str]) -> PlanTask:
    needs = dict.fromkeys(names.get(need, need) for need in task.needs)
    return replace(task, needs=tuple(need for need in needs if need != task.key))


def split(plan: PlanDraft) -> PlanDraft:
    """A task of several requirements as several tasks, one after the other, that write its files."""
    keys, names = {task.key for task in plan.tasks}, dict[str, str]()
    parts: list[PlanTask] = []
    for task in plan.tasks:
        count = min(len(task.requirements), task.minutes // PART_MINUTES)
        if count < 2 or not task.files or task.blueprint:  # what is known to share no file would not stay in order
            parts.append(task)
            continue
        needs = task.needs
        for number in range(count):
            served = task.requirements[number::count]
            key = f"{task.key}{'abcdefghijklmnopqrstuvwxyz'[number % 26]}"
            while key in keys:
                key += "x"
            keys.add(key)
            text = f"{task.description}\n\nThis task is only the part for {', '.join(served)}.".strip()
            minutes = task.minutes // count + (number < task.minutes % count)
            parts.append(replace(task, key=key, description=text, requirements=served, needs=needs, minutes=minutes))
            needs = (key,)
        names[task.key] = parts[-1].key
    return replace(plan, tasks=tuple(_renamed(task, names) for task in parts))


def widen(plan: PlanDraft) -> PlanDraft:
    """Needs only between tasks that share a file, requirement or package or name each other's files, and on what every
    other task needs: the foundation."""
    tasks, before = {task.key: task for task in plan.tasks}, ancestors_of(needs_of(plan))
    foundation = {key for key in tasks if all(key in needed for other, needed in before.items() if other != key)}
    words = {key: {*re.findall(r"\w+", f"{t.title} {t.description} {t.expects}".lower())} for key, t in tasks.items()}
    stems = {key: {PurePosixPath(path).stem.lower() for path in _files(task)} for key, task in tasks.items()}

    def related(one: PlanTask, other: PlanTask) -> bool:
        shared = any({*getattr(one, name)} & {*getattr(other, name)} for name in ("requirements", "packages"))
        named = words[one.key] & stems[other.key] or words[other.key] & stems[one.key]
        return bool(shared or named or _files(one) & _files(other))

    wider, after = dict[str, PlanTask](), dict[str, set[str]]()
    for key in plan_order(needs_of(plan)):
        kept = [n for n in tasks if n in before[key] and (n in foundation or related(tasks[key], tasks[n]))]
        after[key] = {*kept}.union(*(after[need] for need in kept))
        direct = tuple(need for need in kept if not any(need in after[other] for other in kept))
        wider[key] = replace(tasks[key], needs=direct)
    return replace(plan, tasks=tuple(wider[key] for key in tasks))


def risky(plan: PlanDraft) -> list[str]:
    """Keys of the quarter of tasks that most depends on or least is known of; the riskiest first."""
    before = ancestors_of(needs_of(plan))
    depending = {key: sum(key in needed for needed in before.values()) for key in before}
    score = {
        task.key: depending[task.key] + len(task.packages) + (not task.files) + (not task.expects)
        for task in plan.tasks
    }
    found = sorted((key for key in score if score[key]), key=lambda key: -score[key])
    return found[: max(1, len(score) // RISKY_SHARE)]


def risk_first(plan: PlanDraft) -> PlanDraft:
    """Nothing begins before the risky tasks are done, except what they need themselves."""
    before, first = ancestors_of(needs_of(plan)), risky(plan)
    early = {*first}.union(*(before[key] for key in first))
    last = tuple(key for key in first if not any(key in before[other] for other in first))
    return replace(
        plan,
        tasks=tuple(
            task
            if task.key in early
            else replace(task, needs=(*task.needs, *(key for key in last if key not in before[task.key])))
            for task in plan.tasks
        ),
    )


def _files(task: PlanTask) -> set[str]:
    return {plain_path(path) for path in task.files}


RULES = (
    Rule("fewer-handovers", "chains of small tasks are one task each", merge_chains),
    Rule("smaller-tasks", "tasks of several requirements are split", split),
    Rule("risk-first", "the tasks that most depends on or least is known of come first", risk_first),
    Rule("widest", "needs between tasks that share nothing are dropped", widen, loosens=True),
    Rule("widest-smaller", "as widest, and tasks of several requirements are split", lambda p: widen(split(p)), True),
    Rule("widest-fewer", "as widest, then chains of small tasks are one each", lambda p: merge_chains(widen(p)), True),
)
