"""Commit and merge: one at a time per run, on top of what others merged, with the whole suite run again."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from agents.nodes.common import key_of
from agents.nodes.verify import run_tests, write_candidate
from agents.ports import TaskContext
from agents.state import TaskState


def _commit(state: TaskState, ctx: TaskContext, base: str) -> str:
    task = state["task"]
    head = ctx.spine.head()
    keys = ", ".join(requirement["key"] for requirement in task.get("requirements", []))
    trailers = {
        "Task": task["key"],
        "Requirement": keys,
        "Run": ctx.run,
        "Event": str(head.seq),
        "Audit-Head": head.hash,
    }
    tree = write_candidate({**state, "base": base}, ctx)
    return tree.commit(base, task["title"], task.get("expects", ""), trailers)


def merge(state: TaskState, runtime: Runtime[TaskContext]) -> dict[str, Any]:
    """Bring the change to main, or say what stands in its way."""
    ctx = runtime.context
    result: dict[str, Any] = {"step": state["step"] + 1}

    def held() -> None:
        result.update(_merge(state, ctx))

    ctx.book.merge_turn(held)
    return result


def _merge(state: TaskState, ctx: TaskContext) -> dict[str, Any]:
    task = state["task"]
    done = ctx.repository.merged(ctx.run, task["key"])
    if done:  # killed after the merge, before its checkpoint
        return _recorded(state, ctx, done, rebased=False, changed={})
    main = ctx.repository.head()
    sha = _commit(state, ctx, state["base"])
    ctx.spine.emit(
        "git.commit", role="coder", attempt=state["attempt"], key=key_of(state, "commit"),
        summary=f"commit {sha[:10]} {task['title']}"[:400], payload={"sha": sha, "base": state["base"]},
    )  # fmt: skip
    if main == state["base"]:
        ctx.repository.fast_forward(sha)
        return _recorded(state, ctx, sha, rebased=False, changed={})
    replay = ctx.repository.open(ctx.worktree_name).replay(sha, main)
    tests = {path: text for path, text in replay.files.items() if path in state["tests"]}
    files = {path: text for path, text in replay.files.items() if path not in state["tests"]}
    changed = {"base": main, "tests": tests, "files": files}
    if replay.conflicts:
        ctx.spine.emit(
            "git.merge", role="runtime", attempt=state["attempt"], key=key_of(state, "conflict"), outcome="conflict",
            summary=f"Conflict with what was merged meanwhile: {', '.join(replay.conflicts)}"[:400],
            payload={"sha": sha, "onto": main, "conflict": list(replay.conflicts)},
        )  # fmt: skip
        return changed | {
            "conflict": {path: replay.files.get(path, "") for path in replay.conflicts},
            "verdict": "conflict",
        }
    rebased: TaskState = {**state, "base": main, "tests": tests, "files": files}
    report = run_tests(rebased, ctx, write_candidate(rebased, ctx), "after-rebase")
    if not report.get("ok"):
        return changed | {
            "report": report,
            "signatures": [*state["signatures"], report["signature"]],
            "verdict": "fail",
        }
    sha = _commit(rebased, ctx, main)
    ctx.repository.fast_forward(sha)
    return _recorded(state, ctx, sha, rebased=True, changed=changed)


def _recorded(
    state: TaskState, ctx: TaskContext, sha: str, *, rebased: bool, changed: dict[str, Any]
) -> dict[str, Any]:
    ctx.spine.emit(
        "git.merge", role="runtime", attempt=state["attempt"], key=f"{state['task']['key']}/merged", outcome="ok",
        summary=f"merged {sha[:10]}{' after a rebase, suite run again' if rebased else ''}",
        payload={"sha": sha, "rebased": rebased, "conflict": []},
    )  # fmt: skip
    return changed | {"commit": sha, "verdict": "merged"}
