"""Why a task is handed to a person, as a page they can act on: what was tried, what is known, what is left to do."""

from __future__ import annotations

from collections.abc import Sequence

from agents.engine.contracts import Runtime, TaskContext
from agents.engine.state import TaskState, key_of
from agents.events.effects import ErrorRaised
from agents.languages.registry import language_of_task
from agents.prompts.render import fence
from agents.repair.feedback import counts_text
from agents.repair.known import problems_of

MOST_TRIES = 20
MOST_PROBLEMS = 5


def escalate(state: TaskState, runtime: Runtime[TaskContext]) -> TaskState:
    """Say why needs a person, with the best attempt attached; nothing is waved through."""
    ctx, kept = runtime.context, state["history"]["best"]
    why = state["escalation"] or exhausted(state, ctx)
    text = escalation_text(state, why, ctx.task_store.refusals())
    files = {**kept.get("tests", {}), **kept.get("files", {})}
    escalated = ErrorRaised(
        summary=f"Escalated: {why}",
        outcome="escalated",
        blobs={f"best:{path}": content for path, content in files.items()},
        message=text[:4000],
        tool="engine",
        next_steps=["retry", "adjust", "skip", "escalate"],
    )
    ctx.event_log.emit(escalated, attempt=state["counters"]["attempt"], key=key_of(state, "escalated"))
    return {"escalation": text, "verdict": "escalated"}


def exhausted(state: TaskState, ctx: TaskContext) -> str:
    """Which limit was reached."""
    if state["counters"]["iteration"] >= ctx.limits.max_iterations:
        return f"The limit of {ctx.limits.max_iterations} iterations is used up."
    return f"The tests still fail after {state['counters']['repairs']} of {ctx.limits.max_retries} repairs."


def escalation_text(state: TaskState, why: str, refusals: Sequence[str] = ()) -> str:
    """Markdown. The first line is `why`: lists and headlines show it alone. `refusals` are people's, with reasons."""
    parts = [why.strip()]
    for title, lines in (
        ("What was tried", tried(state)),
        ("What people said no to", [_plain(one, 600) for one in refusals]),
        ("What is known", known(state)),
        ("Best attempt", best(state)),
    ):
        if lines:
            parts.append("\n".join([f"**{title}**", "", *(f"- {line}" for line in lines)]))
    parts.append("\n".join(["**What you can do**", "", *(f"- {line}" for line in ways_out(state))]))
    return "\n\n".join(parts)


def tried(state: TaskState) -> list[str]:
    """One line for each failed try, oldest first; of very many the first and the last."""
    lines = [_plain(line, 400) for line in state["history"]["failures"]]
    if len(lines) > MOST_TRIES:
        half = MOST_TRIES // 2
        lines = [*lines[:half], f"… {len(lines) - 2 * half} more …", *lines[-half:]]
    return lines


def known(state: TaskState) -> list[str]:
    """Where the newest run failed and how, and what the last diagnosis held for the cause."""
    candidate, history = state["candidate"], state["history"]
    report, signatures, judged = candidate["report"], history["signatures"], len(history["adjudicated"])
    if not report or report.get("ok"):
        return []
    lines = [f"The last run: {counts_text(report)}"]
    found = problems_of(report, language_of_task(state["task"]))
    for one in found[:MOST_PROBLEMS]:
        at = f" at {_code(one.place)}" if one.place else ""
        test = f", seen by {_code(one.test)}" if one.test and one.test != one.file else ""
        lines.append(f"{_code(one.kind)}{at}{test}")
    if len(found) > MOST_PROBLEMS:
        lines.append(f"and {len(found) - MOST_PROBLEMS} more failures")
    if len(set(signatures)) == 1 and len(signatures) > 1:
        lines.append(f"The last {len(signatures)} tries of this approach failed in the same way.")
    if judged:
        times = "once" if judged == 1 else f"{judged} times"
        lines.append(f"Whether the test or the code is wrong was argued from the requirement {times}.")
    if argued := history["argued"]:
        lines.append(f"The tester held the test to be right: {_plain(argued, 400)}")
    if cause := candidate["diagnosis"].get("cause"):
        doubt = "; the line it named as evidence is not in the trace" if candidate["unfounded"] else ""
        lines.append(f"The last diagnosis, which its run did not confirm{doubt}: {_plain(cause, 600)}")
    return lines


def best(state: TaskState) -> list[str]:
    """The try that came furthest; its files are attached to the event."""
    kept = state["history"]["best"]
    if not kept:
        return []
    of = f" of {kept['ran']}" if kept.get("ran") else ""
    files = ", ".join(_code(path) for path in sorted(kept.get("files", {}))[:20])
    report = state["history"]["best_here"].get("report", {})
    asked = "; ".join(report.get("review", ())) or report.get("gate_feedback", "")
    lines = [f"Try {kept['attempt']}: {kept['passed']}{of} tests passed. Its files are attached: {files or 'none'}."]
    return [*lines, f"It was to be changed, and no change passed: {_plain(asked, 600)}"] if asked else lines


def ways_out(state: TaskState) -> list[str]:
    """What a person can do now."""
    keys = ", ".join(_plain(str(one.get("key", "")), 40) for one in state["task"].get("requirements", []))
    return [
        "Retry it with a note on what the agents overlooked; they see it verbatim.",
        "Raise the limit in the project's limits, then retry.",
        f"Make the requirement clearer ({keys or 'none is linked'}) and plan again, "
        "when code and tests read it differently.",
        "Skip it: tasks that need it go on without it.",
    ]


def _plain(text: str, limit: int) -> str:
    """One line of somebody else's words that is no Markdown of its own."""
    line = " ".join(text.split())[:limit]
    return "".join(f"\\{mark}" if mark in "\\`*_[]<>#|!~" else mark for mark in line)


def _code(text: str) -> str:
    marks = fence(text)[2:] if "`" in text else "`"
    return f"{marks}{' '.join(text.split())[:300]}{marks}"
