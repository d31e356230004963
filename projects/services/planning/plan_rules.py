"""What follows from a plan's content: whether it is valid, its hash, and where each node is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.engine.planner_additions import additions
from agents.planning.layout import Layout, Sizes, layout
from agents.planning.model import PlanDraft, PlanProblem, content_hash
from agents.planning.parse import parse_plan
from agents.planning.validate import limited, validate_plan
from agents.planning.writers import order_writers
from agents.requirements.injection_hints import passages
from projects.models import Plan, Requirement, RequirementDocument, Run, Task
from projects.services.planning import outside
from projects.services.planning.documents import hints, passages_of
from projects.services.planning.keys import names_of
from projects.services.planning.patterns import rules_of
from projects.services.planning.progress import DONE as FINISHED
from projects.services.planning.progress import scope_of
from projects.services.planning.reading import opening_of
from projects.services.work.graphs import grid_of

SIZES = Sizes(width=240, height=72, gap_x=80, gap_y=24, lane=14, margin=24)
CHANGES = "For a change, upload a document that asks for it."


@dataclass(frozen=True, slots=True)
class Examined:
    """A plan's content as it is stored, its hash ("" when it is no plan at all), and what is wrong with it."""

    content: dict[str, Any]
    digest: str
    problems: list[dict[str, Any]]

    @property
    def first_error(self) -> str:
        """The first problem that forbids approval, in words; "" when there is none."""
        return next((str(item["message"]) for item in self.problems if item["severity"] == "error"), "")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a plan of a document has to cover, and the author's ids for it."""

    kinds: Mapping[str, str]
    built: frozenset[str]
    names: Mapping[str, str]

    @property
    def wanted(self) -> frozenset[str]:
        """Keys of what needs a task: what the product shall not do and what is built do not."""
        return frozenset(key for key, kind in self.kinds.items() if kind != "non_goal") - self.built

    def problems_of(self, plan: PlanDraft) -> list[PlanProblem]:
        """Everything wrong with a plan; errors first."""
        return validate_plan(plan, self.kinds, built=self.built)


def asked_of(document: RequirementDocument) -> Asked:
    """The requirements of a document that are to be built, or whose code is to be removed."""
    scope = scope_of(document)
    dropped = {one.requirement.key: "removed" for one in scope.dropped}
    kinds = dropped | dict(document.requirements.wanted().values_list("key", "kind"))
    return Asked(kinds, frozenset(one.requirement.key for one in scope.built), names_of(document))


def examine(content: Mapping[str, Any], document: RequirementDocument, *, order: bool = False) -> Examined:
    """Read and validate content against the requirements of a document that are to be built. Never raises.

    With `order`, tasks of a valid plan that write one file get the needs that the content leaves out.
    """
    asked = asked_of(document)
    parsed, found = parse_plan(content, asked.names)
    if parsed is None:
        return Examined(dict(content), "", [problem.to_json() for problem in found])
    found += asked.problems_of(parsed)
    found += outside.problems_of(parsed, document.project)
    found += additions(
        parsed, _words_of(document), passages_of(document.requirements.wanted().select_related("document"))
    )
    if order and all(problem.severity == "warning" for problem in found):
        parsed, added = order_writers(parsed)
        found += added
    return Examined(parsed.to_json(), content_hash(parsed), [problem.to_json() for problem in limited(found)])


def _words_of(document: RequirementDocument) -> str:
    """The words of what is asked for: requirements, what stands beside them, house rules, the recipe."""
    rows = document.requirements.wanted().exclude(kind=Requirement.Kind.NON_GOAL).values_list("text", "acceptance")
    wanted = "\n".join(line for text, acceptance in rows for line in (text, *acceptance))
    recipe = document.project.recipe.get("plan", "")
    return f"{wanted}\n{opening_of(document)}\n{document.background}\n{rules_of(document.project)}\n{recipe}"


def outdated(plan: Plan) -> str:
    """Why an approved plan cannot be built as it was approved; "" when it can.

    One that was built before names what its first build may have removed already, so that only its document counts.
    """
    newer = plan.document.replaced_by.filter(status=RequirementDocument.Status.CONFIRMED).first()
    if newer is not None:
        return f"{newer} took the place of {plan.document}. Build a plan of that one."
    problem = "" if plan.runs.exists() else examine(plan.content, plan.document).first_error
    return f"{problem} Edit the plan, and approve that version." if problem else ""


def nothing_left(document: RequirementDocument) -> str:
    """Why there is nothing to plan of a confirmed or withdrawn document, and the way out; "" while there is."""
    if document.status == RequirementDocument.Status.WITHDRAWN:
        return f"{document} was withdrawn. Upload it again to have it planned."
    if document.status != RequirementDocument.Status.CONFIRMED:
        return ""
    scope = scope_of(document)
    if scope.dropped or any(one.state != FINISHED for one in scope.wanted) or not scope.wanted:
        return ""
    return f"Nothing of {document} is left to plan: all that it asks for is built. {CHANGES}"


def already_built(plan: Plan) -> str:
    """Which build merged all tasks of a plan, what of its document is open all the same, the way out; "" for none."""
    builds = plan.runs.filter(kind=Run.Kind.BUILD, status=Run.Status.FINISHED)
    whole = builds.exclude(tasks__in=Task.objects.exclude(status=Task.Status.MERGED)).order_by("-pk").first()
    if whole is None:
        return ""
    rows = scope_of(plan.document).wanted
    left = ", ".join(f"{one.requirement.key} ({one.state.replace('_', ' ')})" for one in rows if one.state != FINISHED)
    way = f"Open are {left}: plan {plan.document} again." if left else CHANGES
    return f"run {whole.pk} merged all its tasks. {way}"


def contradiction_problems(document: RequirementDocument) -> list[dict[str, Any]]:
    """Warnings about requirements of which one rules out another, of this document or of two in force."""
    pairs = [hint for hint in hints(document) if len(hint.keys) > 1]
    words = {"code": "contradiction", "tasks": [], "severity": "warning"}
    return [{"message": f"{' and '.join(hint.keys)} contradict: {hint.why}", **words} for hint in pairs]


def odd_problems(document: RequirementDocument, content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Warnings about passages of document and plan that look like instructions to the agents; nothing is blocked."""
    rows = document.requirements.wanted().order_by("ordinal")
    read = [*rows.values("key", "text", "acceptance"), *(item for item in document.unmapped if isinstance(item, dict))]
    tasks = [
        {
            "key": str(spec.get("key", "")),
            "text": f"{spec.get('title', '')}\n{spec.get('description', '')}\n{spec.get('expects', '')}",
        }
        for spec in content.get("tasks") or []
        if isinstance(spec, dict)
    ]
    keys = {task["key"] for task in tasks}
    return [
        {
            "code": "odd_text",
            "message": f"{found['where']} looks like an instruction to the agents: it {found['why']}. It is treated "
            f"as text: “{found['text']}”",
            "tasks": [found["where"]] if found["where"] in keys else [],
            "severity": "warning",
        }
        for found in passages([*read, *tasks])
    ]


def layout_of(plan: Plan) -> tuple[Layout, dict[str, dict[str, Any]]]:
    """The plan's graph in CSS pixels, its cards where those of its run stand; and what the plan says of each task."""
    specs: dict[str, dict[str, Any]] = {}
    for spec in plan.content.get("tasks") or []:
        if isinstance(spec, dict):
            specs.setdefault(str(spec.get("key")), spec)
    needs = tuple(
        (key, own if isinstance(own := spec.get("minutes"), int) else 0, tuple(map(str, spec.get("needs") or ())))
        for key, spec in specs.items()
    )
    return layout(grid_of(needs), SIZES), specs
