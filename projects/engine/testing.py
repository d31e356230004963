"""Tests for a module of a project, on request: a run of its own, so that every word and command is on its record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.engine.contracts import NoTaskStore, TaskContext
from agents.engine.effects import effect
from agents.engine.module_tests.write import SuiteFails, Written, write_tests
from agents.events.effects import CommitMade, EffectAnnounced
from agents.events.lifecycle import RunQueued
from agents.gates.base import GateReport
from agents.gates.feedback import gate_judged
from agents.languages.base import NoModule
from agents.languages.registry import language_of_task
from agents.memory.base import NoLessons
from agents.workspace.git import GitError, is_branch_name
from agents.workspace.repository import Repository
from projects.engine.building import task_context
from projects.engine.on_request import run_on_request
from projects.errors import BadInput
from projects.models import Project, Run
from projects.services.accounts.rights import require
from projects.services.work.moves import move_run
from projects.storage.disk_space import need_room
from projects.storage.paths import ensure_repository

if TYPE_CHECKING:
    from django.contrib.auth.models import User


@dataclass(frozen=True)
class OnRequest:
    """The result of a request: the tests, the run that has the record, and the gates' verdict on a branch."""

    written: Written
    run: int
    gates: GateReport | None = None
    committed: bool = False  # the tests are on the branch


def on_request(project: Project, module: str, *, target: float, rounds: int, by: User, branch: str = "") -> OnRequest:
    """Write them and return them, and with `branch` commit them there if the review gates let them; main is left as it
    is.

    What cannot work is refused before the model is asked. Raises NotAllowed, NoModule, BadInput (a branch of this name
    is there, or it is no name), SuiteFails, IllegalMove (somebody stopped the run), LLMError, OverBudget, NoRoom and
    SandboxUnavailable.
    """
    require(by, project, "run.start")
    need_room()
    repository = ensure_repository(project)
    _need_module(repository, module)
    _need_free(repository, branch)
    queued = RunQueued(
        summary=f"tests for {module}", role="user", kind=Run.Kind.TESTS, module=module, recording=project.is_recording
    )
    with run_on_request(project, queued, by, known=(NoModule, SuiteFails)) as (run, event_log):
        store, name = NoTaskStore(), f"tests-{run.pk}"
        context = task_context(run, event_log, task_store=store, worktree_name=name, lessons=NoLessons())
        try:
            written = write_tests(context, module, target=target, rounds=rounds)
            verdict, committed = _branch(context, written, branch) if branch and written.files else (None, False)
        finally:
            context.close()
            repository.remove(context.worktree_name)
        move_run(run, Run.Status.FINISHED, reason=_outcome(written))
    return OnRequest(written, run.pk, verdict, committed)


def _need_module(repository: Repository, module: str) -> None:
    """Refuse a name that stands for no module before a run is made of it."""
    base = repository.head()
    files = repository.files(base)
    language = language_of_task({"files": [module]})
    path = language.find_module(module, files)
    language.need_code(path, repository.read(base, path) or "", files)


def _need_free(repository: Repository, branch: str) -> None:
    """Refuse a branch that cannot be made before anything is paid for."""
    if not branch:
        return
    if not is_branch_name(branch):
        raise BadInput(f"{branch!r} is not a valid branch name: use letters and digits, with . / - _ between them.")
    parts = branch.split("/")
    for end in range(1, len(parts) + 1):  # a branch `a` leaves no room for one named `a/b`
        there = "/".join(parts[:end])
        if repository.has_branch(there):
            raise BadInput(f"A branch named {there!r} already exists: choose another name.")


def _outcome(written: Written) -> str:
    now = f"branches {written.covered.branches:.0f} %, lines {written.covered.lines:.0f} %"
    if not written.files:
        return f"{now}: nothing had to be written" if written.met else f"no tests that pass were written; {now}"
    return f"{written.passed} test{'s' * (written.passed != 1)}, {now}" + (
        "" if written.met else f", short of {written.target:g} %"
    )


def _branch(ctx: TaskContext, written: Written, branch: str) -> tuple[GateReport, bool]:
    """Put the new tests on a branch of their own, if the review gates let them; the tests are handed out either way."""
    repository, event_log = ctx.repository, ctx.event_log
    base = repository.head()
    tree = repository.worktree(ctx.worktree_name, base)
    tree.write(written.files)
    verdict = ctx.gates(tree.path, sorted(written.files), {})
    passed = verdict.verdict == "pass"
    event_log.emit(gate_judged(verdict), key="branch/gates")
    if not passed:
        return verdict, False
    head = event_log.head()
    trailers = {"Run": ctx.run, "Event": str(head.seq), "Audit-Head": head.hash}
    try:
        announcement = EffectAnnounced(summary=f"commits to {branch} …", role="tester", effect="git.commit", base=base)
        with effect(event_log, announcement, key="branch/commit"):
            sha = tree.commit(base, f"Tests for {written.module}", f"{written.passed} tests.", trailers)
            repository.branch(branch, sha)
    except GitError as refused:
        written.problem = written.problem or str(refused)
        return verdict, False
    made = CommitMade(summary=f"commit {sha[:10]} on {branch}", role="tester", sha=sha, base=base, branch=branch)
    event_log.emit(made, key="branch/commit")
    return verdict, True
