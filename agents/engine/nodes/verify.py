"""Verify: put the candidate in the worktree, run the tests in the sandbox, say what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from agents.engine.best_try import best_here
from agents.engine.contracts import Runtime, TaskContext
from agents.engine.effects import effect
from agents.engine.nodes.checked import checked
from agents.engine.nodes.consent import refused_forgery, refused_loss
from agents.engine.nodes.lessons import confirmed, judged, unhelpful_lessons
from agents.engine.nodes.packages import settle_packages
from agents.engine.nodes.rebuilt import with_build
from agents.engine.nodes.sound_runs import ENVIRONMENT_TRIES, run_until_sound
from agents.engine.repeats import already_tried, remembered
from agents.engine.state import TaskState, files_of, key_of, updated
from agents.engine.verdict import verdict_of
from agents.events.effects import (
    CommandRan,
    CoverageMeasured,
    EffectAnnounced,
    EffectDone,
    ErrorRaised,
    FileChanged,
    TestsRan,
)
from agents.events.reasoning import AttemptRepeated
from agents.languages.base import Language
from agents.languages.registry import language_of, language_of_task
from agents.repair.feedback import summary_text
from agents.repair.known import problem_of
from agents.repair.signature import error_kind, signature_of
from agents.workspace.worktree import Worktree
from sandbox.base import PackageRefused
from sandbox.paths import regular_files
from sandbox.test_report import TestReport
from sandbox.test_setup import TestSetup

# Below that, what running all tests once more before the merge costs is not regained. Without a measured time, a limit
# that somebody raised tells that a suite is slow.
SMALL_SUITE_SECONDS, USUAL_LIMIT = 3.0, TestSetup().suite_seconds
MOST_LOST = 200  # names of tests that did not run; so many are reason enough to ask
# SWE-MEM-3
REWARD_CLEAN, REWARD_LINT, REWARD_TESTS_FAIL, REWARD_NO_COMPILE = 1.0, 0.5, -0.5, -1.0


def apply(state: TaskState, runtime: Runtime[TaskContext]) -> TaskState:
    """Write tests and candidate on a clean base; show each file's change; find the packages it needs."""
    ctx = runtime.context
    number = state["counters"]["attempt"] + 1
    written = sorted(files_of(state["candidate"]))
    name, paths, key = "files.apply", written[:100], key_of(state, "apply")
    announcement = EffectAnnounced(summary=f"writes {len(written)} files …", role="coder", effect=name, paths=paths)
    with effect(ctx.event_log, announcement, key=key, attempt=number):
        tree = write_candidate(state, ctx)
    done = EffectDone(summary=f"wrote {len(written)} files", role="coder", effect=name, paths=paths)
    ctx.event_log.emit(done, attempt=number, key=key)
    ctx.task_store.start_attempt(number, state["strategy"], state["candidate"]["diagnosis"] or None)
    settled = settle_packages(state, ctx, number)
    if settled.files:
        tree.write(settled.files)
    for change in tree.changes(state["base"]):
        event = FileChanged(
            summary=f"{change.path} +{change.added} −{change.removed}",
            blobs={"diff": change.diff},
            path=change.path,
            added=change.added,
            removed=change.removed,
        )
        ctx.event_log.emit(event, attempt=number, key=key_of(state, f"diff/{change.path}"))
    changed: TaskState = {
        "verdict": "",
        "candidate": {"packages": settled.packages, "files": {**state["candidate"]["files"], **settled.files}},
        "counters": {"attempt": number},
    }
    if settled.refused:
        report = _pseudo_report("packages", "\n".join(settled.refused))
        return updated(changed, {"candidate": {"report": report}, "verdict": "refused"})
    return changed


def write_candidate(state: TaskState, ctx: TaskContext) -> Worktree:
    """The worktree with exactly base + tests + candidate, as Worktree.hold() writes it; twice gives the same tree."""
    return ctx.repository.candidate(ctx.worktree_name, state["base"], files_of(state["candidate"]))


def _pseudo_report(where: str, message: str) -> dict[str, Any]:
    return {
        "passed": 0,
        "failed": 0,
        "errors": 1,
        "skipped": 0,
        "output": message,
        "exit_code": None,
        "seconds": 0.0,
        "branch_coverage": None,
        "failures": [{"nodeid": where, "message": message, "traceback": message}],
    }


def refused_report(where: str, message: str) -> dict[str, Any]:
    """A report that fails for what a person or a list refused."""
    report = _pseudo_report(where, message) | {"compiles": True}
    return report | {"signature": signature_of(report)}


def syntax_errors(files: dict[str, str]) -> list[str]:
    """Source files that do not compile, each with line and reason."""
    found = (language.syntax_error(path, text) for path, text in files.items() if (language := language_of(path)))
    return [error for error in found if error]


def run_tests(
    state: TaskState, ctx: TaskContext, tree: Worktree, name: str, *, related: bool = False
) -> dict[str, Any]:
    """Run the suite in the sandbox and record it; returns the report as plain data.

    With `related`, of a suite that takes long only the tests that import what changed; before a merge all of them run.
    """
    if (report := checked(state, ctx, tree, name)) is not None:
        return with_build(state, ctx, tree, name, report)
    number, language = state["counters"]["attempt"], language_of_task(state["task"])
    broken = syntax_errors(files_of(state["candidate"]))
    if broken:
        report = _pseudo_report(broken[0].split(":")[0], "\n".join(broken)) | {"compiles": False}
    else:
        argv = list(language.test_command)
        try:
            backend = ctx.sandbox(state["candidate"]["packages"]).backend
        except PackageRefused as refusal:
            # A name that does not exist is the model's invention: it must add_messages of it.
            return _refused_package(state, ctx, refusal, name)
        key = key_of(state, f"{name}/cmd")
        announcement = CommandRan(summary=f"{' '.join(argv)} …", effect="command", argv=argv)
        with effect(ctx.event_log, announcement, key=key, attempt=number):
            paths = _related(state, ctx, tree, language) if related else []
            found, environment, tested = run_until_sound(state, ctx, tree, language, name, paths)
        candidate = state["candidate"]
        verdict = verdict_of(found, ctx.test_setup, candidate["tests"], candidate["files"], language)
        report = asdict(verdict.report)
        report |= {
            "compiles": True,
            "ok": verdict.ok and not environment,
            "tree": "" if paths else tested,  # what was not run in full is run before it is merged
            "problem": environment or verdict.report.problem,
            "environment": environment,
            "notes": [
                *verdict.notes,
                *([f"only the tests of {len(paths)} related files ran"] if paths else []),
                *([f"with {', '.join(found.services)}"] if found.services else []),
            ],
            "failures": [asdict(failure) for failure in verdict.report.failures],
            "uncovered": verdict.report.uncovered,
            "lost": [] if paths else verdict.lost[:MOST_LOST],
            "fixed": list(verdict.fixed),
            "asked": _asked(state, found.outcomes, in_full=not paths),
        }
        for part in ("outcomes", "skips", "hangs", "failing", "covered"):  # too much for the state: each test and file
            del report[part]
        ctx.event_log.emit(command_ran(argv, found, backend), attempt=number, key=key)
    signature = "" if report.get("ok") else signature_of(report)
    branch = report.get("branch_coverage")
    summary = summary_text(report)
    notes = report.get("notes", [])
    tests = TestsRan(
        summary=" · ".join([summary, *([f"branch {branch:.0f} %"] if branch is not None else []), *notes]),
        outcome="ok" if report.get("ok") else "fail",
        error_signature=signature,
        **{part: report.get(part, 0) for part in ("passed", "failed", "errors", "skipped")},
        problem=report.get("problem", ""),
        failures=[_failure_row(failure, language) for failure in (report.get("failures") or [])[:20]],
        notes=notes,
    )
    ctx.event_log.emit(tests, attempt=number, key=key_of(state, f"{name}/tests"))
    if branch is not None:
        uncovered = report.get("uncovered", {})
        measured = CoverageMeasured(summary=f"branch coverage {branch:.0f} %", branch=branch, uncovered=uncovered)
        ctx.event_log.emit(measured, attempt=number, key=key_of(state, f"{name}/coverage"))
    return with_build(state, ctx, tree, name, report | {"signature": signature})


def _related(state: TaskState, ctx: TaskContext, tree: Worktree, language: Language) -> list[str]:
    """Test files to run first; [] for all, in a suite that is not slow and wherever the imports do not tell.

    Also where they are most of the suite: all of them run anyway before the merge.
    """
    setup = ctx.test_setup
    if setup.measured_seconds <= SMALL_SUITE_SECONDS and setup.suite_seconds <= USUAL_LIMIT:
        return []
    changed = [change.path for change in tree.changes(state["base"])]
    files = {
        path: file.read_text(errors="replace") for path, file, _ in regular_files(tree.path) if language.owns(path)
    }
    paths = language.related_tests(files, changed, setup.python_path)
    return paths if 2 * len(paths) <= sum(map(language.is_test, files)) else []


def command_ran(argv: Sequence[str], found: TestReport, backend: str) -> CommandRan:
    """The outcome of a test command."""
    return CommandRan(
        summary=f"{' '.join(argv)} → exit {found.exit_code} · {found.seconds:.1f} s",
        outcome="ok" if found.ok else "fail",
        duration_ms=int(found.seconds * 1000),
        argv=argv,
        exit_code=found.exit_code,
        seconds=round(found.seconds, 2),
        cpu_seconds=round(found.cpu_seconds, 2),
        tail=found.output[-4000:],
        timed_out=found.timed_out,
        backend=backend,
    )


def _asked(state: TaskState, outcomes: Mapping[str, str], *, in_full: bool) -> dict[str, str]:
    """What became of the tests that failed in the log of a build; "" of one that did not run."""
    wanted = state["task"].get("start", {}).get("failing", ()) if outcomes else ()
    return {one: outcomes.get(one, "") for one in wanted if in_full or one in outcomes}


def _failure_row(failure: dict[str, Any], language: Language) -> dict[str, Any]:
    known, message = problem_of(failure, language), str(failure.get("message", ""))[:1000]
    return {"nodeid": failure.get("nodeid", ""), "message": message, "kind": known.kind, "place": known.place}


def _refused_package(state: TaskState, ctx: TaskContext, refusal: PackageRefused, name: str) -> dict[str, Any]:
    refused = ErrorRaised(
        summary=f"Package refused: {refusal}", message=str(refusal), tool="packages", next_steps=["adjust", "escalate"]
    )
    ctx.event_log.emit(refused, attempt=state["counters"]["attempt"], key=key_of(state, f"{name}/package"))
    return refused_report("packages", f"Package {refusal}. Do without it.")


def verify(state: TaskState, runtime: Runtime[TaskContext]) -> TaskState:
    """Run the tests; judge the diagnosis that led here; keep the best try."""
    ctx, candidate, history = runtime.context, state["candidate"], state["history"]
    earlier = already_tried(state) if state["verdict"] != "refused" else None
    if earlier is not None:
        return _repeated(state, ctx, earlier)
    if state["verdict"] == "refused":
        report = candidate["report"] | {"signature": signature_of(candidate["report"]), "compiles": True}
        tree = ctx.repository.open(ctx.worktree_name)
    else:
        tree = write_candidate(state, ctx)
        report = run_tests(state, ctx, tree, "verify", related=True)
    if report.get("environment"):
        return cannot_judge(state, ctx, report, tree.diff(state["base"]))
    number, passed = state["counters"]["attempt"], bool(report.get("ok"))
    if passed and (refusal := refused_forgery(state, ctx, report.get("hooks", ())) or refused_loss(state, ctx, report)):
        report, passed = refused_report("tests", refusal), False
    judge(state, ctx, passed)
    reward = REWARD_CLEAN if passed else REWARD_TESTS_FAIL if report.get("compiles") else REWARD_NO_COMPILE
    if not passed:  # a try that passes is closed by the gates, which have the last word on it
        close_attempt(state, ctx, report, "failed", reward, tree.diff(state["base"]))
    changed: TaskState = {
        "verdict": "pass" if passed else "fail",
        "candidate": {"report": report},
        "history": {"best_here": best_here(state, report)},
    }
    best = history["best"]
    rank = (reward, report.get("passed", 0))
    if not best or passed or rank > (best["reward"], best["passed"]):
        changed["history"]["best"] = {
            "reward": reward,
            "passed": report.get("passed", 0),
            "ran": sum(int(report.get(part, 0)) for part in ("passed", "failed", "errors")),
            "files": candidate["files"],
            "tests": candidate["tests"],
            "attempt": number,
        }
    if passed:
        return {**changed, "memory": {"learned": confirmed(state) or state["memory"]["learned"]}}
    failure = failure_line(report)
    changed["history"]["tried"] = remembered(state, report, failure)
    return updated(changed, _failed(state, report["signature"], failure))


def cannot_judge(state: TaskState, ctx: TaskContext, report: dict[str, Any], diff: str) -> TaskState:
    """The same tests proved nothing twice: a person decides. No repair is charged, no diagnosis or lesson judged."""
    close_attempt(state, ctx, report, "failed", 0.0, diff)
    why = f"The tests were run {ENVIRONMENT_TRIES} times and say nothing of the code: {report['environment']}."
    return {"verdict": "escalate", "escalation": why, "candidate": {"report": report}}


def _failed(state: TaskState, signature: str, failure: str) -> TaskState:
    """One more failed try."""
    history, line = state["history"], f"try {state['counters']['attempt']} ({state['strategy']}): {failure}"
    return {
        "verdict": "fail",
        "history": {"signatures": [*history["signatures"], signature], "failures": [*history["failures"], line]},
        "memory": {"unhelpful_lessons": unhelpful_lessons(state)},
    }


def _repeated(state: TaskState, ctx: TaskContext, earlier: dict[str, Any]) -> TaskState:
    """The very candidate of an earlier try: its failure is known, so it is not run; the approach is given up."""
    number, before = state["counters"]["attempt"], earlier["attempt"]
    words = f"the very code of try {before}, which failed with {earlier['failure']}; it was not run again"
    repeated = AttemptRepeated(
        summary=f"Try {number} is {words}",
        error_signature=earlier["signature"],
        of=before,
        hash=earlier["hash"],
        failure=earlier["failure"],
    )
    ctx.event_log.emit(repeated, attempt=number, key=key_of(state, "repeat"))
    judge(state, ctx, False)
    report = earlier["tests"] | {
        "signature": earlier["signature"],
        "failures": [{"nodeid": f"try {before}", "message": words, "traceback": ""}],
    }
    reward = REWARD_TESTS_FAIL if earlier["compiles"] else REWARD_NO_COMPILE
    close_attempt(state, ctx, report, "failed", reward, ctx.repository.open(ctx.worktree_name).diff(state["base"]))
    return updated(_failed(state, earlier["signature"], words), {"history": {"exhausted": True}})


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
    tests["fixed"] = report.get("fixed", [])
    ctx.task_store.finish_attempt(
        state["counters"]["attempt"],
        outcome,
        error_signature=report.get("signature", ""),
        reward=reward,
        diff=diff,
        tests=tests | {"failures": list(report.get("failures") or [])[:20], "uncovered": report.get("uncovered", {})},
        branch_coverage=report.get("branch_coverage"),
    )


def judge(state: TaskState, ctx: TaskContext, passed: bool) -> None:
    """Confirmed when the failure it explained is gone, refuted when the same one came back or another superseded it.

    The lessons that the try was shown are judged with it.
    """
    judged(state, ctx, passed)
    if state["candidate"]["diagnosis"]:
        ctx.task_store.judge_diagnosis(state["counters"]["attempt"], "confirmed" if passed else "refuted")
