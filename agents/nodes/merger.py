"""Commit and merge: one at a time per run, on top of what others merged, with the whole suite run again."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from agents.effects import effect
from agents.nodes.common import key_of
from agents.nodes.supply import LOCKS, lock_files
from agents.nodes.verify import run_tests, write_candidate
from agents.ports import TaskContext
from agents.state import TaskState


def _commit(state: TaskState, ctx: TaskContext, base: str, name: str) -> str:
    task, key = state["task"], key_of(state, name)
    with effect(
        ctx.spine, "git.commit", key=key, summary=f"commits {task['title']} …"[:400], role="coder", attempt=state["attempt"],
        payload={"base": base},
    ):  # fmt: skip
        sha = _committed(state, ctx, base)
    ctx.spine.emit(
        "git.commit", role="coder", attempt=state["attempt"], key=key, summary=f"commit {sha[:10]} {task['title']}"[:400],
        payload={"sha": sha, "base": base},
    )  # fmt: skip
    return sha


def _forward(state: TaskState, ctx: TaskContext, sha: str) -> None:
    """Move main; what came of it is said by _recorded()."""
    with effect(
        ctx.spine, "git.merge", key=_merged_key(state), summary=f"merges {sha[:10]} …", attempt=state["attempt"], payload={"sha": sha}
    ):  # fmt: skip
        ctx.repository.fast_forward(sha)


def _merged_key(state: TaskState) -> str:
    return f"{state['task']['key']}/merged"


def _committed(state: TaskState, ctx: TaskContext, base: str) -> str:
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
    for name, text in lock_files(state, ctx, base).items():
        if text is None:
            tree.remove(name)
        else:
            tree.write({name: text})
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
    sha = _commit(state, ctx, state["base"], "commit")
    if main == state["base"]:
        _forward(state, ctx, sha)
        return _recorded(state, ctx, sha, rebased=False, changed={})
    replay = ctx.repository.open(ctx.worktree_name).replay(sha, main)
    # Locks are written anew with the commit: two tasks that both added packages are no conflict.
    conflicts = [path for path in replay.conflicts if path not in LOCKS]
    replayed = {path: text for path, text in replay.files.items() if path not in LOCKS}
    tests = {path: text for path, text in replayed.items() if path in state["tests"]}
    files = {path: text for path, text in replayed.items() if path not in state["tests"]}
    changed = {"base": main, "tests": tests, "files": files}
    if conflicts:
        ctx.spine.emit(
            "git.merge", role="runtime", attempt=state["attempt"], key=key_of(state, "conflict"), outcome="conflict",
            summary=f"Conflict with what was merged meanwhile: {', '.join(conflicts)}"[:400],
            payload={"sha": sha, "onto": main, "conflict": conflicts},
        )  # fmt: skip
        return changed | {
            "conflict": {path: replay.files.get(path, "") for path in conflicts},
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
    sha = _commit(rebased, ctx, main, "commit-rebased")
    _forward(state, ctx, sha)
    return _recorded(state, ctx, sha, rebased=True, changed=changed)


def _recorded(
    state: TaskState, ctx: TaskContext, sha: str, *, rebased: bool, changed: dict[str, Any]
) -> dict[str, Any]:
    ctx.spine.emit(
        "git.merge", role="runtime", attempt=state["attempt"], key=_merged_key(state), outcome="ok",
        summary=f"merged {sha[:10]}{' after a rebase, suite run again' if rebased else ''}",
        payload={"sha": sha, "rebased": rebased, "conflict": []},
    )  # fmt: skip
    return changed | {"commit": sha, "verdict": "merged"}
