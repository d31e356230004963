"""What writing tests leaves on the record besides the replies: each sandbox run, each file, what they cover."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from difflib import unified_diff

from agents.engine.contracts import TaskContext
from agents.engine.effects import effect
from agents.engine.nodes.mutation import mutation_checked
from agents.engine.nodes.verify import command_ran
from agents.engine.state import TaskState, key_of
from agents.events.effects import CommandRan, CoverageMeasured, FileChanged, TestsRan
from agents.languages.base import Covered
from agents.languages.registry import language_of_task
from agents.mutation.check import Result
from agents.repair.feedback import counts_text
from agents.repair.signature import signature_of
from sandbox.base import Sandbox
from sandbox.test_report import TestReport

SECONDS = 120.0


def run_suite(state: TaskState, ctx: TaskContext, sandbox: Sandbox) -> TestReport:
    """Run every test in the sandbox; announced before, recorded after."""
    language = language_of_task(state["task"])
    argv = list(language.test_command)
    shown, number = " ".join(argv), state["step"]
    key = key_of(state, "suite/cmd")
    announcement = CommandRan(summary=f"{shown} …", effect="command", argv=argv)
    with effect(ctx.event_log, announcement, key=key, attempt=number):
        report = language.run_tests(sandbox, seconds=SECONDS, measured=False)
    plain = asdict(report)
    ctx.event_log.emit(command_ran(argv, report, sandbox.backend), attempt=number, key=key)
    tests = TestsRan(
        summary=str(report.problem or "").capitalize() or counts_text(plain).rstrip("."),
        outcome="ok" if report.ok else "fail",
        error_signature="" if report.ok else signature_of(plain),
        **{part: plain[part] for part in ("passed", "failed", "errors", "skipped", "failures")},
    )
    ctx.event_log.emit(tests, attempt=number, key=key_of(state, "suite/tests"))
    return report


def wrote(state: TaskState, ctx: TaskContext, before: Mapping[str, str], files: Mapping[str, str]) -> None:
    """Each test file that an answer changed."""
    for path, text in sorted(files.items()):
        old, new = before.get(path, "").splitlines(), text.splitlines()
        lines = list(unified_diff(old, new, path, path, lineterm=""))
        added = sum(line.startswith("+") and not line.startswith("+++") for line in lines)
        removed = sum(line.startswith("-") and not line.startswith("---") for line in lines)
        changed = FileChanged(
            summary=f"{path} +{added} −{removed}",
            role="tester",
            blobs={"diff": "\n".join(lines)},
            path=path,
            added=added,
            removed=removed,
        )
        ctx.event_log.emit(changed, attempt=state["step"], key=key_of(state, f"diff/{path}"))


def covered_so(state: TaskState, ctx: TaskContext, path: str, covered: Covered) -> None:
    """What the suite covers of the module."""
    measured = CoverageMeasured(
        summary=f"{path}: branches {covered.branches:.0f} %, lines {covered.lines:.0f} %",
        branch=round(covered.branches, 2),
        uncovered={path: list(covered.missing)},
    )
    ctx.event_log.emit(measured, attempt=state["step"], key=key_of(state, "coverage"))


def noticed_so(state: TaskState, ctx: TaskContext, result: Result) -> None:
    """How many small mistakes the tests notice."""
    ctx.event_log.emit(mutation_checked(result), attempt=state["step"], key=key_of(state, "mutation"))
