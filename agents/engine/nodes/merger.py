"""Commit and merge: one at a time per run, on top of what others merged, and only the very tree that was tested."""

from __future__ import annotations

from typing import Any

from agents.context import requirement_name
from agents.engine.contracts import Runtime, TaskContext
from agents.engine.effects import effect
from agents.engine.nodes.consent import refused_loss
from agents.engine.nodes.packages import lock_files
from agents.engine.nodes.verify import cannot_judge, refused_report, run_tests, write_candidate
from agents.engine.state import TaskState, key_of, updated
from agents.events.effects import CommitMade, EffectAnnounced, MergeDone, SystemNotice
from agents.languages.registry import languages
from agents.workspace.worktree import Worktree


def _commit(state: TaskState, ctx: TaskContext, base: str, name: str, tested: str = "") -> str:
    task, key = state["task"], key_of(state, name)
    announcement = EffectAnnounced(summary=f"commits {task['title']} …", role="coder", effect="git.commit", base=base)
    with effect(ctx.event_log, announcement, key=key, attempt=state["counters"]["attempt"]):
        sha = _committed(state, ctx, base, tested)
    made = CommitMade(summary=f"commit {sha[:10]} {task['title']}", sha=sha, base=base)
    ctx.event_log.emit(made, attempt=state["counters"]["attempt"], key=key)
    return sha


def _forward(state: TaskState, ctx: TaskContext, sha: str) -> None:
    """Move the run's branch; _recorded() writes the outcome."""
    announcement = EffectAnnounced(summary=f"merges {sha[:10]} …", effect="git.merge", sha=sha)
    with effect(ctx.event_log, announcement, key=_merged_key(state), attempt=state["counters"]["attempt"]):
        ctx.repository.fast_forward(sha)


def _merged_key(state: TaskState) -> str:
    return f"{state['task']['key']}/merged"


def _committed(state: TaskState, ctx: TaskContext, base: str, tested: str) -> str:
    task = state["task"]
    head = ctx.event_log.head()
    keys = ", ".join(requirement_name(requirement) for requirement in task.get("requirements", []))
    trailers = {
        "Task": task["key"],
        "Requirement": keys,
        "Run": ctx.run,
        "Event": str(head.seq),
        "Audit-Head": head.hash,
    }
    if author := state["candidate"].get("author"):
        trailers["Agent"] = author
    tree = _with_locks(state, ctx, base)
    return tree.commit(base, task["title"], task.get("expects", ""), trailers, tested=tested)


def _with_locks(state: TaskState, ctx: TaskContext, base: str) -> Worktree:
    """The worktree as it will be committed: the candidate, and the lock files of its packages."""
    tree = write_candidate(updated(state, {"base": base}), ctx)
    for name, text in lock_files(state, ctx, base).items():
        if text is None:
            tree.remove(name)
        else:
            tree.write({name: text})
    return tree


def _tested(state: TaskState, ctx: TaskContext, base: str, name: str) -> dict[str, Any]:
    """The report of the tests of the tree that will be committed; they run again unless they ran on that very tree."""
    tree, report = _with_locks(state, ctx, base), state["candidate"]["report"]
    if report.get("tree") != tree.tree(base):
        report = run_tests(state, ctx, tree, name)
        if report.get("ok") and (refusal := refused_loss(state, ctx, report)):
            return refused_report("tests", refusal)
    return report


def merge(state: TaskState, runtime: Runtime[TaskContext]) -> TaskState:
    """Bring the change to main, or say what stands in its way."""
    ctx, result = runtime.context, TaskState()
    ctx.task_store.merge_turn(lambda: result.update(_merge(state, ctx)))
    return result


def _merge(state: TaskState, ctx: TaskContext) -> TaskState:
    task = state["task"]
    done = ctx.repository.merged(ctx.run, task["key"])
    if done:  # killed after the merge, before its checkpoint
        ctx.repository.follow()
        return _recorded(state, ctx, done)
    main = ctx.repository.head()
    if main == state["base"]:
        report = _tested(state, ctx, main, "with-locks")
        if not report.get("ok"):
            return _broken(state, ctx, report)
        sha = _commit(state, ctx, main, "commit", report["tree"])
        _forward(state, ctx, sha)
        return _recorded(state, ctx, sha)
    sha = _commit(state, ctx, state["base"], "commit")  # only to be put on top of what was merged meanwhile
    changed, marked = put_onto(state, ctx, sha, main)
    if marked:
        conflicts = list(marked)
        conflict = MergeDone(
            summary=f"Conflict with what was merged meanwhile: {', '.join(conflicts)}",
            outcome="conflict",
            sha=sha,
            onto=main,
            conflict=conflicts,
        )
        ctx.event_log.emit(conflict, attempt=state["counters"]["attempt"], key=key_of(state, "conflict"))
        return updated(changed, {"candidate": {"conflict": marked}, "verdict": "conflict"})
    rebased = updated(state, changed)
    report = _tested(rebased, ctx, main, "after-rebase")
    if not report.get("ok"):
        return updated(changed, _broken(state, ctx, report))
    sha = _commit(rebased, ctx, main, "commit-rebased", report["tree"])
    _forward(state, ctx, sha)
    return updated(changed, _recorded(state, ctx, sha, rebased=True))


def put_onto(state: TaskState, ctx: TaskContext, sha: str, main: str) -> tuple[TaskState, dict[str, str]]:
    """The candidate, committed as `sha`, on another base, and its files with conflicts as they are marked."""
    replay = ctx.repository.replay(sha, main)
    # Locks are written anew with the commit: two tasks that both added packages are no conflict.
    locks = {language.lock for language in languages()}
    replayed = {path: text for path, text in replay.files.items() if path not in locks}
    known = state["candidate"]["tests"]
    tests = {path: text for path, text in replayed.items() if path in known}
    files = {path: text for path, text in replayed.items() if path not in known}
    marked = {path: replay.files.get(path, "") for path in replay.conflicts if path not in locks}
    return {"base": main, "candidate": {"tests": tests, "files": files}}, marked


def _broken(state: TaskState, ctx: TaskContext, report: dict[str, Any]) -> TaskState:
    """The suite fails on what would have been committed, or could not be judged."""
    if report.get("environment"):
        return cannot_judge(state, ctx, report, "")
    signatures = [*state["history"]["signatures"], report["signature"]]
    # What passed by its related tests alone has not passed: nothing goes back to it.
    return {"candidate": {"report": report}, "history": {"signatures": signatures, "best_here": {}}, "verdict": "fail"}


def _recorded(state: TaskState, ctx: TaskContext, sha: str, *, rebased: bool = False) -> TaskState:
    done = MergeDone(
        summary=f"merged {sha[:10]}{' after a rebase, suite run again' if rebased else ''}",
        outcome="ok",
        sha=sha,
        rebased=rebased,
        conflict=[],
    )
    ctx.event_log.emit(done, attempt=state["counters"]["attempt"], key=_merged_key(state))
    if left := ctx.repository.base_left():
        notice = SystemNotice(summary=f"The base branch stays: {left}", text=left)
        ctx.event_log.emit(notice, key=f"{_merged_key(state)}/base")
    return {"candidate": {"commit": sha}, "verdict": "merged"}
