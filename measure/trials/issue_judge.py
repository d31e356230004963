"""Judging a change by the tests of its issue, which nobody who worked on it has seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from agents.languages.base import Language
from agents.workspace.git import GitError, git
from agents.workspace.repository import Repository
from measure.trials.issues import Issue
from sandbox.base import Backend, PackageSet, Sandbox
from sandbox.test_setup import TestSetup

RESOLVED, UNRESOLVED, EMPTY, ERROR = "resolved", "unresolved", "empty", "error"


class CannotWork(Exception):
    """This one issue cannot be worked on or judged here; the text says why."""


@dataclass(frozen=True)
class Ground:
    """A repository at the issue's base commit, and how its tests are run."""

    repository: Repository
    base: str
    spoken: Language
    setup: TestSetup
    packages: tuple[str, ...]
    fetched: PackageSet | None


@dataclass(frozen=True)
class IssueVerdict:
    """RESOLVED, UNRESOLVED or EMPTY with the cause; `tests` counts those that pass, and all."""

    status: str
    cause: str = ""
    tests: dict[str, list[int]] = field(default_factory=dict)


def judge(issue: Issue, ground: Ground, backend: Backend, patch: str) -> IssueVerdict:
    """Run the tests of an issue before and after a patch: only what fails before it says something of it.

    Raises CannotWork and SandboxError.
    """
    wanted = [*issue.fail_to_pass, *issue.pass_to_pass]
    with backend.open(packages=ground.fetched, label=issue.id) as sandbox:
        before = _outcomes(issue, ground, sandbox, wanted, issue.test_patch)
        unfit = [test for test in issue.pass_to_pass if not _passed(test, before)]
        if unfit:
            raise CannotWork(f"{len(unfit)} tests that must pass fail here before any change: {unfit[0]}")
        if all(_passed(test, before) for test in issue.fail_to_pass):
            raise CannotWork("The tests that show the problem pass here before any change.")
        if not patch.strip():
            return IssueVerdict(EMPTY, "no source was changed")
        try:
            after = _outcomes(issue, ground, sandbox, wanted, patch, issue.test_patch)
        except GitError as clash:
            return IssueVerdict(UNRESOLVED, f"its tests do not fit the change: {clash}")
    lists = {"fail_to_pass": issue.fail_to_pass, "pass_to_pass": issue.pass_to_pass}
    tests = {name: [sum(_passed(test, after) for test in some), len(some)] for name, some in lists.items()}
    failing = next((test for test in wanted if not _passed(test, after)), "")
    return IssueVerdict(UNRESOLVED if failing else RESOLVED, f"{failing} does not pass" if failing else "", tests)


def _outcomes(
    issue: Issue, ground: Ground, sandbox: Sandbox, wanted: Sequence[str], *patches: str
) -> Mapping[str, str]:
    """What each test came to on the base with these patches."""
    tree = ground.repository.worktree("judge", ground.base)
    for patch in filter(str.strip, patches):
        git(tree.path, "apply", "--whitespace=nowarn", "-", text=patch if patch.endswith("\n") else f"{patch}\n")
    named = {test.partition("::")[0] for test in wanted}
    changed = {line[6:].strip() for line in issue.test_patch.splitlines() if line.startswith("+++ b/")}
    paths = sorted(path for path in named | changed if ground.spoken.owns(path) and (tree.path / path).is_file())
    sandbox.mirror(tree.path)
    found = ground.spoken.run_tests(sandbox, paths, replace(ground.setup, known_failures=frozenset()))
    if found.void:
        raise CannotWork(f"Its tests cannot be judged: {found.void}")
    return found.outcomes


def _passed(test: str, outcomes: Mapping[str, str]) -> bool:
    """Whether a test passed, under its id in pytest or as other runners write it: `name (module.Class)`, or `name`."""
    if test in outcomes:
        return outcomes[test] == "passed"
    name, _, inside = test.partition(" (")
    end = f"::{name}"
    parts = inside.rstrip(")").split(".")
    found = [
        outcome
        for nodeid, outcome in outcomes.items()
        if nodeid.endswith(end) and (not inside or all(part in nodeid.replace("/", " ") for part in parts))
    ]
    return bool(found) and set(found) == {"passed"}
