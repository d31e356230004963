"""A fix without an explanation: the model is asked for it afterwards, from the failure and the difference.

A fresh approach makes no diagnosis, and some repairs come without one. What is read from the difference was never
put to the test as a diagnosis is, so it is marked as inferred and weighs less (agents.memory.weighing).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import unified_diff
from typing import Any

from agents.engine.ask import ask, question_of
from agents.engine.contracts import OverBudget, Stopped, TaskContext
from agents.engine.nodes.common import system_turn
from agents.engine.policy import left_of
from agents.engine.state import TaskState, key_of
from agents.llm.base import LLMError
from agents.llm.tokens import count_messages
from agents.memory.words import words_of
from agents.personas import CODER
from agents.prompts.provenance import Source, as_turn, label, render
from agents.repair.feedback import clip, trace_text
from agents.replies.jsonish import parse_json

TRACE_CHARS = 3_000
DIFF_CHARS = 6_000
EXPLAINER = replace(CODER, temperature=0.0, max_tokens=300)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"cause": {"type": "string"}, "fix": {"type": "string"}},
    "required": ["cause", "fix"],
}


def previous_failure(state: TaskState) -> dict[str, Any]:
    """The failing version that the next one is written to replace; nothing when its own trace is not at hand."""
    signatures, report = state["history"]["signatures"], state["candidate"]["report"]
    if not signatures or report.get("signature") != signatures[-1]:
        return {}
    trace = clip(trace_text(report), TRACE_CHARS)
    files, packages = state["candidate"]["files"], state["candidate"]["packages"]
    return {"signature": signatures[-1], "files": files, "packages": packages, "trace": trace}


def difference(state: TaskState) -> str:
    """What the version at hand does differently from the one left behind; "" when it is the same code."""
    left, candidate = state["history"]["previous_failure"], state["candidate"]
    before, files = left.get("files", {}), candidate["files"]
    lines = [f"package {name} added" for name in candidate["packages"] if name not in left.get("packages", ())]
    for path in sorted({*before, *files}):
        old, new = before.get(path, "").splitlines(), files.get(path, "").splitlines()
        lines += unified_diff(old, new, path, path, lineterm="", n=2)
    return clip("\n".join(lines), DIFF_CHARS)


def explained(state: TaskState, ctx: TaskContext, proof: Mapping[str, Any]) -> tuple[str, str, str]:
    """(cause, fix, ""), or ("", "", why there is none). One short call; none when the budget or the model forbids it.

    The work is merged by now, so nothing that goes wrong here may hold it up.
    """
    prompt = render(
        "task.lesson",
        project=ctx.project,
        key=state["task"]["key"],
        title=state["task"]["title"],
        trace=label(proof["trace"], Source.TESTS),
        diff=label(proof["diff"], Source.MODEL, "diff"),
    )
    messages: Any = [
        system_turn(CODER, ctx, state["task"]),
        as_turn("user", prompt, task=state["task"]["key"], step="lesson"),
    ]
    if left_of(ctx.limits, ctx.event_log.spent()) < count_messages(messages) + EXPLAINER.max_tokens:
        return "", "", "the tokens left do not pay for the question"
    try:
        key, attempt = key_of(state, "why"), proof["attempt"]
        answer = ask(question_of(ctx, EXPLAINER, messages, step="lesson", key=key, attempt=attempt, schema=SCHEMA))
    except (LLMError, OverBudget, Stopped) as trouble:
        return "", "", str(trouble) or "the run was stopped"
    said, problems = parse_json(answer.text, SCHEMA)
    if not isinstance(said, dict) or problems:
        return "", "", "the answer could not be read"
    cause, fix = str(said["cause"]).strip(), str(said["fix"]).strip()
    if not cause or not fix:
        return "", "", "the difference does not tell"
    if not words_of(f"{cause} {fix}").keys() & words_of(f"{proof['diff']} {proof['trace']}").keys():
        return "", "", "it mentions nothing from the failure or the change"
    return cause, fix, ""
