"""The door to plans: what a plan is, how it is read, and whether it holds."""

from agents.planning.model import AGENTS, PLAN_SCHEMA, TASK_KINDS, PlanDraft, PlanProblem, PlanTask, content_hash
from agents.planning.parse import parse_plan, with_unique_keys
from agents.planning.validate import PlanLimits, validate_plan

__all__ = [
    "AGENTS",
    "PLAN_SCHEMA",
    "TASK_KINDS",
    "PlanDraft",
    "PlanLimits",
    "PlanProblem",
    "PlanTask",
    "content_hash",
    "parse_plan",
    "validate_plan",
    "with_unique_keys",
]
