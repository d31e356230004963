"""The coder: first version, repair with a diagnosis, a fresh approach, findings, rejections and conflicts."""

from __future__ import annotations

import re
from dataclasses import asdict
from functools import partial
from typing import Any

from agents.checks.check import replaces_tests
from agents.context import files_text
from agents.engine.best_try import better_before
from agents.engine.contracts import OverBudget, Runtime, TaskContext
from agents.engine.nodes.common import (
    add_messages,
    is_long,
    lessons_text,
    near_the_limit,
    one_line,
    own_files,
    request_files,
)
from agents.engine.nodes.compose import compose
from agents.engine.nodes.current_code import add_code
from agents.engine.nodes.explain_fix import previous_failure
from agents.engine.nodes.lessons import ids, recalled_for_failure
from agents.engine.nodes.missing import LACKS, add_answer, asked, missing
from agents.engine.nodes.opening import opening
from agents.engine.nodes.outside import by_agent
from agents.engine.nodes.removals import paths_of, tests_of
from agents.engine.nodes.shown_tests import add_tests, tests_text
from agents.engine.nodes.verify import write_candidate
from agents.engine.state import Candidate, TaskState, key_of, updated
from agents.events.lifecycle import AttemptTakenBack
from agents.events.reasoning import DiagnosisMade
from agents.languages.registry import language_of, language_of_task
from agents.llm.base import Message, ReplyTooLong
from agents.personas import CODER
from agents.prompts.provenance import Material, Source, as_turn, joined, label, render
from agents.repair.evidence import is_shown
from agents.repair.feedback import clip, counts_text, trace_text, whole_trace
from agents.repair.known import where_text
from agents.replies.types import Diagnosis, Reply

DIFF_CHARS = 8_000  # of a change that a reviewer refused
ASKING = {"first": "code", "repair": "repair", "fresh": "fresh"}  # strategies that may ask for a sub-task: their nodes
IN_DOUBT, DISAGREES = "the test", "the objection"  # what the coder holds to be wrong, in the place of a path
_WRONG_TEST = re.compile(
    r"\b(?:test|assert)\w*\b.*\b(?:wrong|incorrect|contradict|mistake|invalid|asks for (?:what|more)"
    r"|do(?:es)? not (?:say|ask|follow)|fails? in (?:its|their) own set-?up"
    r"|(?:not|n't|never|without|missing|lacks?|forg[eo]ts?)\b(?:\W+\w+){0,2}?\W+import)"
    r"|\btests?\b(?: itself)? (?:has|have|needs?|must|should|ought)(?: to)? be (?:correct|chang|fix|adjust|rewrit)"
    # That the code is right says the same: the test sets itself up wrongly.
    r"|\b(?:code|implementation)\b(?: itself)? (?:is|seems|looks) (?:right|correct|fine)\b"
    r"|\b(?:nothing|no changes?|no need) (?:\w+ ){0,3}?(?:change|fix|in|to) (?:\w+ ){0,2}?(?:code|implementation)\b",
    re.IGNORECASE,
)
_DISAGREE = re.compile(r"^\W*disagree\W*:\W*(\w.*(?:\n.*\S.*)*)", re.IGNORECASE | re.MULTILINE)


def _candidate(
    state: TaskState, ctx: TaskContext, messages: list[Message], *, step: str, strategy: str, hints: str = ""
) -> TaskState:
    """Ask the coder for files and make them the candidate of the next attempt.

    `hints` stand in the question but are no evidence: lessons are from other tasks. When a limit is reached nothing is
    asked, and the change has no candidate.
    """
    candidate, history, used = state["candidate"], state["history"], state["counters"]
    if strategy != "first" and used["iteration"] >= ctx.limits.max_iterations:
        return {"verdict": "escalate", "escalation": ""}
    current, is_test = {**own_files(state, ctx), **candidate["files"]}, tests_of(state, ctx)
    without_code = replaces_tests(state["task"])
    unseen = strategy == "first" and "tests" in ctx.switched_off  # what failed is seen with the trace
    messages = add_code(state, ctx, messages) if strategy not in ("first", "fresh") else messages
    messages, messages_read = add_messages(state, ctx, messages if unseen else add_tests(state, ctx, messages))
    messages = add_answer(state, ctx, messages)
    dispute = _disagrees if strategy == "review" else partial(_lacks_or_blames, state, ctx, strategy)
    shown = messages[-1]["content"].replace(hints, "") if hints else messages[-1]["content"]
    try:
        messages, reply, applied = request_files(
            state,
            ctx,
            CODER,
            messages,
            step=step,
            accept=lambda path: not is_test(path) and not (without_code and language_of(path)),
            current=current,
            dispute=dispute,
        )
    except (OverBudget, ReplyTooLong) as end:
        if not history["best"]:
            raise
        # Something was tried: whoever decides what comes next should see it.
        return {"verdict": "escalate", "escalation": str(end)}
    near_the_limit(state, ctx)
    if applied.refused and applied.refused[0][0] == LACKS:
        return asked(reply, ASKING[strategy], used["iteration"] + 1)
    changed: TaskState = {
        "strategy": strategy,
        "verdict": "",
        "candidate": {"diagnosis": {}, "unfounded": False},
        "conversation": {"coder": messages, "messages_read": messages_read},
        "history": {"previous_failure": {}},
        "memory": {"shown": []},
        "counters": {"iteration": used["iteration"] + 1},
    }
    if strategy == "repair" or (reply.diagnosis is not None and strategy != "first"):
        changed["candidate"] |= _diagnosed(state, ctx, reply.diagnosis or Diagnosis(), shown)
    if applied.refused:
        what, reason = applied.refused[0]
        if what == IN_DOUBT:
            return {**changed, "verdict": "disputed"}
        if what == DISAGREES:
            answered = history["refused"] | {"answer": reason}
            return updated(changed, {"verdict": "disagreed", "history": {"refused": answered}})
        return {**changed, "verdict": "escalate", "escalation": f"The coder's answers could not be used: {reason}"}
    changed["candidate"]["files"] = {**candidate["files"], **applied.files}
    changed["candidate"]["removed"] = {**candidate["removed"], **applied.removed}
    changed["candidate"]["packages"] = sorted({*candidate["packages"], *reply.packages})
    return changed


def _diagnosed(state: TaskState, ctx: TaskContext, named: Diagnosis, shown: str) -> Candidate:
    """Put a diagnosis on record, and whether its evidence stands in what was shown; what the candidate keeps of it."""
    diagnosis: dict[str, Any] = asdict(named)
    found = is_shown(diagnosis["evidence"], f"{shown}\n{whole_trace(state['candidate']['report'])}")
    none = "No cause was named" if any(diagnosis.values()) else "No diagnosis was given"
    signatures = state["history"]["signatures"]
    made = DiagnosisMade(
        summary=diagnosis["cause"] or none,
        error_signature=signatures[-1] if signatures else "",
        evidence_found=found,
        **diagnosis,
    )
    ctx.event_log.emit(made, attempt=state["counters"]["attempt"] + 1, key=key_of(state, "diagnosis"))
    return {
        "diagnosis": diagnosis if any(diagnosis.values()) else {},
        "unfounded": bool(diagnosis["evidence"]) and not found,
    }


def _lacks_or_blames(state: TaskState, ctx: TaskContext, strategy: str, reply: Reply) -> tuple[str, str] | None:
    lacks = missing(state, ctx, reply) if strategy in ASKING else None
    return lacks or (_blames_test(state, reply) if strategy == "repair" else None)


def _blames_test(state: TaskState, reply: Reply) -> tuple[str, str] | None:
    """A diagnosis with changes to tests alone, or without any file and with words to that effect.

    The tester judges each failure once; after that, and where the tests came with the task, the code has to change.
    """
    if reply.diagnosis is None:
        return None
    said = f"{reply.diagnosis.cause}\n{reply.diagnosis.hypothesis}\n{reply.diagnosis.plan}"
    if not paths_of(reply) and not _WRONG_TEST.search(said):
        return None
    history = state["history"]
    if replaces_tests(state["task"]):
        return None
    if state["task"].get("tests_given"):
        return "", "The tests came with the task and stand: change the code."
    if not history["signatures"] or history["signatures"][-1] in history["adjudicated"]:
        because = f" ({history['argued']})" if history["argued"] else ""
        return "", f"The quality engineer judged this failure already: the tests stand{because}. Change the code."
    return IN_DOUBT, said


def _disagrees(reply: Reply) -> tuple[str, str] | None:
    """The reason why the reviewer's objection is not followed."""
    found = _DISAGREE.search(reply.thought)
    return (DISAGREES, one_line(found[1])) if found else None


def code(state: TaskState, runtime: Runtime[TaskContext]) -> TaskState:
    """The first version."""
    ctx = runtime.context
    if ctx.outside:
        return by_agent(state, ctx, ctx.outside, strategy="first")
    if state["task"].get("blueprint"):
        return compose(state, ctx, strategy="first")
    tests = "" if "tests" in ctx.switched_off else tests_text(state, ctx)
    messages = opening(state, ctx, CODER, "code", tests=tests)
    changed = _candidate(state, ctx, messages, step="code", strategy="first")
    return updated(changed, {"memory": {"shown": ids(state["memory"]["lessons"])}})


def repair(state: TaskState, runtime: Runtime[TaskContext]) -> TaskState:
    """Diagnosis and repaired files in one answer, from the full trace; a try that made it worse is undone first."""
    ctx = runtime.context
    if ctx.outside:
        return by_agent(state, ctx, ctx.outside, strategy="repair")
    if _has_passed(state, ctx):
        return _answer_again(state, ctx, {})
    back = _taken_back(state, ctx)
    undone = state["history"]["failures"][-1] if back else ""
    state = updated(state, back)
    report, signatures, used = state["candidate"]["report"], state["history"]["signatures"], state["counters"]
    known = recalled_for_failure(state, ctx)
    hints = lessons_text(known)
    where = f"{where_text(report, language_of_task(state['task']))}\n\n{trace_text(report)}".strip()
    told = "diagnosis" not in ctx.switched_off
    prompt = render(
        "task.repair",
        lessons=hints,
        counts=joined([Material(counts_text(report), ()), _not_written(state, ctx)], " "),
        trace=label(where, Source.TESTS) if told else "",
        repeated=len(signatures) > 1 and signatures[-1] == signatures[-2],
        unfounded=told and state["candidate"]["unfounded"],
        undone=label(undone, Source.TESTS),
    )
    step = "repair-back" if undone else "repair"
    messages: list[Message] = [*state["conversation"]["coder"], as_turn("user", prompt, step=step)]
    changed = _candidate(state, ctx, messages, step=step, strategy="repair", hints=hints)
    if "candidate" not in changed:
        return changed
    if changed["verdict"] == "disputed":
        return updated(back, changed)  # not a repair: the tester is asked first
    tried: TaskState = {
        "history": {"previous_failure": previous_failure(state)},
        "memory": {"shown": ids(known)},
        "counters": {"repairs": used["repairs"] + 1, "repairs_here": used["repairs_here"] + 1},
    }
    return updated(updated(back, changed), tried)


def _not_written(state: TaskState, ctx: TaskContext) -> Material:
    """Which files of the task neither the repository nor the candidate has; tests are not the coder's."""
    is_test, there = tests_of(state, ctx), {*ctx.repository.files(state["base"]), *state["candidate"]["files"]}
    left = [path for path in state["task"].get("files", []) if path not in there and not is_test(path)]
    return Material(f"Files of this task that you have not written: {', '.join(left)}." if left else "", {Source.MODEL})


def _taken_back(state: TaskState, ctx: TaskContext) -> TaskState:
    """The parts of the state as they were at the better try before this one; empty when there is none."""
    before = None if "best" in ctx.switched_off else better_before(state)
    if before is None:
        return {}
    report, number = before["report"], state["counters"]["attempt"]
    better = f"try {before['attempt']} ({counts_text(report).rstrip('.')})"
    taken_back = AttemptTakenBack(
        summary=f"Try {number} made it worse: back to {better}",
        error_signature=report["signature"],
        to=before["attempt"],
        worse={part: state["candidate"]["report"].get(part, 0) for part in ("passed", "failed", "errors")},
    )
    ctx.event_log.emit(taken_back, attempt=number, key=key_of(state, "taken-back"))
    return {
        "candidate": {"files": before["files"], "packages": before["packages"], "report": report},
        "conversation": {"coder": state["conversation"]["coder"][: before["turns"]]},
        "history": {"signatures": [*state["history"]["signatures"], *filter(None, [report["signature"]])]},
    }


def _has_passed(state: TaskState, ctx: TaskContext) -> bool:
    """True when the newest try broke a version that had passed and was only to be changed."""
    before = None if "best" in ctx.switched_off else better_before(state)
    return before is not None and any(before["report"].get(part) for part in ("review", "gate_feedback"))


def _answer_again(state: TaskState, ctx: TaskContext, begun: TaskState) -> TaskState:
    """From the version that passed: the same objection once more, with what the answer to it broke."""
    report = state["candidate"]["report"]
    broke = joined([Material(counts_text(report), ()), label(trace_text(report), Source.TESTS)], "\n")
    back = updated(_taken_back(state, ctx), begun)
    again = updated(state, back)
    changed = _answer(again, ctx, "repair-back", *_objection(again, ctx, broke))
    if "candidate" not in changed:
        return changed
    if changed["verdict"] == "disagreed":
        changed["verdict"] = ""  # the version that passed becomes a try again: it is what would be merged
    used = again["counters"]
    tried: TaskState = {"counters": {"repairs": used["repairs"] + 1, "repairs_here": used["repairs_here"] + 1}}
    return updated(updated(back, changed), tried)


def fresh(state: TaskState, runtime: Runtime[TaskContext]) -> TaskState:
    """Another approach: a new conversation at a higher temperature that is told what did not work."""
    ctx, history, used = runtime.context, state["history"], state["counters"]
    if ctx.outside:
        return by_agent(state, ctx, ctx.outside, strategy="fresh")
    if _has_passed(state, ctx):
        kept = history["best_here"] | {"approach": used["approach"] + 1}
        begun: TaskState = {
            "history": {"signatures": [], "exhausted": False, "best_here": kept},
            "counters": {"approach": kept["approach"], "repairs_here": 0},
        }
        return _answer_again(state, ctx, begun)
    begun = updated(without_failed(state), {"counters": {"approach": used["approach"] + 1}})
    again = updated(state, begun)
    if state["task"].get("blueprint"):
        changed = compose(again, ctx, strategy="fresh")
    else:
        messages = opening(again, ctx, CODER, "code", tests=tests_text(state, ctx), avoid=to_avoid(state))
        changed = _candidate(again, ctx, messages, step="code", strategy="fresh")
    if "candidate" not in changed:
        return changed
    tried: TaskState = {
        "history": {"signatures": [], "exhausted": False, "previous_failure": previous_failure(state)},
        "memory": {"shown": ids(again["memory"]["lessons"])},
        "counters": {"repairs": used["repairs"] + 1, "repairs_here": 0},
    }
    return updated(updated(begun, changed), tried)


def without_failed(state: TaskState) -> TaskState:
    """What another approach begins without: the files so far, and lessons that did not help."""
    memory = state["memory"]
    lessons = [lesson for lesson in memory["lessons"] if lesson["id"] not in memory["unhelpful_lessons"]]
    return {"candidate": {"files": {}}, "memory": {"lessons": lessons}}


def to_avoid(state: TaskState) -> str:
    """What did not work, for another approach."""
    argued = state["history"]["argued"]
    right = [f"The tester holds the test to be right: {argued}"] if argued else []
    return "\n".join([*state["history"]["failures"][-4:], *right])


def answer(state: TaskState, runtime: Runtime[TaskContext]) -> TaskState:
    """The gate blocked, or the reviewer refused: remove the cause, change what was asked for."""
    ctx = runtime.context
    if ctx.outside:
        kind = "review" if "review" in state["candidate"]["report"] else "findings"
        return by_agent(state, ctx, ctx.outside, strategy=kind)
    strategy, prompt = _objection(state, ctx)
    return _answer(state, ctx, "rejected" if strategy == "review" else strategy, strategy, prompt)


def _objection(state: TaskState, ctx: TaskContext, broke: str = "") -> tuple[str, Material]:
    """What somebody holds against a version that passes, by strategy; `broke` is what the last answer to it broke."""
    report = state["candidate"]["report"]
    if "review" not in report:
        findings = label(report["gate_feedback"], Source.TOOLS)
        return "findings", render("task.findings", findings=findings, broke=broke)
    reasons = label("\n".join(f"- {reason}" for reason in report["review"]), Source.MODEL)
    changes = write_candidate(state, ctx).changes(state["base"])
    # Without what it took away the coder cannot put it back.
    diff = "".join(one.diff for one in changes if one.path not in state["candidate"]["tests"])
    shown = label(clip(diff, DIFF_CHARS), Source.MODEL, "diff")
    return "review", render("task.rejected", reasons=reasons, diff=shown, broke=broke)


def resolve(state: TaskState, runtime: Runtime[TaskContext]) -> TaskState:
    """Both sides changed the same lines: the coder writes the file that serves both."""
    if agent := runtime.context.outside:
        return by_agent(state, runtime.context, agent, strategy="conflict")
    conflict = state["candidate"]["conflict"]
    shown = {path: _around_conflicts(text) if is_long(text) else text for path, text in conflict.items()}
    prompt = render("task.conflict", conflicts=files_text(shown), long=shown != conflict)
    changed = _answer(state, runtime.context, "conflict", "conflict", prompt)
    files = changed.get("candidate", {}).get("files", {})
    left = [path for path in conflict if "<<<<<<<" in files.get(path, "<<<<<<<")]
    if left and changed["verdict"] != "escalate":
        unresolved = f"The merge conflict in {', '.join(left)} was not resolved."
        return {**changed, "verdict": "escalate", "escalation": unresolved}
    return updated(changed, {"candidate": {"conflict": {}}})


def _around_conflicts(text: str) -> str:
    """Of a long file the conflicts, with some lines around each."""
    lines = text.splitlines()
    begun = [row for row, line in enumerate(lines) if line.startswith("<<<<<<<")]
    ended = [row for row, line in enumerate(lines) if line.startswith(">>>>>>>")]
    parts = [lines[max(0, first - 10) : last + 11] for first, last in zip(begun, ended, strict=False)]
    return "\n…\n".join("\n".join(part) for part in parts)


def _answer(state: TaskState, ctx: TaskContext, step: str, strategy: str, prompt: Material) -> TaskState:
    """A further turn of the coder's conversation."""
    messages: list[Message] = [*state["conversation"]["coder"], as_turn("user", prompt, step=step)]
    return _candidate(state, ctx, messages, step=step, strategy=strategy)
