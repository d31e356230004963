"""From a chat's branch to the base branch: tests and review gates as for any change, then a person's yes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.engine.baseline import configured
from agents.engine.effects import effect
from agents.engine.nodes.verify import command_ran
from agents.engine.verdict import verdict_of
from agents.events.effects import CommandRan, FileChanged, MergeDone, TestsRan
from agents.gates.base import GateReport
from agents.gates.feedback import gate_judged
from agents.languages.registry import language, main_language
from agents.languages.suites import run_suites
from agents.repair.feedback import summary_text
from projects.engine.building import gates
from projects.engine.chat import OpenChat
from projects.engine.test_setups import packages_of, test_setup_of
from projects.errors import IllegalMove
from projects.services.accounts.rights import require
from projects.storage.paths import repository_of
from sandbox.paths import regular_files
from sandbox.test_report import TestReport

NOTHING_TO_SCAN = GateReport("pass", (), {}, ())  # files were only taken away


@dataclass(frozen=True)
class Checked:
    """What tests and gates say of a chat's files; `tested` is False where there are no tests."""

    tests_ok: bool
    tested: bool
    tests: str
    gates: GateReport
    failures: Sequence[str] = field(default_factory=tuple)

    @property
    def reasons(self) -> list[str]:
        """Why it may not be merged; empty when it may."""
        broken = [] if self.tests_ok else [f"tests: {self.tests}"]
        return [*broken, *(self.gates.reasons if self.gates.verdict != "pass" else ())]

    @property
    def ok(self) -> bool:
        """Whether it may be merged."""
        return not self.reasons and self.gates.verdict == "pass"


def check(chat: OpenChat) -> Checked:
    """Run all tests in a sandbox and the review gates on what the chat changed; both go on its record.

    Raises SandboxUnavailable and IllegalMove (nothing was changed).
    """
    folder, changed = _changed(chat)
    event_log = chat.context.event_log
    position = event_log.head().seq
    report, told = _run_tests(chat, folder, f"check/{position}")
    left = [path for path in changed if os.path.lexists(folder / path)]
    verdict = gates(folder, left, {}) if left else NOTHING_TO_SCAN
    event_log.emit(gate_judged(verdict), key=f"check/{position}/gates")
    failures = [f"{one.nodeid}: {one.message}" for one in report.failures] if report is not None else []
    return Checked(
        tests_ok=not told,
        tested=report is not None,
        tests=told or (summary_text(_counts(report)) if report is not None else "there are no tests"),
        gates=verdict,
        failures=failures,
    )


def _changed(chat: OpenChat) -> tuple[Path, list[str]]:
    """A folder with the chat's files, and which of them it changed."""
    chat.commit("Changes of a chat")
    repository = chat.repository
    if repository is None:  # of an editor's files there is a copy
        folder = chat.context.files.folder()
        written = chat.run.events.filter(type=FileChanged.type).values_list("payload__path", flat=True)
        changed = sorted(set(written))
    else:
        tree = repository.open(chat.name)
        folder = tree.path
        ahead = repository.head() != repository.base_head() and repository.is_ahead()
        changed = [change.path for change in tree.changes(chat.run.base_commit)] if ahead else []
    if not changed:
        raise IllegalMove("The chat has changed nothing yet.")
    return folder, changed


def _run_tests(chat: OpenChat, folder: Path, key: str) -> tuple[TestReport | None, str]:
    """The report of all suites, and why it is not good; None without a test."""
    there = [path for path, _, _ in regular_files(folder)]
    setup = configured(test_setup_of(chat.run.project), repository_of(chat.run.project, chat.run))
    spoken = main_language(there) or setup.language
    if not spoken:
        return None, ""
    main, event_log = language(spoken), chat.context.event_log
    if not any(main.is_test(path) for path in there if main.owns(path)):
        return None, ""
    argv = list(main.test_command)
    announcement = CommandRan(summary=f"{' '.join(argv)} …", effect="command", argv=argv)
    names = sorted({*packages_of(chat.run.project), *chat.conversation.packages})
    packages = chat.context.supply.fetch(names) if names else None
    with (
        effect(event_log, announcement, key=f"{key}/cmd"),
        chat.context.backend().open(packages=packages, label=chat.name) as box,
    ):
        box.mirror(folder)
        report = run_suites(main, box, there, [], setup)
    event_log.emit(command_ran(argv, report, box.backend), key=f"{key}/cmd")
    verdict = verdict_of(report, setup, {}, {}, main)
    counts = _counts(verdict.report)
    event_log.emit(
        TestsRan(
            summary=summary_text(counts),
            outcome="ok" if verdict.ok else "fail",
            **{name: counts[name] for name in ("passed", "failed", "errors", "skipped")},
            failures=[{"nodeid": one.nodeid, "message": one.message[:1000]} for one in verdict.report.failures[:20]],
            problem=counts["problem"],
        ),
        key=f"{key}/tests",
    )
    return verdict.report, "" if verdict.ok else summary_text(counts)


def _take_in_base(chat: OpenChat) -> None:
    """Put the chat's commits on top of what others put on the base meanwhile; the tests then run on both."""
    if chat.repository is None or not chat.repository.base_moved():
        return
    chat.commit("Changes of a chat")
    taken = chat.repository.take_in_base()
    if taken.conflicts:
        way_out = f"merge branch {chat.repository.line} by hand"
        raise IllegalMove(f"Not merged: both sides changed {', '.join(taken.conflicts)}; {way_out}.")
    chat.repository.worktree(chat.name, chat.repository.head())


def _counts(report: TestReport) -> dict[str, Any]:
    names = ("passed", "failed", "errors", "skipped", "timed_out", "problem")
    return {name: getattr(report, name) for name in names}


def merge(chat: OpenChat) -> str:
    """Move the base branch to the chat's, after tests and gates passed; returns the commit.

    Raises NotAllowed, IllegalMove (with the reasons) and SandboxUnavailable.
    """
    require(chat.by, chat.run.project, "run.control")
    if chat.repository is None:
        raise IllegalMove("This chat works in an editor's folder: its owner commits and merges.")
    _take_in_base(chat)
    found = check(chat)
    if not found.ok:
        raise IllegalMove("Not merged: " + "; ".join(found.reasons[:5]))
    repository = repository_of(chat.run.project, chat.run, merging=True)
    repository.follow()
    sha = repository.head()
    if repository.base_head() != sha:
        why = repository.base_left() or f"merges leave {repository.base} alone in this project's settings"
        raise IllegalMove(f"Not merged: {why}")
    done = MergeDone(summary=f"merged {sha[:10]} into {repository.base}", role="user", sha=sha, conflict=[])
    chat.context.event_log.emit(done, key=f"merge/{sha}")
    return sha
