"""Upstream's tests, run on a tree that holds a commit's code: what must fail before it, and pass after."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from agents.engine.baseline import configured
from agents.languages.registry import language_of_task
from agents.rehearsal.upstream import PastCommit
from projects.engine.sandboxes import fitted, name_for
from projects.engine.test_setups import packages_of, test_setup_of
from projects.models import Project
from projects.storage.packages import ProjectSupply
from projects.storage.paths import repository_of
from sandbox.base import SandboxError
from sandbox.registry import open_backend

PASSED = "passed"


class Judge:
    """Runs the test files of one commit. Raises SandboxError, and PackageRefused for packages that cannot be had."""

    def __init__(self, project: Project, change: PastCommit, text: Callable[[str, str], str | None]) -> None:
        self._repository, self._change = repository_of(project), change
        self._spoken = language_of_task({"files": list(change.tests)})
        self._backend = fitted(open_backend(name_for(project)), project)
        wanted = packages_of(project)
        self._packages = ProjectSupply(project).fetch(wanted) if wanted else None
        setup = configured(test_setup_of(project), self._repository)
        self._setup = replace(setup, known_failures=frozenset())
        self._tests = {path: text(change.sha, path) or "" for path in change.tests}
        base, code = self._repository.head(), {path: text(change.sha, path) or "" for path in change.code}
        before, after = self._outcomes(base, {}), self._outcomes(base, code)
        passing = {test for test, outcome in after.items() if outcome == PASSED}
        self.fail_to_pass = sorted(test for test in passing if before.get(test) != PASSED)
        self.pass_to_pass = sorted(test for test in passing if before.get(test) == PASSED)

    def resolves(self, commit: str) -> bool:
        """Whether upstream's tests pass on a commit, those that passed before included."""
        found = self._outcomes(commit, {})
        return all(found.get(test) == PASSED for test in (*self.fail_to_pass, *self.pass_to_pass))

    def _outcomes(self, commit: str, code: Mapping[str, str]) -> Mapping[str, str]:
        tree = self._repository.worktree("judge", commit)
        try:
            tree.write({**code, **self._tests})
            with self._backend.open(packages=self._packages, label=f"rehearsal-{self._change.sha[:12]}") as sandbox:
                sandbox.mirror(tree.path)
                found = self._spoken.run_tests(sandbox, list(self._tests), self._setup)
        finally:
            self._repository.remove("judge")
        if found.void:
            raise SandboxError(f"upstream's tests cannot be judged: {found.void}")
        return found.outcomes
