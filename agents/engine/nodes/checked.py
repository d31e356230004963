"""Tasks without code: their files are checked instead of tested."""

from __future__ import annotations

from typing import Any

from agents.checks.check import check_files, checked_words, replaces_tests
from agents.engine.contracts import TaskContext
from agents.engine.nodes.containers import try_containers
from agents.engine.nodes.removals import base_files, tests_of
from agents.engine.state import TaskState, files_of, key_of
from agents.events.effects import TestsRan
from agents.repair.signature import signature_of
from agents.workspace.worktree import Worktree


def words_on_checks(state: TaskState) -> list[str]:
    """What is said of a task that is checked: which of its files are, and which the reviewer judges alone."""
    task = state["task"]
    return checked_words({*task["files"], *files_of(state["candidate"])}) if replaces_tests(task) else []


def checked(state: TaskState, ctx: TaskContext, tree: Worktree, name: str) -> dict[str, Any] | None:
    """The report of the checks in place of a test run; None where tests of the repository are to run (too)."""
    if not replaces_tests(state["task"]):
        return None
    files, there = files_of(state["candidate"]), ctx.repository.files(state["base"])
    before = base_files(state, ctx, files)[0]
    found = check_files(
        files, before, {*there, *files}, lambda path: files.get(path) or ctx.repository.read(state["base"], path)
    )
    # What failed in a build is repeated by itself; more than that is not asked of somebody's Dockerfile.
    repeated = bool(state["task"].get("start", {}).get("cause"))
    failures, built = ([], []) if found or repeated else try_containers(state, ctx, tree, name)
    if not found and not failures and any(map(tests_of(state, ctx), there)):
        return None
    notes = [*words_on_checks(state), *built]
    lines = {one: files[one.path].splitlines()[one.line - 1 : one.line] for one in found}
    rows = [
        {"nodeid": one.path, "message": one.text, "kind": "check", "place": f"{one.path}:{one.line}"} for one in found
    ]
    rows += [
        {"nodeid": one["nodeid"], "message": one["message"][:1000], "kind": "container", "place": one["nodeid"]}
        for one in failures
    ]
    failures += [
        {"nodeid": one.path, "message": said, "traceback": "\n".join([said, *lines[one]])}
        for one in found
        for said in [f"line {one.line}: {one.text}"]
    ]
    report: dict[str, Any] = {
        "passed": len(files) - len({one["nodeid"] for one in failures}),
        "failed": len(failures),
        "errors": 0,
        "skipped": 0,
        "exit_code": 1 if failures else 0,
        "seconds": 0.0,
        "branch_coverage": None,
        "output": "",
        "compiles": True,
        "ok": bool(files) and not failures,
        "problem": "" if files else "no file was written",
        "tree": tree.tree(state["base"]),
        "failures": failures,
    }
    report["signature"] = "" if report["ok"] else signature_of(report)
    counted = (
        f"{report['passed']} files checked, nothing found" if report["ok"] else f"{len(failures)} findings in files"
    )
    event = TestsRan(
        summary=" · ".join([counted, *notes]),
        outcome="ok" if report["ok"] else "fail",
        error_signature=report["signature"],
        **{part: report[part] for part in ("passed", "failed", "errors", "skipped", "problem")},
        failures=rows[:20],
        notes=notes,
    )
    ctx.event_log.emit(event, attempt=state["counters"]["attempt"], key=key_of(state, f"{name}/checks"))
    return report
