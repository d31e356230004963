"""A test run that says something of the code: what the machine or chance may have done is tried again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agents.checks.compose_services import with_services
from agents.engine.contracts import TaskContext
from agents.engine.state import TaskState, files_of, key_of
from agents.engine.verdict import hangs_again, plain, trouble, unexpected, waited
from agents.events.effects import SystemNotice
from agents.languages.base import Language
from agents.languages.suites import run_suites
from agents.workspace.worktree import Worktree
from sandbox.base import Sandbox
from sandbox.paths import regular_files
from sandbox.test_report import TestReport
from sandbox.test_setup import TestSetup

ENVIRONMENT_TRIES = 2  # of a run whose result is the machine's or the sandbox's, not the code's


def run_until_sound(
    state: TaskState, ctx: TaskContext, tree: Worktree, language: Language, name: str, paths: Sequence[str]
) -> tuple[TestReport, str, str]:
    """Run the suite, once more in a fresh sandbox when the run proves nothing of the code.

    Returns the report, why the second run proved nothing either, and the tree that was tested.

    Raises SandboxUnavailable.
    """
    setup, written, why = with_services(ctx.test_setup, tree.path), files_of(state["candidate"]), ""
    chance: set[str] = set()
    for turn in range(ENVIRONMENT_TRIES):
        sandbox = ctx.sandbox(state["candidate"]["packages"])
        sandbox.mirror(tree.path)
        tested = tree.tree(state["base"])
        there = [path for path, _, _ in regular_files(tree.path)]
        found = run_suites(language, sandbox, there, paths, setup, measured=[*written])
        why = trouble(found, written, setup) or _hung_once(setup, tree, language, sandbox, found)
        failed = [] if why else unexpected(found, written, setup)
        # What failed in both whole runs is the code's, though it passes alone: it depends on what ran before it.
        if failed and chance.isdisjoint(failed) and _passes_alone(setup, tree, language, sandbox, failed):
            chance.update(failed)
            why = f"{failed[0]} failed, and passed when it ran alone"
        if not why:
            break
        said = f"A test run says nothing of the code: {why}"[:500]
        notice = SystemNotice(summary=said, text=said)
        ctx.event_log.emit(notice, attempt=state["counters"]["attempt"], key=key_of(state, f"{name}/void{turn}"))
        ctx.close()
    return found, why, tested


def _hung_once(setup: TestSetup, tree: Worktree, language: Language, sandbox: Sandbox, found: TestReport) -> str:
    """Why a hang is not the code's: run alone, the test ended, or stood elsewhere. "" when it is, or nothing hung."""
    for hang in waited(found, setup)[:1]:
        sandbox.mirror(tree.path)
        alone = replace(setup, suite_seconds=setup.test_seconds * 2)
        again = run_suites(language, sandbox, [], [plain(hang.nodeid)], alone)
        if not hangs_again(hang, again):
            at = f" at {hang.frames[0]}" if hang.frames else ""
            return f"{hang.nodeid} did not end{at} after {hang.seconds:.0f} s, and did when it ran alone"
    return ""


def _passes_alone(setup: TestSetup, tree: Worktree, language: Language, sandbox: Sandbox, failed: list[str]) -> bool:
    sandbox.mirror(tree.path)
    again = run_suites(language, sandbox, [], failed, setup)
    return again.ok and again.passed >= len(failed)
