"""Tests for a module of a project, on request: not a run, so its words are kept nowhere but in what it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.gates.base import GateReport
from agents.memory.chroma import NoLessons
from agents.ports import TaskContext
from agents.testing.write import Written, write_tests
from agents.trials.ports import MemoryBook, MemorySpine
from projects.engine.budgets import limits_of
from projects.engine.building import gates
from projects.engine.models import guard, provider_for, runner
from projects.engine.places import repository_of
from projects.engine.sandboxes import fitted, name_for
from projects.engine.supply import ProjectSupply
from projects.models import Project
from projects.services.rights import require
from sandbox.registry import open_backend

if TYPE_CHECKING:
    from django.contrib.auth.models import User

TREE = "tests-on-request"


def tests_for(project: Project, module: str, *, target: float, rounds: int, by: User) -> Written:
    """Write them and return them; the repository is left as it is.

    Raises NotAllowed, NoModule, SuiteFails, LLMError, OverBudget and SandboxUnavailable.
    """
    require(by, project, "run.start")
    repository = repository_of(project)
    repository.ensure(project.name)
    provider = provider_for(project)
    used = 0

    class Counting(MemorySpine):
        def usage(self, *, prompt: int = 0, completion: int = 0, **_: object) -> None:
            nonlocal used
            used += prompt + completion

    context = TaskContext(
        project=project.slug, run="", house_rules=project.house_rules, spine=Counting(lambda: used), book=MemoryBook(),
        limits=limits_of(project), repository=repository, worktree_name=TREE, provider=lambda persona: provider, runner=runner(),
        backend=fitted(open_backend(name_for(project)), project), supply=ProjectSupply(project), lessons=NoLessons(), gates=gates,
        guard=guard(),
    )  # fmt: skip
    try:
        return write_tests(context, module, target=target, rounds=rounds)
    finally:
        context.close()
        repository.remove(TREE)


def branch_with(project: Project, written: Written, branch: str, *, by: User) -> GateReport:
    """Put the new tests on a branch of their own, if the review gates let them; what the gates said.

    Raises NotAllowed and GitError (a branch of this name is there, or it is no name).
    """
    require(by, project, "run.start")
    repository = repository_of(project)
    base = repository.head()
    tree = repository.worktree(TREE, base)
    try:
        tree.write(written.files)
        verdict = gates(tree.path, sorted(written.files), {})
        if verdict.verdict == "pass":
            tree.commit(base, f"Tests for {written.module}", f"{written.passed} tests.", {})
            tree.branch(branch)
    finally:
        repository.remove(TREE)
    return verdict
