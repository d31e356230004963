"""Lessons in a task: found for a failure, judged by what the attempt with them came to, learned when a cure was proved.

All of it stands still when "memory" is switched off. What a lesson says was written by a model: it is shown as data,
kept short, and one that speaks to agents instead of about code is not kept at all.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

from agents.engine.contracts import Runtime, TaskContext
from agents.engine.nodes.explain_fix import difference, explained
from agents.engine.state import TaskState, key_of
from agents.events.reasoning import LessonLearned, LessonRefused, LessonsJudged, LessonsRecalled
from agents.memory.base import Lesson, Showing
from agents.memory.choosing import find_lessons
from agents.memory.rows import plain
from agents.memory.trust import known_as, planted, switched_off
from agents.repair.signature import error_kind, normalise
from agents.secrets.redaction import redact
from sandbox.package_index.names import base_packages, plain_name

LINE = 300  # characters of a lesson's cause, and of its fix
NAMED = 4  # files, tests or packages that a success names
FAILURES_READ = 3  # of one report
SAID = 4_000  # characters of a message that are looked at


def recall(state: TaskState, runtime: Runtime[TaskContext]) -> TaskState:
    """Start a task: make the worktree and look for lessons that fit."""
    ctx, task = runtime.context, state["task"]
    base = ctx.repository.head()
    ctx.repository.worktree(ctx.worktree_name, base)
    lessons = recalled(state, ctx, text=task["title"])
    if all(plain_name(name) in base_packages() for name in task.get("packages", [])):
        # Ready by the time the first tests are: the model writes for seconds, the sandbox starts meanwhile.
        ctx.sandbox(()).warm_up()
    return {"base": base, "memory": {"lessons": lessons}}


def learn(state: TaskState, runtime: Runtime[TaskContext]) -> TaskState:
    """End a merged task: keep the diagnosis that was confirmed, and put the worktree away."""
    ctx = runtime.context
    learned(state, ctx)
    success_kept(state, ctx)
    ctx.repository.remove(ctx.worktree_name)
    return {"verdict": "merged"}


def failure_words(report: Mapping[str, Any]) -> str:
    """What failed in a few words, without numbers and places: what a later failure is compared with."""
    lines = []
    for failure in (report.get("failures") or [])[:FAILURES_READ]:
        # Redacted before it is cut: half a secret is not recognised.
        message = str(redact(str(failure.get("message", "")).strip().split("\n")[0][:SAID]))[:200]
        kind = error_kind(str(failure.get("traceback") or message))
        lines.append(normalise(message if message.startswith(kind) else f"{kind}: {message}"))
    return "\n".join(dict.fromkeys(lines))


def recalled(
    state: TaskState, ctx: TaskContext, *, text: str, signature: str = "", summary: str = "Recalled"
) -> list[dict[str, Any]]:
    """Lessons for a task or a failure, as plain data; put on record with why they were chosen."""
    if "memory" in ctx.switched_off:
        return []
    found = find_lessons(
        ctx.lessons, project=ctx.project, signature=signature, text=text, across=ctx.lessons_across_projects
    )
    found = [one for one in found if one.lesson.id not in state["memory"]["unhelpful_lessons"]]
    if not found:
        return []
    best = found[0]
    record = f", helped {best.track.helped} of {best.track.shown}" if best.track.shown else ""
    lessons = [one.to_json() for one in found]
    event = LessonsRecalled(
        summary=f"{summary} (by {best.by}{record}): {best.lesson.cause}", error_signature=signature, lessons=lessons
    )
    ctx.event_log.emit(event, attempt=state["counters"]["attempt"], key=key_of(state, "recall"))
    return lessons


def recalled_for_failure(state: TaskState, ctx: TaskContext) -> list[dict[str, Any]]:
    """Lessons for the newest failure: the very same one first, then what is like it."""
    signature = (state["history"]["signatures"] or [""])[-1]
    text = failure_words(state["candidate"]["report"])
    return recalled(state, ctx, signature=signature, text=text, summary="This failure was met before")


def ids(lessons: Sequence[Mapping[str, Any]]) -> list[str]:
    """For the state: which lessons the next attempt was shown."""
    return [str(lesson["id"]) for lesson in lessons]


def unhelpful_lessons(state: TaskState) -> list[str]:
    """Lessons that this task has failed with, the newest try's among them: it is not shown them again.

    A wrong lesson that stays in the prompt misleads every approach alike; a right one that was read and did not help
    has had its chance here.
    """
    return sorted({*state["memory"]["unhelpful_lessons"], *state["memory"]["shown"]})


def judged(state: TaskState, ctx: TaskContext, passed: bool) -> None:
    """Write down whether the attempt that was shown lessons passed its tests (SWE-MEM-3): what does not help sinks."""
    shown = state["memory"]["shown"]
    if not shown or "memory" in ctx.switched_off:
        return
    task, number = state["task"], state["counters"]["attempt"]
    attempt = f"{ctx.project}/{ctx.run}/{task['key']}/{task.get('generation', 1)}/{number}"
    ctx.lessons.record([Showing(lesson, attempt, passed, time.time()) for lesson in shown])
    many = f"{len(shown)} lesson{'s' if len(shown) > 1 else ''}"
    event = LessonsJudged(
        summary=f"Try {number} with {many} {'passed' if passed else 'failed'}",
        outcome="ok" if passed else "fail",
        shown=list(shown),
        passed=passed,
    )
    ctx.event_log.emit(event, attempt=number, key=key_of(state, "lessons"))


def confirmed(state: TaskState) -> dict[str, Any]:
    """What a passing try has proved: how to fix the failure before it, by its diagnosis or by the difference.

    Empty when it cured none. Called before the state has the report of the try that passed.
    """
    if state["strategy"] not in ("repair", "fresh"):
        return {}
    diagnosis, left = state["candidate"]["diagnosis"], state["history"]["previous_failure"]
    signature = left.get("signature") or (state["history"]["signatures"] or [""])[-1]
    if not signature:
        return {}
    failure = failure_words(state["candidate"]["report"])
    proof = {"signature": signature, "failure": failure, "attempt": state["counters"]["attempt"]}
    if diagnosis.get("cause"):
        return proof | {"cause": diagnosis["cause"], "fix": diagnosis.get("plan") or diagnosis.get("hypothesis", "")}
    # The same code that fails and passes has cured nothing.
    return proof | {"trace": left["trace"], "diff": diff} if left and (diff := difference(state)) else {}


def learned(state: TaskState, ctx: TaskContext) -> None:
    """Keep what was proved, now that it is merged, so that the same failure is cheaper next time (SWE-FR-10)."""
    proof = state["memory"]["learned"]
    if not proof or "memory" in ctx.switched_off:
        return
    inferred, why = "cause" not in proof, ctx.lessons.problem
    if why:
        return _refused(state, ctx, proof, why)
    cause, fix, why = explained(state, ctx, proof) if inferred else (proof["cause"], proof["fix"], "")
    strange = planted(f"{cause}\n{fix}")
    cause, fix = _line(cause), _line(fix)
    if not why:
        why = (
            f"the diagnosis {strange}"
            if strange
            else switched_off(ctx.lessons, project=ctx.project, signature=proof["signature"], text=f"{cause}\n{fix}")
        )
    if why:
        return _refused(state, ctx, proof, why)
    known = known_as(ctx.lessons, project=ctx.project, signature=proof["signature"], text=f"{cause}\n{fix}")
    lesson = Lesson(
        id=known or hashlib.sha256(f"{ctx.project}|{proof['signature']}|{cause}".encode()).hexdigest()[:32],
        signature=proof["signature"],
        cause=cause,
        fix=fix,
        reward=state["candidate"]["reward"],
        project=ctx.project,
        task=state["task"]["key"],
        run=ctx.run,
        failure=redact(proof["failure"]),
        topic=_line(state["task"]["title"]),
        attempt=proof["attempt"],
        learned_at=time.time(),
        inferred=inferred,
    )
    ctx.lessons.add(lesson)
    if ctx.lessons.problem:
        return _refused(state, ctx, proof, ctx.lessons.problem)
    tries = len(state["history"]["failures"])
    how = "Inferred afterwards" if inferred else "Learned"
    event = LessonLearned(
        summary=f"{how} from {tries} failed {'try' if tries == 1 else 'tries'}: {lesson.cause}",
        error_signature=lesson.signature,
        lessons=[lesson.to_json()],
    )
    ctx.event_log.emit(event, attempt=state["counters"]["attempt"], key=key_of(state, "lesson"))


def success_kept(state: TaskState, ctx: TaskContext) -> None:
    """Keep how a merged task was done: files, tests and packages, for tasks with a title like its own.

    Later attempts that are shown it judge it, as they do every lesson; like an inferred one it starts with less weight.
    """
    task, candidate, counters = state["task"], state["candidate"], state["counters"]
    if "memory" in ctx.switched_off or ctx.lessons.problem or not candidate["files"]:
        return
    title, at = _line(task["title"]), counters["attempt"]
    # Versions that somebody found fault with: tests (also ones that were corrected then), a gate, the reviewer.
    faulty = len(state["history"]["failures"]) + counters["gate_rounds"] + counters["review_rounds"]
    faulty = min(faulty, at - 1)  # a fault that was disputed with success made no further version
    how = f"try {faulty + 1}" if faulty else "the first try"
    made = [("files", candidate["files"]), ("tests", candidate["tests"]), ("packages", candidate["packages"])]
    parts = "; ".join(f"{name} {', '.join(sorted(many)[:NAMED])}" for name, many in made if many)
    cause, fix = _line(f"A task that worked at {how}: {title}"), _line(parts)
    if planted(f"{cause}\n{fix}") or switched_off(
        ctx.lessons, project=ctx.project, signature="", text=f"{cause}\n{fix}"
    ):
        return
    lesson = Lesson(
        id=hashlib.sha256(f"{ctx.project}|worked|{title}".encode()).hexdigest()[:32],
        signature="",
        cause=cause,
        fix=fix,
        reward=candidate["reward"],
        project=ctx.project,
        task=task["key"],
        run=ctx.run,
        topic=title,
        attempt=at,
        learned_at=time.time(),
        inferred=True,
        worked=True,
    )
    ctx.lessons.add(lesson)
    if not ctx.lessons.problem:
        event = LessonLearned(summary=f"Kept what worked: {cause}", error_signature="", lessons=[lesson.to_json()])
        ctx.event_log.emit(event, attempt=at, key=key_of(state, "success"))


def _refused(state: TaskState, ctx: TaskContext, proof: Mapping[str, Any], why: str) -> None:
    event = LessonRefused(summary=f"Not learned: {why}", error_signature=proof["signature"], reason=why)
    ctx.event_log.emit(event, attempt=proof["attempt"], key=key_of(state, "lesson"))


def _line(text: str) -> str:
    """One line that can be stored, redacted before it is cut: half a secret is not recognised."""
    return " ".join(plain(str(redact(text))).split())[:LINE]
