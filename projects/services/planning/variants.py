"""Variants of the newest valid plan of a document: compared, and one taken as a version that waits for its approval."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from django.contrib.auth.models import User

from agents.events.lifecycle import PlanSampled
from agents.planning.compare import Variant, different, drafts_of, measure, recommend
from agents.planning.model import PlanDraft, content_hash
from agents.planning.parse import parse_plan
from agents.planning.writers import order_writers
from agents.replies.jsonish import parse_json
from projects.errors import BadInput, StaleVersion
from projects.models import Plan, RequirementDocument
from projects.services.accounts.rights import require
from projects.services.audit.events import event_blobs
from projects.services.planning import plans
from projects.services.planning.plan_rules import Asked, asked_of

MOST_TASKS = 200  # a larger plan is not compared: the rules take time quadratic in the tasks
COUNT = 10
KEPT = 16  # comparisons
_drafts = lru_cache(KEPT)(drafts_of)
_measured = lru_cache(KEPT * 8)(measure)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Variants beside the plan they are made from, which is the first of them, and which one to take."""

    base: Plan
    workers: int
    wanted: int
    variants: list[Variant]
    recommended: Variant
    why: str


def compare(document: RequirementDocument, *, count: int = COUNT) -> Comparison:
    """The newest valid plan and its shortest variants, `count` in all, simulated with the project's workers.

    Raises BadInput where the document has no valid plan, or one that is too large.
    """
    asked = asked_of(document)
    base = Plan.objects.filter(document=document).exclude(status=Plan.Status.INVALID).order_by("-version").first()
    plan = parse_plan(base.content, asked.names)[0] if base is not None else None
    if base is None or plan is None or _errors(asked, plan):
        raise BadInput("The document has no valid plan yet: variants are made from one.")
    if len(plan.tasks) > MOST_TASKS:
        raise BadInput(f"The plan has {len(plan.tasks)} tasks; variants are compared up to {MOST_TASKS}.")
    workers = document.project.parallel_tasks
    drafts = different([*_drafts(plan), *_sampled(document, asked)])
    current, *others = [_judged(variant, asked, workers) for variant in drafts]
    others.sort(key=lambda variant: variant.measures.makespan if variant.measures else 1_000_000)
    variants = [current, *others][:count]
    recommended, why = recommend(variants)
    return Comparison(base, workers, len(asked.wanted), variants, recommended, why)


def _errors(asked: Asked, plan: PlanDraft) -> bool:
    return any(problem.severity == "error" for problem in asked.problems_of(plan))


def _sampled(document: RequirementDocument, asked: Asked) -> list[Variant]:
    """The plans that the planner made to be compared when it was last asked for some."""
    run = document.runs.filter(samples__gt=0).order_by("-pk").first()
    found = []
    for event in run.events.filter(type=PlanSampled.type).order_by("seq") if run is not None else ():
        plan, _ = parse_plan(parse_json(str(event_blobs(event)["plan"]))[0], asked.names)
        if plan is not None and len(plan.tasks) <= MOST_TASKS:
            plan = plan if _errors(asked, plan) else order_writers(plan)[0]
            name = f"sample-{event.payload['sample']}"
            found.append(Variant(name, f"made by the planner in run {event.run_id}", plan, content_hash(plan)))
    return found


def _judged(variant: Variant, asked: Asked, workers: int) -> Variant:
    measures = None if _errors(asked, variant.plan) else _measured(variant.plan, workers, asked.wanted)
    return replace(variant, problems=asked.problems_of(variant.plan), measures=measures)


def take_variant(plan: Plan, *, digest: str, by: User) -> Plan:
    """Make the variant with this hash a version of its own after `plan`, the newest one; it waits for its approval.

    Raises NotAllowed, BadInput, and StaleVersion when the plan or the variant is not what was compared.
    """
    require(by, plan.project, "plan.edit")
    compared = compare(plan.document, count=1_000)
    found = next((one for one in compared.variants if one.digest == digest), None)
    if found is None:
        raise StaleVersion("The plan has changed since its variants were compared. Compare them again.")
    if found.measures is None:
        raise BadInput(f"The variant {found.name} is not valid: {found.problems[0].message}")
    comment = f"Variant {found.name} of v{compared.base.version}: {found.about}."
    return plans.edit_plan(plan, content=found.plan.to_json(), by=by, comment=comment, base_hash=plan.content_hash)
