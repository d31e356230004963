"""One commit, done again: the tree before it becomes a project, its message the document; the flow is the real one."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from agents.engine.nodes.common import one_line
from agents.events.reasoning import Thought
from agents.personas import CODER, PLANNER
from agents.rehearsal.instances import patch
from agents.rehearsal.replies import write_replies
from agents.rehearsal.results import MERGED, WORKS, CommitResult
from agents.rehearsal.sight import sight
from agents.rehearsal.upstream import PastCommit, text_at
from agents.requirements.extract import extract
from agents.workspace.fetching import take_commit
from agents.workspace.git import GitError
from aiswe_site.demo.result import standstill
from aiswe_site.rehearsal.judge import Judge
from aiswe_site.startup.serving import Worker
from aiswe_site.terminal.operator import acting_user
from aiswe_site.terminal.problems import CliError
from projects.engine.baseline import measure
from projects.engine.building import gates
from projects.errors import ProjectsError
from projects.models import (
    Approval,
    Attempt,
    Baseline,
    Blob,
    Event,
    Plan,
    Project,
    RequirementDocument,
    Run,
    Task,
)
from projects.services.decisions import approvals
from projects.services.insight.rehearsals import REFERENCE, Order, RehearsalFolder
from projects.services.planning import documents, plans, runs
from projects.services.repositories.importing import CodeSource, import_project
from projects.services.work.usage import usage_of
from projects.storage.paths import repository_of
from sandbox.base import PackageRefused, SandboxError

LOOK_S = 0.5
MOST_QUESTIONS = 6
YES = "It is what the maintainers of this repository committed."


class Rehearser:
    """Plays commits one after the other with the worker of this process."""

    def __init__(self, folder: RehearsalFolder, order: Order, worker: Worker) -> None:
        self._folder, self._order, self._worker = folder, order, worker
        self._git_dir, self._by = Path(order.git_dir), acting_user("")
        self._ends = 0.0
        self._judge: Judge | None = None

    def play(self, change: PastCommit) -> CommitResult:
        """Do a commit again. Whatever happens is in the result."""
        began, result = time.monotonic(), CommitResult(change.sha, change.subject)
        self._ends = began + 60 * self._order.minutes
        project: Project | None = None
        try:
            project = self._import(change)
            result.environment = self._environment(project, result)
            result.gates = self._gates(project, change)
            if result.environment == WORKS:
                self._judge = Judge(project, change, self._text)
                result.fail_to_pass, result.pass_to_pass = self._judge.fail_to_pass, self._judge.pass_to_pass
                self._build(project, change, result)
        except (CliError, ProjectsError, GitError, SandboxError, PackageRefused, OSError) as problem:
            result.outcome = "blocked" if result.environment == WORKS else "skipped"
            result.environment = result.environment or one_line(str(problem))[:400]
            result.cause = one_line(str(problem))[:400]
        finally:
            if project is not None:
                self._end(project, result)
            result.seconds = round(time.monotonic() - began, 1)
        return result

    def _import(self, change: PastCommit) -> Project:
        base = self._folder.work / "base" / change.sha[:12]
        shutil.rmtree(base, ignore_errors=True)
        take_commit(self._git_dir, base, change.parent)
        try:
            model = "" if self._order.model == REFERENCE else self._order.model
            return import_project(CodeSource(folder=base), by=self._by, name=change.sha[:12], model=model).project
        finally:
            shutil.rmtree(base, ignore_errors=True)

    def _environment(self, project: Project, result: CommitResult) -> str:
        found = measure(project)
        for _ in range(3):
            if found.status == Baseline.Status.READY or not self._say_yes(project, result):
                break
            found = measure(project)
        return WORKS if found.status == Baseline.Status.READY else one_line(found.problem)[:400] or "It is not known."

    def _gates(self, project: Project, change: PastCommit) -> dict[str, Any]:
        """What the gates say of upstream's change beyond what they say of the tree before it."""
        repository = repository_of(project)
        head = repository.head()
        paths = [*change.code, *change.tests]
        tree = repository.worktree("upstream", head)
        there = [path for path in paths if (tree.path / path).is_file()]
        known = {finding.fingerprint for finding in gates(tree.path, there, {}).findings} if there else set()
        tree.write({path: self._text(change.sha, path) or "" for path in paths})
        report = gates(tree.path, paths, {}).without(known)
        repository.remove("upstream")
        return {"blocked": len(report.reasons), "findings": list(report.reasons)}

    def _text(self, commit: str, path: str) -> str | None:
        return text_at(self._git_dir, commit, path)

    def _build(self, project: Project, change: PastCommit, result: CommitResult) -> None:
        keys = [row.key for row in extract(change.document).requirements if row.kind != "non_goal"] or ["R1"]
        replies = self._folder.work / "replies"
        shutil.rmtree(replies, ignore_errors=True)
        write_replies(replies, change, keys, self._text)
        document = documents.upload_document(project, change.document.encode(), "change.md", by=self._by)
        planning = runs.start_planning(document, by=self._by)
        plan = self._planned(planning, document)
        plans.approve_plan(plan, content_hash=plan.content_hash, by=self._by)
        plan.refresh_from_db()
        run = runs.start_build(plan, by=self._by)
        looked_at = not self._order.model
        while not self._worker.failure:
            run.refresh_from_db()
            if looked_at and _prompt(run, CODER.name):
                break
            if run.status in run.OVER:
                break
            if standstill(run) and (len(result.asked) >= MOST_QUESTIONS or not self._say_yes(project, result)):
                break
            if time.monotonic() > self._ends:
                result.cause = f"It took longer than {self._order.minutes:g} minutes."
                break
            self._worker.wake()
            time.sleep(LOOK_S)
        self._read(project, planning, run, change, result)
        if looked_at:
            result.outcome, result.cause = "looked_at", ""

    def _planned(self, planning: Run, document: RequirementDocument) -> Plan:
        """The proposed plan. Raises CliError when there will be none."""
        while not self._worker.failure and time.monotonic() < self._ends:
            planning.refresh_from_db()
            document.refresh_from_db()
            if (plan := plans.newest_plan(document)) is not None:
                if plan.status == Plan.Status.INVALID:
                    raise CliError(f"The plan is not valid: {plan.problems[0]['message']}")
                return plan
            if planning.status in planning.OVER:
                break
            if document.status == document.Status.EXTRACTED:
                documents.confirm_requirements(document, by=self._by)
            self._worker.wake()
            time.sleep(LOOK_S)
        raise CliError(f"There is no plan: {planning.why or planning.get_status_display()}")

    def _say_yes(self, project: Project, result: CommitResult) -> bool:
        """Answer what waits, but for escalations: they are an outcome. False where no yes is taken."""
        taken, refusal = False, ""
        for question in project.approvals.filter(status=Approval.Status.PENDING).exclude(kind=Approval.Kind.ESCALATION):
            result.asked.append(f"{question.kind}: {question.title}")
            try:
                approvals.decide(question, by=self._by, yes=True, reason=YES)
                taken = True
            except ProjectsError as refused:
                refusal = one_line(str(refused))[:400]
        result.cause = "" if taken else refusal
        self._worker.wake()
        return taken

    def _read(self, project: Project, planning: Run, run: Run, change: PastCommit, result: CommitResult) -> None:
        tasks = list(run.tasks.all())
        result.tries = Attempt.objects.filter(task__run=run).count()
        used = [usage_of(run_id=each.pk) for each in (planning, run)]
        result.tokens = sum(each["prompt_tokens"] + each["completion_tokens"] for each in used)
        result.outcome = _outcome([task.status for task in tasks])
        merged = result.outcome == MERGED
        result.first_try = merged and result.tries == len(tasks)
        repository = repository_of(project)
        head = repository.head()
        base = run.base_commit or head
        wanted = {path: self._text(change.sha, path) or "" for path in (*change.code, *change.tests)}
        if merged:
            result.as_upstream = all(repository.read(head, path) == text for path, text in wanted.items())
            result.resolved = self._judge is not None and self._judge.resolves(head)
            result.patch = patch(repository.root, base, head)
        else:
            why = standstill(run) or run.why or " ".join(task.why for task in tasks)
            result.cause = result.cause or one_line(why)[:400]
        before = {path: text for path in repository.files(base) if (text := repository.read(base, path)) is not None}
        prompts = [_prompt(planning, PLANNER.name), _prompt(run, CODER.name)]
        result.sight = sight(change, before, wanted, *prompts).to_json()

    def _end(self, project: Project, result: CommitResult) -> None:
        """Stop what is still at work, and give the disk back."""
        for run in Run.objects.filter(project=project).exclude(status__in=Run.OVER):
            with suppress(ProjectsError):
                runs.cancel_run(run, by=self._by)
        repository = repository_of(project)
        for place in (repository.root, repository.worktrees):
            shutil.rmtree(place, ignore_errors=True)


def _outcome(states: Sequence[str]) -> str:
    if states and set(states) == {Task.Status.MERGED}:
        return MERGED
    return "escalated" if Task.Status.ESCALATED in states else "blocked"


def _prompt(run: Run, role: str) -> str:
    """The first prompt that a role was sent in a run; "" before there is one."""
    event = Event.objects.filter(run=run, type=Thought.type, role=role).order_by("seq").first()
    if event is None:
        return ""
    hashes = event.blobs.get("prompt", [])
    texts = dict(Blob.objects.filter(pk__in=hashes).values_list("pk", "content"))
    return "\n".join(texts.get(name, "") for name in hashes)
