"""The tester: tests before code, and a verdict when a test itself is in doubt."""

from __future__ import annotations

from typing import Any

from agents.context import files_text
from agents.engine.contracts import OverBudget, Runtime, TaskContext
from agents.engine.nodes.common import add_messages, key_of, one_line, opening, request_files
from agents.engine.nodes.limits import near_the_limit
from agents.engine.state import TaskState
from agents.events.reasoning import Adjudicated
from agents.languages.registry import language_of_task
from agents.llm.base import Message
from agents.personas import TESTER
from agents.prompts.provenance import Source, as_turn, label, render
from agents.repair.feedback import trace_text


def write_tests(state: TaskState, runtime: Runtime[TaskContext]) -> dict[str, Any]:
    """Have the tests written from the requirement, unless the task brings its own; code is judged by nothing else."""
    ctx, is_test = runtime.context, language_of_task(state["task"]).is_test
    given = state["task"].get("tests_given")
    if given:
        return {"step": state["step"] + 1, "tests": dict(given), "verdict": ""}
    messages, _ = add_messages(state, ctx, opening(state, ctx, TESTER, "tests"))
    messages, _, applied = request_files(state, ctx, TESTER, messages, step="tests", accept=is_test, current={})
    changed: dict[str, Any] = {"step": state["step"] + 1, "tester": messages, "iteration": state["iteration"] + 1}
    if not applied.files:
        reason = applied.refused[0][1] if applied.refused else "the answer changed no test"
        return changed | {"verdict": "escalate", "escalation": f"No usable tests: {reason}"}
    return changed | {"tests": applied.files, "verdict": ""}


def strengthen(state: TaskState, runtime: Runtime[TaskContext]) -> dict[str, Any]:
    """The tests let every small mistake through: once, the tester is shown which, and writes tests that notice them."""
    ctx, is_test = runtime.context, language_of_task(state["task"]).is_test
    shown = label("\n".join(state["mutation"]["survivors"]), Source.MODEL, "diff")
    messages: list[Message] = [*state["tester"], as_turn("user", render("task.mutants", survivors=shown))]
    messages, _, applied = request_files(
        state, ctx, TESTER, messages, step="strengthen", accept=is_test, current=state["tests"], need_files=False
    )
    # Whatever came back is run: with no new test the suite passes as it did, and its weakness stays on record.
    return {
        "step": state["step"] + 1,
        "tester": messages,
        "iteration": state["iteration"] + 1,
        "tests": state["tests"] | applied.files,
        "strategy": "strengthened",
        "diagnosis": {},
        "shown": [],  # judged already: the code has not changed
        "signatures": [],
        "verdict": "",
    }


def adjudicate(state: TaskState, runtime: Runtime[TaskContext]) -> dict[str, Any]:
    """The same failure twice: the tester must argue from the requirement whether test or code is wrong."""
    ctx, is_test = runtime.context, language_of_task(state["task"]).is_test
    prompt = render(
        "task.adjudicate", trace=label(trace_text(state["report"]), Source.TESTS), code=files_text(state["files"])
    )
    messages: list[Message] = [*state["tester"], as_turn("user", prompt)]
    try:
        messages, reply, applied = request_files(
            state, ctx, TESTER, messages, step="adjudicate", accept=is_test, current=state["tests"], need_files=False
        )
    except OverBudget:
        # Without an argument the test stands; the approach that would come next is where the task ends.
        return {"step": state["step"] + 1, "verdict": "code"}
    said = reply.verdict
    wrong = "test" if said is not None and said.choice == "test" and applied.files else "code"
    signature = state["signatures"][-1]
    keys = [requirement["key"] for requirement in state["task"].get("requirements", [])]
    reason = (said.reason if said is not None else "") or "no reason was given"
    event = Adjudicated(
        summary=f"The {wrong} is wrong: {reason}",
        error_signature=signature,
        verdict=wrong,
        reason=reason,
        requirement=", ".join(keys),
    )
    ctx.event_log.emit(event, attempt=state["attempt"], key=key_of(state, "adjudication"))
    changed = {
        "step": state["step"] + 1,
        "tester": messages,
        "iteration": state["iteration"] + 1,
        "adjudicated": [*state["adjudicated"], signature],
        "adjudications": state["adjudications"] + 1,
        "verdict": wrong,
        "argued": one_line(reason) if wrong == "code" and said is not None else "",
    }
    near_the_limit(state, ctx)
    if wrong == "test":
        return changed | {
            "tests": state["tests"] | applied.files,
            "signatures": [],
            "strategy": "adjudicated",
            "diagnosis": {},
            "shown": [],  # judged already: the code has not changed
        }
    return changed
