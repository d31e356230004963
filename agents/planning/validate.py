"""Validate a plan before it is shown for approval: all problems together, worded so that a person or model can act."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from agents.planning.graph import find_cycles, needs_of, shown_path
from agents.planning.model import TASK_KINDS, PlanDraft, PlanProblem, PlanTask, Severity

# What must be covered by a task; goals and constraints only ought to be, non-goals must not.
_MUST_COVER = frozenset({"functional", "non_functional", "story", "removed"})
_SHOULD_COVER = frozenset({"goal", "constraint", "acceptance"})
_MAX_PROBLEMS_PER_CODE = 50
_SHOWN_KEYS = 12


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """How large a plan may be: tasks, needs in all, and agent minutes of one task."""

    max_tasks: int = 1_000
    max_needs: int = 200_000
    max_minutes: int = 60


def validate_plan(
    plan: PlanDraft,
    requirement_keys: Mapping[str, str],
    limits: PlanLimits | None = None,
    built: Collection[str] = (),
) -> list[PlanProblem]:
    """Everything wrong with `plan`; errors first.

    `requirement_keys` maps each requirement's key to its kind, or to "removed" where its code is to be removed; those
    in `built` need no task.
    """
    limits = limits or PlanLimits()
    if not plan.tasks:
        return [PlanProblem("empty_plan", "The plan has no tasks. Propose at least one task per requirement.")]
    needs_count = sum(len(task.needs) for task in plan.tasks)
    if len(plan.tasks) > limits.max_tasks:
        message = f"The plan has {len(plan.tasks):,} tasks; the limit is {limits.max_tasks:,}. Split it into phases."
        return [PlanProblem("too_many_tasks", message)]
    if needs_count > limits.max_needs:
        message = f"The plan has {needs_count:,} needs; the limit is {limits.max_needs:,}. Name direct needs only."
        return [PlanProblem("too_many_needs", message)]
    problems = _names(plan)
    for task in plan.tasks:
        problems += _task_problems(task, requirement_keys, limits)
    problems += _need_problems(plan)
    problems += _cycle_problems(plan)
    problems += _coverage_problems(plan, {key: kind for key, kind in requirement_keys.items() if key not in built})
    return limited(problems)


def _names(plan: PlanDraft) -> list[PlanProblem]:
    counts = Counter(task.key for task in plan.tasks)
    return [
        PlanProblem("duplicate_key", f"{count} tasks are called {key}. Give each task a key of its own.", (key,))
        for key, count in counts.items()
        if count > 1
    ]


def _task_problems(task: PlanTask, requirements: Mapping[str, str], limits: PlanLimits) -> list[PlanProblem]:
    found: list[PlanProblem] = []

    def note(code: str, message: str, severity: Severity = "error") -> None:
        found.append(PlanProblem(code, message, (task.key,), severity))

    if not task.key.strip():
        note("no_key", "A task has no key. Call it T-01 or the like.")
    if task.kind not in TASK_KINDS:
        note("unknown_kind", f"{task.key} is of kind {task.kind!r}; known kinds are {', '.join(TASK_KINDS)}.")
    if task.minutes > limits.max_minutes:
        note(
            "too_long",
            f"{task.key} is estimated at {task.minutes} minutes; the limit is {limits.max_minutes}. Split it.",
        )
    if task.minutes < 1:
        note("bad_minutes", f"{task.key} is estimated at {task.minutes} minutes. Estimate at least 1.")
    for key in task.requirements:
        if key not in requirements:
            note("unknown_requirement", f"{task.key} names requirement {key}, which does not exist. Use a listed key.")
        elif requirements[key] == "non_goal":
            note("plans_non_goal", f"{task.key} works on {key}, which is a non-goal. Drop it or ask.", "warning")
    if not task.requirements:
        note("no_requirement", f"{task.key} serves no requirement. Name those it serves, or drop it.", "warning")
    if not task.expects.strip():
        note("no_expectation", f"{task.key} does not say how one sees that it is done.", "warning")
    for path in task.files:
        if _escapes(path):
            note(
                "bad_path", f"{task.key} lists the file {path!r}, which is not inside the project. Use a relative path."
            )
    return found


def _need_problems(plan: PlanDraft) -> list[PlanProblem]:
    keys = {task.key for task in plan.tasks}
    found = []
    for task in plan.tasks:
        for need in task.needs:
            if need == task.key:
                found.append(PlanProblem("self_dependency", f"{task.key} needs itself. Remove that need.", (task.key,)))
            elif need not in keys:
                message = f"{task.key} needs {need}, which is not a task of this plan. Add it or remove the dependency."
                found.append(PlanProblem("dangling_need", message, (task.key,)))
    return found


def _cycle_problems(plan: PlanDraft) -> list[PlanProblem]:
    return [
        PlanProblem("cycle", f"Circular dependency: {shown_path(path)}. Remove one of these needs.", path[:-1])
        for path in find_cycles(needs_of(plan))
    ]


def _coverage_problems(plan: PlanDraft, requirements: Mapping[str, str]) -> list[PlanProblem]:
    covered = {key for task in plan.tasks for key in task.requirements}
    found = []
    for kinds, severity, say in (
        (_MUST_COVER, "error", "must be covered"),
        (_SHOULD_COVER, "warning", "should be covered"),
    ):
        missing = [key for key, kind in requirements.items() if kind in kinds and key not in covered]
        if missing:
            shown = ", ".join(missing[:_SHOWN_KEYS])
            if len(missing) > _SHOWN_KEYS:
                shown += f" and {len(missing) - _SHOWN_KEYS} more"
            for key in missing:
                message = f"No task covers requirement {key} ({requirements[key]}); it {say}. Uncovered: {shown}."
                if requirements[key] == "removed":
                    message = f"No task removes what requirement {key} asked for. A task that names {key} must."
                found.append(PlanProblem("uncovered_requirement", message, (), severity))  # type: ignore[arg-type]  # a literal above
    return found


def _escapes(path: str) -> bool:
    parts = PurePosixPath(path.replace("\\", "/"))
    return parts.is_absolute() or ".." in parts.parts or path[1:2] == ":" or path.startswith("~")


def limited(problems: Sequence[PlanProblem]) -> list[PlanProblem]:
    """Errors first, and at most so many of one code, so that a broken plan of 1,000 tasks stays readable."""
    counts: Counter[tuple[str, str]] = Counter()
    kept = []
    for problem in problems:
        counts[problem.code, problem.severity] += 1
        if counts[problem.code, problem.severity] <= _MAX_PROBLEMS_PER_CODE:
            kept.append(problem)
    for (code, severity), count in counts.items():
        if count > _MAX_PROBLEMS_PER_CODE:
            message = f"{count - _MAX_PROBLEMS_PER_CODE:,} more of the same ({code})."
            kept.append(PlanProblem(code, message, (), "error" if severity == "error" else "warning"))
    return sorted(kept, key=lambda p: p.severity != "error")
