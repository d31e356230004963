"""What writing tests leaves on the record beside the model's words: each run in the sandbox, each file, what they cover."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from difflib import unified_diff
from typing import Any

from agents.effects import effect
from agents.mutation.check import Result
from agents.nodes.keys import key_of
from agents.ports import TaskContext
from agents.repair.feedback import counts_text
from agents.repair.signature import signature_of
from agents.state import TaskState
from agents.testing.measure import Covered
from sandbox.base import Sandbox
from sandbox.pytest_run import TestReport, run_pytest

SECONDS = 120.0


def run_suite(state: TaskState, ctx: TaskContext, sandbox: Sandbox) -> TestReport:
    """Run every test in the sandbox, announced before and told after."""
    argv = ["python", "-m", "pytest", "-q"]
    shown, number = " ".join(argv), state["step"]
    key = key_of(state, "suite/cmd")
    with effect(
        ctx.spine, "command", type="cmd", role="tester", attempt=number, key=key, summary=f"{shown} …", payload={"argv": argv}
    ):  # fmt: skip
        report = run_pytest(sandbox, (), seconds=SECONDS, coverage_of=None)
    outcome, plain = "ok" if report.ok else "fail", asdict(report)
    ctx.spine.emit(
        "cmd", role="tester", attempt=number, key=key, outcome=outcome, duration_ms=int(report.seconds * 1000),
        summary=f"{shown} → exit {report.exit_code} · {report.seconds:.1f} s",
        payload={
            "argv": argv, "exit_code": report.exit_code, "seconds": round(report.seconds, 2), "tail": report.output[-4000:],
            "timed_out": report.timed_out, "backend": sandbox.backend,
        },
    )  # fmt: skip
    ctx.spine.emit(
        "test.result", role="tester", attempt=number, key=key_of(state, "suite/tests"), outcome=outcome,
        error_signature="" if report.ok else signature_of(plain),
        summary=str(report.problem or "").capitalize() or counts_text(plain).rstrip("."),
        payload={part: plain[part] for part in ("passed", "failed", "errors", "skipped", "failures")},
    )  # fmt: skip
    return report


def wrote(state: TaskState, ctx: TaskContext, before: Mapping[str, str], files: Mapping[str, str]) -> None:
    """Each test file that an answer changed."""
    for path, text in sorted(files.items()):
        old, new = before.get(path, "").splitlines(), text.splitlines()
        lines = list(unified_diff(old, new, path, path, lineterm=""))
        added = sum(line.startswith("+") and not line.startswith("+++") for line in lines)
        removed = sum(line.startswith("-") and not line.startswith("---") for line in lines)
        ctx.spine.emit(
            "file.diff", role="tester", attempt=state["step"], key=key_of(state, f"diff/{path}"), summary=f"{path} +{added} −{removed}",
            payload={"path": path, "added": added, "removed": removed}, blobs={"diff": "\n".join(lines)},
        )  # fmt: skip


def covered_so(state: TaskState, ctx: TaskContext, path: str, covered: Covered) -> None:
    """What the suite covers of the module."""
    ctx.spine.emit(
        "coverage.result", role="tester", attempt=state["step"], key=key_of(state, "coverage"),
        summary=f"{path}: branches {covered.branches:.0f} %, lines {covered.lines:.0f} %",
        payload={"branch": round(covered.branches, 2), "uncovered": {path: list(covered.missing)}},
    )  # fmt: skip


def noticed_so(state: TaskState, ctx: TaskContext, result: Result) -> None:
    """How many small mistakes the tests notice."""
    ctx.spine.emit(
        "mutation.result", role="tester", attempt=state["step"], key=key_of(state, "mutation"), outcome="fail" if result.blind else "ok",
        duration_ms=int(result.seconds * 1000), summary=f"The tests notice {result.noticed} of {result.ran} small mistakes",
        payload=_mutants(result),
    )  # fmt: skip


def _mutants(result: Result) -> dict[str, Any]:
    survived = [{"path": mutant.path, "diff": mutant.diff} for mutant in result.survivors[:5]]
    return {
        "mutants": result.ran,
        "noticed": result.noticed,
        "survived": survived,
        "seconds": round(result.seconds, 2),
    }
