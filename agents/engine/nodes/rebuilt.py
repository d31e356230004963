"""A task that began with a failed build passes only when what failed there does not fail any more."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agents.engine.contracts import TaskContext
from agents.engine.rebuild import Builder, Rebuilt
from agents.engine.state import TaskState, files_of, key_of
from agents.events.effects import SystemNotice
from agents.languages.registry import is_test, language_of_task, languages
from agents.repair.signature import signature_of
from agents.workspace.worktree import Worktree
from sandbox.package_index.names import NPM

EVENT = "build_repeated"  # in the notice's details: what repeating gave


def with_build(state: TaskState, ctx: TaskContext, tree: Worktree, name: str, report: dict[str, Any]) -> dict[str, Any]:
    """The report, failed by what the build's own check says after a run of tests that passed."""
    start = state["task"].get("start", {})
    cause = start.get("cause")
    if report.get("ok") and (left := _left(state, ctx, start)):
        failures = [{"nodeid": path, "message": said, "traceback": said} for path, said in left.items()]
        failed = report | {"ok": False, "failed": len(left), "failures": failures, "output": "\n".join(left.values())}
        return failed | {"signature": signature_of(failed)}
    if cause and decided_by_build(state) and _without_tests(state, ctx, report):
        report = report | {"ok": True, "problem": "", "signature": ""}
    if not cause or not report.get("ok"):
        return report
    found = _repeated(state, ctx, tree, cause, report)
    how = {True: "passes", False: "fails", None: "proves nothing"}[found.ok]
    notice = SystemNotice(
        summary=f"{found.title or 'The build'} {how}"[:300], text=found.said, details={EVENT: found.to_json()}
    )
    ctx.event_log.emit(notice, attempt=state["counters"]["attempt"], key=key_of(state, f"{name}/build"))
    if found.ok is not False:
        return report | {
            "checks": [f"{found.title} {how}" if found.title else "What failed in the log is not repeated"]
        }
    failure = {"nodeid": found.title, "message": found.said.partition("\n")[0][:1000], "traceback": found.said}
    failed = report | {"ok": False, "failed": 1, "failures": [failure], "output": found.said}
    return failed | {"signature": signature_of(failed)}


def _repeated(
    state: TaskState, ctx: TaskContext, tree: Worktree, cause: dict[str, Any], report: dict[str, Any]
) -> Rebuilt:
    """By the tests that ran anyway where these are the check: of those that failed before none may be left."""
    language, wanted = language_of_task(state["task"]), state["task"]["start"].get("failing", ())
    if wanted:
        known = ctx.test_setup.known_failures
        asked = report.get("asked") or dict.fromkeys(report.get("fixed", ()), "passed")
        left = [one for one in wanted if asked.get(one) != "passed" and (one in known or one in asked)]
        said = "\n".join(f"{one} failed in the log and does not pass" for one in left)
        return Rebuilt(not left, "the tests that failed in the log", said, failing=tuple(left))
    packages = state["candidate"]["packages"]
    builder = Builder(
        tree.path,
        lambda more: ctx.sandbox([*packages, *more]),
        ctx.supply,
        language,
        ctx.test_setup,
        ctx.try_container,
    )
    return builder.repeat(cause)


def _left(state: TaskState, ctx: TaskContext, start: Mapping[str, Any]) -> dict[str, str]:
    """By file what an upgrade or an update of pages still leaves as it was."""
    files, found = files_of(state["candidate"]), {}
    for path, line in start.get("lines", {}).items():
        text = files.get(path) or ctx.repository.read(state["base"], path) or ""
        if line not in [pin for one in languages() for pin in one.pins(path, text).values()]:
            found[path] = f"{path} does not ask for {line.removeprefix(NPM)}"
    for path, names in start.get("stale", {}).items():
        text = files.get(path) or ctx.repository.read(state["base"], path) or ""
        if there := [name for name in names if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)]:
            found[path] = f"{path} still names {', '.join(there)}"
    return found


def _without_tests(state: TaskState, ctx: TaskContext, report: dict[str, Any]) -> bool:
    """Whether nothing ran because the repository has no tests: then the build's check is all there is."""
    ran = report.get("failures") or any(report.get(part) for part in ("passed", "failed", "errors", "skipped"))
    there = {*ctx.repository.files(state["base"]), *files_of(state["candidate"])}
    return report.get("exit_code") is not None and not ran and not any(map(is_test, there))


def decided_by_build(state: TaskState) -> str:
    """What takes the place of new tests: the check that failed in the log and was seen to fail here; "" for none."""
    start = state["task"].get("start", {})
    return str(start.get("check", "")) if start.get("reproduced") else ""
