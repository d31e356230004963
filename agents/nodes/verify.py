"""Verify: put the candidate in the worktree, run the tests in the sandbox, say what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from langgraph.runtime import Runtime

from agents.effects import effect
from agents.nodes.common import key_of
from agents.nodes.remembering import confirmed, in_vain, judged
from agents.nodes.supply import settle_packages
from agents.ports import TaskContext
from agents.repair.feedback import counts_text
from agents.repair.known import problem_of
from agents.repair.repeats import USED_UP, already_tried, remembered
from agents.repair.signature import error_kind, signature_of
from agents.search.best import best_here
from agents.state import TaskState
from agents.workspace.repository import Worktree
from sandbox.base import PackageRefused
from sandbox.pytest_run import TestReport, run_pytest

TEST_SECONDS = 120.0
# SWE-MEM-3
REWARD_CLEAN, REWARD_LINT, REWARD_TESTS_FAIL, REWARD_NO_COMPILE = 1.0, 0.5, -0.5, -1.0


def apply(state: TaskState, runtime: Runtime[TaskContext]) -> dict[str, Any]:
    """Write tests and candidate on a clean base; show each file's change; find the packages it needs."""
    ctx = runtime.context
    number = state["attempt"] + 1
    written = sorted({*state["tests"], *state["files"]})
    with effect(
        ctx.spine, "files.apply", key=key_of(state, "apply"), summary=f"writes {len(written)} files …", role="coder", attempt=number,
        payload={"paths": written[:100]},
    ):  # fmt: skip
        tree = write_candidate(state, ctx)
    ctx.spine.emit(
        "effect.done", role="coder", attempt=number, key=key_of(state, "apply"), outcome="ok",
        summary=f"wrote {len(written)} files", payload={"effect": "files.apply", "paths": written[:100]},
    )  # fmt: skip
    ctx.book.start_attempt(number, state["strategy"], state["diagnosis"] or None)
    settled = settle_packages(state, ctx, number)
    if settled.files:
        tree.write(settled.files)
    for change in tree.changes(state["base"]):
        ctx.spine.emit(
            "file.diff",
            role="coder",
            attempt=number,
            key=key_of(state, f"diff/{change.path}"),
            summary=f"{change.path} +{change.added} −{change.removed}",
            payload={"path": change.path, "added": change.added, "removed": change.removed},
            blobs={"diff": change.diff},
        )
    changed: dict[str, Any] = {
        "step": state["step"] + 1,
        "attempt": number,
        "packages": settled.packages,
        "files": {**state["files"], **settled.files},
        "verdict": "",
    }
    if settled.refused:
        report = _pseudo_report("packages", "\n".join(settled.refused))
        return changed | {"report": report, "verdict": "refused"}
    return changed


def write_candidate(state: TaskState, ctx: TaskContext) -> Worktree:
    """The worktree with exactly base + tests + candidate: running it twice gives the same tree."""
    return ctx.repository.candidate(ctx.worktree_name, state["base"], {**state["tests"], **state["files"]})


def _pseudo_report(where: str, message: str) -> dict[str, Any]:
    return {
        "passed": 0, "failed": 0, "errors": 1, "skipped": 0, "output": message, "exit_code": None, "seconds": 0.0,
        "branch_coverage": None, "failures": [{"nodeid": where, "message": message, "traceback": message}],
    }  # fmt: skip


def syntax_errors(files: dict[str, str]) -> list[str]:
    """Python files that do not compile, each with line and reason."""
    errors = []
    for path, text in files.items():
        if path.endswith(".py"):
            try:
                compile(text, path, "exec", dont_inherit=True)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                line = getattr(error, "lineno", None) or 0
                errors.append(f"{path}:{line}: {type(error).__name__}: {error}")
    return errors


def run_tests(
    state: TaskState,
    ctx: TaskContext,
    tree: Worktree,
    name: str,
    aside: Callable[[Callable[[], TestReport]], TestReport] = lambda work: work(),
) -> dict[str, Any]:
    """Run the whole suite in the sandbox and record it; returns the report as plain data.

    `aside` calls what may run in another thread: it touches the sandbox and nothing else.
    """
    number = state["attempt"]
    broken = syntax_errors({**state["tests"], **state["files"]})
    if broken:
        report = _pseudo_report(broken[0].split(":")[0], "\n".join(broken)) | {"compiles": False}
    else:
        argv = ["python", "-m", "pytest", "-q"]
        shown = " ".join(argv)
        try:
            sandbox = ctx.sandbox(state["packages"])
        except PackageRefused as refusal:
            # A name that does not exist is the model's invention: it must hear of it.
            return _refused_package(state, ctx, refusal, name)
        with effect(
            ctx.spine, "command", type="cmd", role="tester", attempt=number, key=key_of(state, f"{name}/cmd"),
            summary=f"{shown} …", payload={"argv": argv},
        ):  # fmt: skip
            sandbox.mirror(tree.path)
            found = aside(lambda: run_pytest(sandbox, (), seconds=TEST_SECONDS))
        report = asdict(found) | {
            "compiles": True,
            "ok": found.ok,
            "failures": [asdict(failure) for failure in found.failures],
        }
        ctx.spine.emit(
            "cmd", role="tester", attempt=number, key=key_of(state, f"{name}/cmd"),
            outcome="ok" if found.ok else "fail", duration_ms=int(found.seconds * 1000),
            summary=f"{shown} → exit {found.exit_code} · {found.seconds:.1f} s",
            payload={
                "argv": argv, "exit_code": found.exit_code, "seconds": round(found.seconds, 2), "tail": found.output[-4000:],
                "timed_out": found.timed_out, "backend": sandbox.backend,
            },
        )  # fmt: skip
    signature = "" if report.get("ok") else signature_of(report)
    branch = report.get("branch_coverage")
    ctx.spine.emit(
        "test.result", role="tester", attempt=number, key=key_of(state, f"{name}/tests"),
        outcome="ok" if report.get("ok") else "fail", error_signature=signature,
        summary=(str(report.get("problem") or "").capitalize() or counts_text(report).rstrip(".")) + (f" · branch {branch:.0f} %" if branch is not None else ""),
        payload={
            **{part: report.get(part, 0) for part in ("passed", "failed", "errors", "skipped")},
            "problem": report.get("problem", ""),
            "failures": [
                {"nodeid": f.get("nodeid", ""), "message": str(f.get("message", ""))[:1000], "kind": known.kind, "place": known.place}
                for f in (report.get("failures") or [])[:20]
                for known in (problem_of(f),)
            ],
        },
    )  # fmt: skip
    if branch is not None:
        ctx.spine.emit(
            "coverage.result", role="tester", attempt=number, key=key_of(state, f"{name}/coverage"),
            summary=f"branch coverage {branch:.0f} %", payload={"branch": branch, "uncovered": report.get("uncovered", {})},
        )  # fmt: skip
    return report | {"signature": signature}


def _refused_package(state: TaskState, ctx: TaskContext, refusal: PackageRefused, name: str) -> dict[str, Any]:
    ctx.spine.emit(
        "error", role="runtime", attempt=state["attempt"], key=key_of(state, f"{name}/package"), outcome="fail",
        summary=f"Package refused: {refusal}"[:400],
        payload={"message": str(refusal), "tool": "packages", "next_steps": ["adjust", "escalate"]},
    )  # fmt: skip
    report = _pseudo_report("packages", f"Package {refusal}. Do without it.") | {"compiles": True}
    return report | {"signature": signature_of(report)}


def verify(state: TaskState, runtime: Runtime[TaskContext]) -> dict[str, Any]:
    """Run the tests; judge the diagnosis that led here; keep the best try."""
    ctx = runtime.context
    earlier = already_tried(state) if state["verdict"] != "refused" else None
    if earlier is not None:
        return _repeated(state, ctx, earlier)
    if state["verdict"] == "refused":
        report = state["report"] | {"signature": signature_of(state["report"]), "compiles": True}
        tree = ctx.repository.open(ctx.worktree_name)
    else:
        tree = write_candidate(state, ctx)
        report = run_tests(state, ctx, tree, "verify")
    number, passed = state["attempt"], bool(report.get("ok"))
    judge(state, ctx, passed)
    reward = REWARD_CLEAN if passed else REWARD_TESTS_FAIL if report.get("compiles") else REWARD_NO_COMPILE
    if not passed:  # a try that passes is closed by the gates, which have the last word on it
        close_attempt(state, ctx, report, "failed", reward, tree.diff(state["base"]))
    changed: dict[str, Any] = {"step": state["step"] + 1, "report": report, "verdict": "pass" if passed else "fail"}
    best = state["best"]
    rank = (reward, report.get("passed", 0))
    if not best or rank > (best["reward"], best["passed"]):
        changed["best"] = {
            "reward": reward,
            "passed": report.get("passed", 0),
            "ran": sum(int(report.get(part, 0)) for part in ("passed", "failed", "errors")),
            "files": state["files"],
            "tests": state["tests"],
            "attempt": number,
        }
    if passed:
        return changed | {"best_here": {}, "learned": confirmed(state) or state.get("learned", {})}
    changed["best_here"] = best_here(state, report)
    failure = failure_line(report)
    return changed | {
        "signatures": [*state["signatures"], report["signature"]],
        "failures": [*state["failures"], f"try {number} ({state['strategy']}): {failure}"],
        "tried": remembered(state, report, failure),
        "in_vain": in_vain(state),
    }


def _repeated(state: TaskState, ctx: TaskContext, earlier: dict[str, Any]) -> dict[str, Any]:
    """The very candidate of an earlier try: its failure is known, so it is not run; the approach is given up."""
    number, before = state["attempt"], earlier["attempt"]
    words = f"the very code of try {before}, which failed with {earlier['failure']}; it was not run again"
    ctx.spine.emit(
        "repeat", role="runtime", attempt=number, key=key_of(state, "repeat"), outcome="fail",
        summary=f"Try {number} is {words}"[:400], error_signature=earlier["signature"],
        payload={"of": before, "hash": earlier["hash"], "failure": earlier["failure"]},
    )  # fmt: skip
    judge(state, ctx, False)
    report = earlier["tests"] | {
        "signature": earlier["signature"],
        "failures": [{"nodeid": f"try {before}", "message": words, "traceback": ""}],
    }
    reward = REWARD_TESTS_FAIL if earlier["compiles"] else REWARD_NO_COMPILE
    close_attempt(state, ctx, report, "failed", reward, ctx.repository.open(ctx.worktree_name).diff(state["base"]))
    return {
        "step": state["step"] + 1,
        "verdict": "fail",
        "repairs_here": USED_UP,
        "signatures": [*state["signatures"], earlier["signature"]],
        "failures": [*state["failures"], f"try {number} ({state['strategy']}): {words}"],
        "in_vain": in_vain(state),
    }


def failure_line(report: dict[str, Any]) -> str:
    """What went wrong, in one line: the first failure, or why there is no proper result."""
    failures = report.get("failures") or []
    if not failures:
        return str(report.get("problem") or "no test ran")
    first = failures[0]
    kind = error_kind(str(first.get("traceback", "")))
    return f"{kind} in {first.get('nodeid') or 'collection'}: {' '.join(str(first.get('message', '')).split())[:160]}"


def close_attempt(
    state: TaskState, ctx: TaskContext, report: dict[str, Any], outcome: str, reward: float, diff: str
) -> None:
    """Write down what came of the try."""
    tests = {part: report.get(part, 0) for part in ("passed", "failed", "errors", "skipped")}
    ctx.book.finish_attempt(
        state["attempt"], outcome, error_signature=report.get("signature", ""), reward=reward, diff=diff,
        tests=tests | {"failures": list(report.get("failures") or [])[:20], "uncovered": report.get("uncovered", {})},
        branch_coverage=report.get("branch_coverage"),
    )  # fmt: skip


def judge(state: TaskState, ctx: TaskContext, passed: bool) -> None:
    """Confirmed when the failure it explained is gone, refuted when the same one came back or another took its place.

    The lessons that the try was shown are judged with it.
    """
    judged(state, ctx, passed)
    if state["diagnosis"]:
        ctx.book.judge_diagnosis(state["attempt"], "confirmed" if passed else "refuted")
