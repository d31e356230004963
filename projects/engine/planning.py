"""Running the planning graph of one run."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.conf import settings

from agents.context.files import outline
from agents.context.knowledge import knowledge_of
from agents.engine.planner_context import PlanContext
from agents.engine.planner_graph import PlanState, build_plan_graph
from agents.events.lifecycle import PlanSampled
from agents.memory.base import NoLessons
from agents.prompts import provenance
from projects.engine.budgets import limits_of
from projects.engine.event_log import DatabaseEventLog
from projects.engine.model_clients import announce, canary_of, label, provider_for, runner
from projects.engine.saver import DjangoSaver, run_or_resume
from projects.engine.test_setups import packages_of, test_setup_of
from projects.models import Plan, Project, Requirement, RequirementDocument, Run, Task
from projects.models.project import NO_APPROVAL
from projects.services.audit.canonical import clean_line, clean_text
from projects.services.memory.lessons import embedder, store
from projects.services.planning import documents, plans, progress, reading
from projects.services.planning.overtaken import open_build
from projects.services.planning.patterns import rules_of
from projects.services.planning.plan_rules import examine
from projects.services.planning.request_work import starts_at
from projects.storage.paths import home, repository_of, repository_path

MOST_STEPS = 50
LEAST_WORDS = 4  # of a paragraph that tells something
README_CHARS = 300  # what the project is, in its first sentences
_PROSE = re.compile(r"(?:\A|\n\s*\n)([A-Za-z*_`\"'][^\n]*(?:\n[^\n]+)*)")  # no heading, badge, list or table
MOST_BACKGROUND = 200  # requirements that are not to be planned, one line each


class DatabasePlanStore:
    """Implements agents.engine.planner_context.PlanStore; a plan to compare (`sample`) is kept and not proposed."""

    def __init__(self, run: Run, event_log: DatabaseEventLog, sample: int = 0) -> None:
        self._run, self._event_log, self._sample = run, event_log, sample
        assert run.document is not None  # noqa: S101  start_planning() makes no run without one
        self._document: RequirementDocument = run.document

    def record(
        self,
        requirements: Sequence[Mapping[str, Any]],
        unmapped: Sequence[Mapping[str, Any]],
        questions: Sequence[Mapping[str, Any]],
    ) -> None:
        self._event_log.fenced(lambda: documents.record_extraction(self._document, requirements, unmapped, questions))

    def confirmed(self) -> bool:
        self._document.refresh_from_db()
        return self._document.status == RequirementDocument.Status.CONFIRMED

    def waits_for(self) -> str:
        run = open_build(self._document)
        return f"run {run.pk}, which builds an earlier version: finish or cancel it" if run is not None else ""

    def any_found(self) -> bool:
        return self._document.requirements.wanted().exists()

    def confirm_if_waived(self, *, small: bool) -> None:
        waived = small or self._run.autonomy in NO_APPROVAL
        if waived and not self.confirmed() and self.any_found():
            self._event_log.fenced(lambda: documents.confirm_requirements(self._document, by=None, small=small))

    def _accepted(self) -> Any:
        return self._document.requirements.filter(status=Requirement.Status.ACCEPTED).order_by("ordinal")

    def requirements(self) -> list[dict[str, Any]]:
        scope = progress.scope_of(self._document)
        built = [one.requirement.key for one in scope.built]
        rows = self._accepted().exclude(key__in=built).values("key", "author_key", "text", "kind", "acceptance")
        before = {one.requirement.key: one.before for one in scope.wanted if one.before}
        found = documents.with_mentioned(rows, self._run.project)
        for row in found:
            row["before"] = before.get(row["key"], "")
        gone = [one.requirement for one in scope.dropped]
        return found + [
            {"key": row.key, "author_key": row.author_key, "kind": row.kind, "text": progress.dropped_words(row.text)}
            for row in gone
        ]

    def passages(self) -> str:
        built = [one.requirement.key for one in progress.scope_of(self._document).built]
        return documents.passages_of(self._accepted().exclude(key__in=built).select_related("document"))

    def background(self) -> list[str]:
        scope = progress.scope_of(self._document)
        lines = [f"{one.requirement.name}, built: {one.requirement.text}" for one in scope.built]
        for one in scope.others:
            what = "built" if one.built else "not built"
            lines.append(f"{one.requirement.name} of {one.requirement.document}, {what}: {one.requirement.text}")
        return [clean_line(line, 300) for line in lines[:MOST_BACKGROUND]]

    def problems_of(self, plan: Mapping[str, Any]) -> list[str]:
        problems = examine(plan, self._document).problems
        return [problem["message"] for problem in problems if problem["severity"] == "error"]

    def additions_of(self, plan: Mapping[str, Any]) -> list[str]:
        problems = examine(plan, self._document).problems
        return [problem["message"] for problem in problems if problem["code"] in ("not_asked_for", "no_requirement")]

    def propose(self, plan: Mapping[str, Any]) -> None:
        if self._sample:
            tasks = len(found) if isinstance(found := plan.get("tasks"), list) else 0
            summary = f"variant {self._sample} of {self._run.samples}: {tasks} tasks"
            text = json.dumps(plan, ensure_ascii=False)
            made = PlanSampled(summary=summary, sample=self._sample, tasks=tasks, blobs={"plan": text})
            self._event_log.emit(made, key=f"sample-{self._sample}/plan")
            return
        # The node may run twice: the plan that this run proposed is then there already.
        if not Plan.objects.filter(document=self._document, created_at__gte=self._run.created_at).exists():
            self._event_log.fenced(lambda: plans.propose_plan(self._document, content=dict(plan)))


def _code(project: Project, about: str, start: str) -> dict[str, Any]:
    """The repository that the plan builds on, at the commit `start`, the base's by default; nothing before the first
    run of a new project."""
    if not repository_path(project).exists():
        return {}
    repository = repository_of(project)
    commit = start or repository.base_head()
    told = [word.removeprefix("./").rstrip("/") for word in test_setup_of(project).arguments if word[0] != "-"]
    code, readme = outline(repository, commit, about, told), repository.read(commit, "README.md") or ""
    said = next((found[1] for found in _PROSE.finditer(readme) if len(found[1].split()) >= LEAST_WORDS), "")
    begins = provenance.label(said[:README_CHARS], provenance.Source.REPOSITORY, "path=README.md")
    code = provenance.joined([code, begins]) if code else ""
    return {"code": code, "repository": repository, "commit": commit}


def _tests(project: Project) -> str:
    """How an imported repository's tests are run, as measured."""
    setup, packages = test_setup_of(project), packages_of(project)
    facts = {
        "folders and options": setup.arguments,
        "folders that tests import from": setup.python_path,
        "libraries that every test has": packages,
    }
    lines = [f"{name}: {' '.join(words)}" for name, words in facts.items() if words]
    if setup.known_failures:
        lines.append(f"tests that fail already: {len(setup.known_failures)}")
    return provenance.label(clean_text("\n".join(lines), 1_500), provenance.Source.REPOSITORY)


def _recipe(project: Project) -> str:
    """What the recipe of the project says to whoever plans it: its hints, and the libraries that it expects."""
    packages = ", ".join(project.recipe.get("packages", []))
    told = [project.recipe.get("plan", ""), f"Libraries to use where needed: {packages}" if packages else ""]
    return provenance.label("\n\n".join(filter(None, told)), provenance.Source.ARCHITECT)


def _starts(project: Project) -> bool:
    """Whether nothing but the recipe's skeleton is there yet."""
    return bool(project.recipe) and not Task.objects.filter(run__project=project, status=Task.Status.MERGED).exists()


def plan(run: Run, *, actor: str, token: int) -> None:
    """Run or resume the planning of a run; raises what agents.engine.contracts and agents.llm.base raise."""
    label(run)
    event_log = DatabaseEventLog(run, actor=actor, token=token)
    announce(run, event_log)
    project = run.project
    document = run.document
    assert document is not None  # noqa: S101
    last = plans.newest_plan(document)
    rejected = last if last is not None and last.status == Plan.Status.REJECTED else None
    context = PlanContext(
        project=project.slug,
        text=document.text,
        house_rules=rules_of(project),
        comment=rejected.comment if rejected else "",
        last_plan=json.dumps(rejected.content, ensure_ascii=False) if rejected else "",
        tests=_tests(project),
        recipe=_recipe(project),
        # Who plans the first build instead of the planner; what is merged is changed by the ordinary roles.
        team=str(project.recipe.get("team", "")) if (starts := _starts(project)) else "",
        starts=starts,
        background=reading.background_of(document),
        event_log=event_log,
        task_store=DatabasePlanStore(run, event_log),
        limits=limits_of(project),
        provider=lambda persona: provider_for(project, persona),
        runner=runner(),
        canary=canary_of(run),
        knowledge=knowledge_of(home(), store().folder, project.slug, embedder()),
        lessons=store() if settings.MEMORY else NoLessons(),
        lessons_across_projects=settings.SHARE_LESSONS,
        **_code(project, document.text, starts_at(run.document)),
    )
    graph = build_plan_graph().compile(checkpointer=DjangoSaver())
    for sample in range(1, run.samples + 1) if run.samples else (0,):
        thread = f"plan-{run.pk}" + f"-{sample}" * bool(sample)
        one = replace(context, sample=sample, task_store=DatabasePlanStore(run, event_log, sample))
        run_or_resume(graph, thread, lambda: PlanState(step=0), context=one, steps=MOST_STEPS)
