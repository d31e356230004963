"""Plans as data: parsed, checked, compared and laid out by code, never by a model."""

from agents.planning.diff import PlanDiff, diff_plans
from agents.planning.graph import CriticalPath, PlanCycle, critical_path, topological_layers
from agents.planning.layout import Layout, layout
from agents.planning.model import AGENTS, PLAN_SCHEMA, TASK_KINDS, PlanDraft, PlanProblem, PlanTask, content_hash
from agents.planning.parse import parse_plan, with_unique_keys
from agents.planning.validate import PlanLimits, validate_plan

__all__ = [
    "AGENTS",
    "PLAN_SCHEMA",
    "TASK_KINDS",
    "CriticalPath",
    "Layout",
    "PlanCycle",
    "PlanDiff",
    "PlanDraft",
    "PlanLimits",
    "PlanProblem",
    "PlanTask",
    "content_hash",
    "critical_path",
    "diff_plans",
    "layout",
    "parse_plan",
    "topological_layers",
    "validate_plan",
    "with_unique_keys",
]
