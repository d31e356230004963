"""The coder: first version, repair with a diagnosis, a fresh approach, findings, rejections and conflicts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from agents.context import files_text
from agents.engine.best_try import better_before
from agents.engine.contracts import OverBudget, Runtime, TaskContext
from agents.engine.nodes.common import (
    add_messages,
    key_of,
    lessons_text,
    opening,
    own_files,
    request_files,
    tests_text,
)
from agents.engine.nodes.explain_fix import previous_failure
from agents.engine.nodes.lessons import ids, recalled_for_failure
from agents.engine.nodes.limits import near_the_limit
from agents.engine.state import TaskState
from agents.events.lifecycle import AttemptTakenBack
from agents.events.reasoning import DiagnosisMade
from agents.languages.registry import language_of_task
from agents.llm.base import Message, ReplyTooLong
from agents.personas import CODER
from agents.prompts.provenance import Source, as_turn, label, render
from agents.repair.evidence import is_shown
from agents.repair.feedback import counts_text, trace_text, whole_trace
from agents.repair.known import where_text
from agents.replies.types import Diagnosis


def _candidate(
    state: TaskState, ctx: TaskContext, messages: list[Message], *, step: str, strategy: str, hints: str = ""
) -> dict[str, Any]:
    """Ask the coder for files and make them the candidate of the next attempt.

    `hints` stand in the question but are no evidence: lessons are from other tasks.
    """
    if strategy != "first" and state["iteration"] >= ctx.limits.max_iterations:
        return _nothing(state, "")
    current, is_test = {**own_files(state, ctx), **state["files"]}, language_of_task(state["task"]).is_test
    messages, messages_read = add_messages(state, ctx, messages)
    shown = messages[-1]["content"].replace(hints, "") if hints else messages[-1]["content"]
    try:
        messages, reply, applied = request_files(
            state, ctx, CODER, messages, step=step, accept=lambda path: not is_test(path), current=current
        )
    except (OverBudget, ReplyTooLong) as end:
        if not state["best"]:
            raise
        # Something was tried: whoever decides what comes next should see it.
        return _nothing(state, str(end))
    near_the_limit(state, ctx)
    changed: dict[str, Any] = {
        "step": state["step"] + 1,
        "coder": messages,
        "iteration": state["iteration"] + 1,
        "strategy": strategy,
        "diagnosis": {},
        "messages_read": messages_read,
        "verdict": "",
        "unfounded": False,
        "shown": [],
        "previous_failure": {},
    }
    if strategy == "repair" or (reply.diagnosis is not None and strategy != "first"):
        diagnosis: dict[str, Any] = asdict(reply.diagnosis or Diagnosis())
        found = is_shown(diagnosis["evidence"], f"{shown}\n{whole_trace(state['report'])}")
        none = "No cause was named" if any(diagnosis.values()) else "No diagnosis was given"
        made = DiagnosisMade(
            summary=diagnosis["cause"] or none,
            error_signature=state["signatures"][-1] if state["signatures"] else "",
            evidence_found=found,
            **diagnosis,
        )
        ctx.event_log.emit(made, attempt=state["attempt"] + 1, key=key_of(state, "diagnosis"))
        changed["diagnosis"] = diagnosis if any(diagnosis.values()) else {}
        changed["unfounded"] = bool(diagnosis["evidence"]) and not found
    if applied.refused:
        reason = applied.refused[0][1]
        return changed | {"verdict": "escalate", "escalation": f"The coder's answers could not be used: {reason}"}
    packages = sorted({*state["packages"], *reply.packages})
    return changed | {"files": {**state["files"], **applied.files}, "packages": packages}


def _nothing(state: TaskState, why: str) -> dict[str, Any]:
    """Nothing was asked: a limit is reached."""
    return {"step": state["step"] + 1, "verdict": "escalate", "escalation": why}


def code(state: TaskState, runtime: Runtime[TaskContext]) -> dict[str, Any]:
    """The first version."""
    ctx = runtime.context
    messages = opening(state, ctx, CODER, "code", tests=tests_text(state))
    return _candidate(state, ctx, messages, step="code", strategy="first") | {"shown": ids(state["lessons"])}


def repair(state: TaskState, runtime: Runtime[TaskContext]) -> dict[str, Any]:
    """Diagnosis and repaired files in one answer, from the full trace; a try that made it worse is undone first."""
    ctx = runtime.context
    back = _taken_back(state, ctx)
    undone = state["failures"][-1] if back else ""
    state = {**state, **back}
    signatures = state["signatures"]
    known = recalled_for_failure(state, ctx)
    told = "diagnosis" not in ctx.switched_off
    hints = lessons_text(known)
    prompt = render(
        "task.repair",
        lessons=hints,
        counts=counts_text(state["report"]),
        trace=label(
            f"{where_text(state['report'], language_of_task(state['task']))}\n\n{trace_text(state['report'])}".strip(),
            Source.TESTS,
        )
        if told
        else "",
        repeated=len(signatures) > 1 and signatures[-1] == signatures[-2],
        unfounded=told and state.get("unfounded", False),
        undone=label(undone, Source.TESTS),
    )
    messages: list[Message] = [*state["coder"], as_turn("user", prompt)]
    step = "repair-back" if undone else "repair"
    changed = _candidate(state, ctx, messages, step=step, strategy="repair", hints=hints)
    if "coder" not in changed:
        return changed
    counted = {
        "repairs": state["repairs"] + 1,
        "repairs_here": state["repairs_here"] + 1,
        "previous_failure": previous_failure(state),
    }
    return back | changed | counted | {"shown": ids(known)}


def _taken_back(state: TaskState, ctx: TaskContext) -> TaskState:
    """The parts of the state as they were at the better try before this one; empty when there is none."""
    before = None if "best" in ctx.switched_off else better_before(state)
    if before is None:
        return TaskState()
    report = before["report"]
    better = f"try {before['attempt']} ({counts_text(report).rstrip('.')})"
    taken_back = AttemptTakenBack(
        summary=f"Try {state['attempt']} made it worse: back to {better}",
        error_signature=report["signature"],
        to=before["attempt"],
        worse={part: state["report"].get(part, 0) for part in ("passed", "failed", "errors")},
    )
    ctx.event_log.emit(taken_back, attempt=state["attempt"], key=key_of(state, "taken-back"))
    return TaskState(
        files=before["files"],
        packages=before["packages"],
        report=report,
        coder=state["coder"][: before["turns"]],
        signatures=[*state["signatures"], report["signature"]],
    )


def fresh(state: TaskState, runtime: Runtime[TaskContext]) -> dict[str, Any]:
    """Another approach: a new conversation at a higher temperature that is told what did not work."""
    ctx = runtime.context
    lessons = [one for one in state["lessons"] if one["id"] not in state.get("unhelpful_lessons", [])]
    again: TaskState = {**state, "approach": state["approach"] + 1, "files": {}, "lessons": lessons}
    avoid = state["failures"][-4:]
    if argued := state.get("argued"):
        avoid = [*avoid, f"The tester holds the test to be right: {argued}"]
    messages = opening(again, ctx, CODER, "code", tests=tests_text(state), avoid="\n".join(avoid))
    changed = _candidate(again, ctx, messages, step="code", strategy="fresh")
    if "coder" not in changed:
        return changed
    return changed | {
        "approach": again["approach"],
        "signatures": [],
        "repairs": state["repairs"] + 1,
        "repairs_here": 0,
        "exhausted": False,
        "files": changed.get("files", {}),
        "lessons": lessons,
        "shown": ids(lessons),
        "previous_failure": previous_failure(state),
    }


def fix_findings(state: TaskState, runtime: Runtime[TaskContext]) -> dict[str, Any]:
    """The gate blocked: remove the cause."""
    prompt = render("task.findings", findings=label(state["report"]["gate_feedback"], Source.TOOLS))
    messages: list[Message] = [*state["coder"], as_turn("user", prompt)]
    return _candidate(state, runtime.context, messages, step="findings", strategy="findings")


def answer_review(state: TaskState, runtime: Runtime[TaskContext]) -> dict[str, Any]:
    """The reviewer refused: change what was asked for."""
    prompt = render(
        "task.rejected", reasons=label("\n".join(f"- {reason}" for reason in state["report"]["review"]), Source.MODEL)
    )
    messages: list[Message] = [*state["coder"], as_turn("user", prompt)]
    return _candidate(state, runtime.context, messages, step="rejected", strategy="review")


def resolve(state: TaskState, runtime: Runtime[TaskContext]) -> dict[str, Any]:
    """Both sides changed the same lines: the coder writes the file that serves both."""
    shown = files_text(state["conflict"])
    messages: list[Message] = [*state["coder"], as_turn("user", render("task.conflict", conflicts=shown))]
    changed = _candidate(state, runtime.context, messages, step="conflict", strategy="conflict")
    left = [path for path in state["conflict"] if "<<<<<<<" in changed.get("files", {}).get(path, "<<<<<<<")]
    if left and changed["verdict"] != "escalate":
        return changed | {
            "verdict": "escalate",
            "escalation": f"The merge conflict in {', '.join(left)} was not resolved.",
        }
    return changed | {"conflict": {}}
