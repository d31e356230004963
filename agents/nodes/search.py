"""Best of N: several samples of the first version, each run against the tests; the one that the runs speak for goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from langgraph.runtime import Runtime

from agents.llm.base import Message
from agents.nodes.common import is_test, key_of, opening, talk, tests_text
from agents.nodes.verify import run_tests, write_candidate
from agents.personas import CODER
from agents.ports import TaskContext
from agents.search.policy import left_of, prices
from agents.search.probing import behaviour, calls_of
from agents.search.selection import Sample, agreeing, enough, select
from agents.state import TaskState


@dataclass(frozen=True)
class _Drawn:
    """A sample with what is needed to go on from it."""

    judged: Sample
    messages: list[Message]
    files: dict[str, str]
    packages: list[str]


def sample(state: TaskState, runtime: Runtime[TaskContext]) -> dict[str, Any]:
    """Draw samples until they agree, the limit of samples is reached or the tokens run short; the best becomes the candidate."""
    ctx = runtime.context
    drawn: list[_Drawn] = []
    reason, count, why = "", 0, f"all {ctx.limits.samples} samples are drawn"
    while count < ctx.limits.samples:
        if state["iteration"] + count >= ctx.limits.max_iterations:
            why = "the limit of iterations is reached"
            break
        if drawn and left_of(ctx.limits, ctx.spine.spent()) < prices({**state, "coder": drawn[-1].messages}).fresh:
            why = "the tokens run short"
            break
        # Keys are made of the step, so each sample has one of its own: after a kill none is paid for twice.
        one: TaskState = {**state, "step": state["step"] + count, "approach": state["approach"] + count, "files": {}}
        count += 1
        got = _draw(one, ctx, count)
        if isinstance(got, str):
            reason = got
            continue
        drawn.append(got)
        given = bool(state["task"].get("tests_given"))
        if enough([each.judged for each in drawn], tests_given=given):
            why = "it passes the given tests" if given else "enough of them agree"
            break
    changed: dict[str, Any] = {
        "step": state["step"] + count + 1, "iteration": state["iteration"] + count, "strategy": "first", "diagnosis": {}, "verdict": "",
        "approach": state["approach"] + max(0, count - 1), "heard": len(ctx.book.words()),
    }  # fmt: skip
    if not drawn:
        return changed | {"verdict": "escalate", "escalation": f"The coder's answers could not be used: {reason}"}
    samples = [each.judged for each in drawn]
    best = select(samples)
    ctx.spine.emit(
        "search.selected", role="runtime", attempt=state["attempt"], key=key_of(state, "selected"),
        summary=f"Sample {best.number} of {count} goes on: {best.passed} tests passed, {agreeing(best, samples)} behave the same; {why}",
        payload={
            "chosen": best.number, "why": why,
            "samples": [
                {"number": each.number, "ok": each.ok, "passed": each.passed, "failed": len(each.failing), "agree": agreeing(each, samples)}
                for each in samples
            ],
        },
    )  # fmt: skip
    taken = next(each for each in drawn if each.judged is best)
    return changed | {"coder": taken.messages, "files": taken.files, "packages": taken.packages}


def _draw(state: TaskState, ctx: TaskContext, number: int) -> _Drawn | str:
    """One sample, asked for and run; the reason when its answer could not be used."""
    current = {
        path: text
        for path in state["task"].get("files", [])
        if (text := ctx.repository.read(state["base"], path)) is not None
    }
    messages = opening(state, ctx, CODER, "code", tests=tests_text(state))
    messages, reply, applied = talk(
        state, ctx, CODER, messages, step="code", accept=lambda path: not is_test(path), current=current
    )
    if applied.refused:
        return applied.refused[0][1]
    candidate: TaskState = {**state, "files": applied.files}
    # Packages that a sample wants are settled when it is taken; here it runs with those the task already has.
    report = run_tests(candidate, ctx, write_candidate(candidate, ctx), f"sample{number}")
    failing = frozenset(str(failure.get("nodeid", "")) for failure in report.get("failures") or [])
    ok = bool(report.get("ok"))
    shown = behaviour(ctx.sandbox(state["packages"]), calls_of(state["tests"], applied.files)) if ok else ""
    judged = Sample(
        number, ok, bool(report.get("compiles")), int(report.get("passed", 0)),
        failing | ({str(report.get("problem"))} if report.get("problem") else frozenset()), shown,
    )  # fmt: skip
    return _Drawn(judged, messages, applied.files, sorted({*state["packages"], *reply.packages}))
