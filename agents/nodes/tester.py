"""The tester: tests before code, and a verdict when a test itself is in doubt."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from agents.context import files_text
from agents.llm.base import Message
from agents.nodes.common import hear, is_test, key_of, one_line, opening, talk
from agents.nodes.limits import near_the_limit
from agents.personas import TESTER
from agents.ports import OverBudget, TaskContext
from agents.provenance import Source, as_turn, label, render
from agents.repair.feedback import trace_text
from agents.state import TaskState


def write_tests(state: TaskState, runtime: Runtime[TaskContext]) -> dict[str, Any]:
    """Have the tests written from the requirement, unless the task brings its own; code is judged by nothing else."""
    ctx = runtime.context
    given = state["task"].get("tests_given")
    if given:
        return {"step": state["step"] + 1, "tests": dict(given), "verdict": ""}
    messages, _ = hear(state, ctx, opening(state, ctx, TESTER, "tests"))
    messages, _, applied = talk(state, ctx, TESTER, messages, step="tests", accept=is_test, current={})
    changed: dict[str, Any] = {"step": state["step"] + 1, "tester": messages, "iteration": state["iteration"] + 1}
    if not applied.files:
        reason = applied.refused[0][1] if applied.refused else "the answer changed no test"
        return changed | {"verdict": "escalate", "escalation": f"No usable tests: {reason}"}
    return changed | {"tests": applied.files, "verdict": ""}


def strengthen(state: TaskState, runtime: Runtime[TaskContext]) -> dict[str, Any]:
    """The tests let every small mistake through: once, the tester is shown which, and writes tests that notice them."""
    ctx = runtime.context
    shown = label("\n".join(state["mutation"]["survivors"]), Source.MODEL, "diff")
    messages: list[Message] = [*state["tester"], as_turn("user", render("task.mutants", survivors=shown))]
    messages, _, applied = talk(
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
    ctx = runtime.context
    prompt = render(
        "task.adjudicate", trace=label(trace_text(state["report"]), Source.TESTS), code=files_text(state["files"])
    )
    messages: list[Message] = [*state["tester"], as_turn("user", prompt)]
    try:
        messages, reply, applied = talk(
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
    ctx.spine.emit(
        "adjudication", role="tester", attempt=state["attempt"], key=key_of(state, "adjudication"),
        summary=f"The {wrong} is wrong: {reason}"[:400],
        payload={"verdict": wrong, "reason": reason, "requirement": ", ".join(keys)}, error_signature=signature,
    )  # fmt: skip
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
