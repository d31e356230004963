"""Commit and merge: one at a time per run, on top of what others merged, with the whole suite run again."""

from __future__ import annotations

from agents.engine.contracts import Runtime, TaskContext
from agents.engine.effects import effect
from agents.engine.nodes.packages import lock_files
from agents.engine.nodes.verify import run_tests, write_candidate
from agents.engine.state import TaskState, key_of, updated
from agents.events.effects import CommitMade, EffectAnnounced, MergeDone
from agents.languages.registry import languages


def _commit(state: TaskState, ctx: TaskContext, base: str, name: str) -> str:
    task, key = state["task"], key_of(state, name)
    announcement = EffectAnnounced(summary=f"commits {task['title']} …", role="coder", effect="git.commit", base=base)
    with effect(ctx.event_log, announcement, key=key, attempt=state["counters"]["attempt"]):
        sha = _committed(state, ctx, base)
    made = CommitMade(summary=f"commit {sha[:10]} {task['title']}", sha=sha, base=base)
    ctx.event_log.emit(made, attempt=state["counters"]["attempt"], key=key)
    return sha


def _forward(state: TaskState, ctx: TaskContext, sha: str) -> None:
    """Move main; _recorded() writes the outcome."""
    announcement = EffectAnnounced(summary=f"merges {sha[:10]} …", effect="git.merge", sha=sha)
    with effect(ctx.event_log, announcement, key=_merged_key(state), attempt=state["counters"]["attempt"]):
        ctx.repository.fast_forward(sha)


def _merged_key(state: TaskState) -> str:
    return f"{state['task']['key']}/merged"


def _committed(state: TaskState, ctx: TaskContext, base: str) -> str:
    task = state["task"]
    head = ctx.event_log.head()
    keys = ", ".join(requirement["key"] for requirement in task.get("requirements", []))
    trailers = {
        "Task": task["key"],
        "Requirement": keys,
        "Run": ctx.run,
        "Event": str(head.seq),
        "Audit-Head": head.hash,
    }
    tree = write_candidate(updated(state, {"base": base}), ctx)
    for name, text in lock_files(state, ctx, base).items():
        if text is None:
            tree.remove(name)
        else:
            tree.write({name: text})
    return tree.commit(base, task["title"], task.get("expects", ""), trailers)


def merge(state: TaskState, runtime: Runtime[TaskContext]) -> TaskState:
    """Bring the change to main, or say what stands in its way."""
    ctx = runtime.context
    result: TaskState = {}

    def held() -> None:
        result.update(_merge(state, ctx))

    ctx.task_store.merge_turn(held)
    return result


def _merge(state: TaskState, ctx: TaskContext) -> TaskState:
    task = state["task"]
    done = ctx.repository.merged(ctx.run, task["key"])
    if done:  # killed after the merge, before its checkpoint
        return _recorded(state, ctx, done)
    main = ctx.repository.head()
    sha = _commit(state, ctx, state["base"], "commit")
    if main == state["base"]:
        _forward(state, ctx, sha)
        return _recorded(state, ctx, sha)
    replay = ctx.repository.open(ctx.worktree_name).replay(sha, main)
    # Locks are written anew with the commit: two tasks that both added packages are no conflict.
    locks = {language.lock for language in languages()}
    conflicts = [path for path in replay.conflicts if path not in locks]
    replayed = {path: text for path, text in replay.files.items() if path not in locks}
    known = state["candidate"]["tests"]
    tests = {path: text for path, text in replayed.items() if path in known}
    files = {path: text for path, text in replayed.items() if path not in known}
    changed: TaskState = {"base": main, "candidate": {"tests": tests, "files": files}}
    if conflicts:
        conflict = MergeDone(
            summary=f"Conflict with what was merged meanwhile: {', '.join(conflicts)}",
            outcome="conflict",
            sha=sha,
            onto=main,
            conflict=conflicts,
        )
        ctx.event_log.emit(conflict, attempt=state["counters"]["attempt"], key=key_of(state, "conflict"))
        marked = {path: replay.files.get(path, "") for path in conflicts}
        return updated(changed, {"candidate": {"conflict": marked}, "verdict": "conflict"})
    rebased = updated(state, changed)
    report = run_tests(rebased, ctx, write_candidate(rebased, ctx), "after-rebase")
    if not report.get("ok"):
        signatures = [*state["history"]["signatures"], report["signature"]]
        failed: TaskState = {"candidate": {"report": report}, "history": {"signatures": signatures}, "verdict": "fail"}
        return updated(changed, failed)
    sha = _commit(rebased, ctx, main, "commit-rebased")
    _forward(state, ctx, sha)
    return updated(changed, _recorded(state, ctx, sha, rebased=True))


def _recorded(state: TaskState, ctx: TaskContext, sha: str, *, rebased: bool = False) -> TaskState:
    done = MergeDone(
        summary=f"merged {sha[:10]}{' after a rebase, suite run again' if rebased else ''}",
        outcome="ok",
        sha=sha,
        rebased=rebased,
        conflict=[],
    )
    ctx.event_log.emit(done, attempt=state["counters"]["attempt"], key=_merged_key(state))
    return {"candidate": {"commit": sha}, "verdict": "merged"}
