"""Plans for one document side by side: what each measures, and which one to take."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import asdict, astuple, dataclass
from typing import Any

from agents.planning.graph import longest_chains, needs_of
from agents.planning.model import PlanDraft, PlanProblem, content_hash
from agents.planning.rules import RULES, risky
from agents.planning.schedule import simulate
from agents.planning.writers import order_writers

CURRENT = "current"
WORTH = 0.95  # estimates are rough: a plan that saves less than a twentieth of the time is no reason to change


@dataclass(frozen=True, slots=True)
class Measures:
    """What a plan would take with the project's number of workers, in minutes where a time is meant."""

    makespan: int  # until the last task is done
    work: int  # all estimates together
    tasks: int
    longest_task: int
    risk_done: int  # until the risky tasks are done
    depth: int  # tasks of the longest chain
    width: int  # most tasks at one moment, with as many workers as tasks
    covered: int  # requirements
    unordered: int  # pairs of tasks that write one file, neither of which waits for the other

    @property
    def share(self) -> float:
        """Of the work the part that one has to wait for: a plan of smaller estimates is not better for them alone."""
        return self.makespan / self.work


COLUMNS = (
    "Minutes",
    "Work",
    "Tasks",
    "Longest task",
    "Risky done",
    "Depth",
    "Width",
    "Covered",
    "Unordered",
)  # of a table


@dataclass(frozen=True, slots=True)
class Variant:
    """A plan for the document, where it comes from, and what validation says about it; measured when it is valid."""

    name: str
    about: str
    plan: PlanDraft
    digest: str
    loosens: bool = False
    problems: Sequence[PlanProblem] = ()
    measures: Measures | None = None

    @property
    def cells(self) -> list[tuple[str, int]]:
        """The columns of a table with the measures in them; none of a plan that is not valid."""
        return list(zip(COLUMNS, astuple(self.measures), strict=True)) if self.measures else []

    def to_json(self) -> dict[str, Any]:
        """The row of the table as plain data, without the plan."""
        numbers = asdict(self.measures) if self.measures else {}
        found = [problem.to_json() for problem in self.problems]
        facts = {"name": self.name, "about": self.about, "hash": self.digest, "drops_needs": self.loosens}
        return {**facts, "valid": bool(self.measures), **numbers, "problems": found}


def drafts_of(plan: PlanDraft) -> list[Variant]:
    """The plan as it is, then what the rules make of it; a variant that says the same as an earlier one is left out."""
    found = [Variant(CURRENT, "the plan as it is", plan, content_hash(plan))]
    for rule in RULES:
        changed = rule.apply(plan)
        found.append(Variant(rule.name, rule.about, changed, content_hash(changed), loosens=rule.loosens))
    return different(found)


def different(variants: Sequence[Variant]) -> list[Variant]:
    """The first of those that say the same."""
    found: dict[str, Variant] = {}
    for variant in variants:
        found.setdefault(variant.digest, variant)
    return [*found.values()]


def measure(plan: PlanDraft, workers: int, wanted: Set[str]) -> Measures:
    """Simulate a valid plan with so many tasks at a time; `wanted` are the requirements that need one."""
    schedule, needs = simulate(plan, workers), needs_of(plan)
    steps = longest_chains(dict.fromkeys(needs, 1), needs)
    return Measures(
        makespan=schedule.until(needs),
        work=sum(task.minutes for task in plan.tasks),
        tasks=len(plan.tasks),
        longest_task=max(task.minutes for task in plan.tasks),
        risk_done=schedule.until(risky(plan)),
        depth=max(steps.values()),
        width=simulate(plan, len(plan.tasks)).peak,
        covered=len(wanted & {key for task in plan.tasks for key in task.requirements}),
        unordered=len(order_writers(plan)[1]),
    )


def recommend(variants: Sequence[Variant]) -> tuple[Variant, str]:
    """The variant to take, and why; the first of `variants` is the current plan, which must be valid.

    The shortest for its work of those that cover no less than the current plan and drop no need; the current one unless
    another is clearly shorter.
    """
    (current, now), *others = [(one, one.measures) for one in variants if one.measures]
    best, least = current, now
    for one, found in others:
        if not one.loosens and found.covered >= now.covered and found.share < least.share:
            best, least = one, found
    if least.share > WORTH * now.share:
        best, least = current, now
        why = f"Keep the current plan: no variant that keeps its order is clearly shorter than {now.makespan} minutes."
    else:
        why = f"{best.name} takes {least.makespan} minutes for {least.work} minutes of work; the current plan takes "
        why += f"{now.makespan} for {now.work}. It covers the same requirements."
    took, looser = min(((found.makespan, one.name) for one, found in others if one.loosens), default=(now.makespan, ""))
    if took <= WORTH * now.work * least.share:
        why += f" {looser} would take {took}, but it drops needs: look first at which ones."
    return best, why
