"""Best of N: several samples of a version, each run against the tests; the best of them goes on.

The first version, or what comes after two failed tries: then each sample is told what did not work.

As many are asked for at the same time as the model's server answers; then they are run one after the other, in the
order of their numbers, so the choice does not depend on which reply came first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agents.engine.ask import Question, ask_together
from agents.engine.contracts import OverBudget, Runtime, TaskContext
from agents.engine.nodes.coder import to_avoid, without_failed
from agents.engine.nodes.common import add_messages, own_files, question, request_files
from agents.engine.nodes.explain_fix import previous_failure
from agents.engine.nodes.lessons import ids
from agents.engine.nodes.opening import opening
from agents.engine.nodes.removals import tests_of
from agents.engine.nodes.shown_tests import tests_text
from agents.engine.nodes.verify import run_tests, write_candidate
from agents.engine.policy import left_of, prices
from agents.engine.state import TaskState, key_of, updated
from agents.events.reasoning import SampleSelected
from agents.languages.registry import language_of_task
from agents.llm.base import Message, ReplyTooLong
from agents.personas import CODER, TESTER
from agents.prompts.provenance import as_turn, render

AGREEMENT = 2  # passing samples that behave the same: enough to stop sampling


@dataclass(frozen=True)
class Sample:
    """One sample after its run. `failing` names failed tests, `behaviour` is what distinguishing calls returned.

    `unseen` counts the tests that passed once the tester added some which no coder saw.
    """

    number: int
    ok: bool
    compiles: bool
    passed: int
    failing: frozenset[str] = frozenset()
    behaviour: str = ""
    unseen: int = 0

    def agrees(self, other: Sample) -> bool:
        """True for two samples that no test and no distinguishing call tells apart."""
        return (self.ok, self.compiles, self.failing, self.behaviour) == (
            other.ok,
            other.compiles,
            other.failing,
            other.behaviour,
        )


def agreeing(sample: Sample, samples: Sequence[Sample]) -> int:
    """How many of the samples behave as this one does, itself included."""
    return sum(sample.agrees(other) for other in samples)


def select(samples: Sequence[Sample]) -> Sample:
    """The sample to go on with: one that passes, then the most tests passed, the most agreement, the earliest."""
    return max(
        samples, key=lambda one: (one.ok, one.compiles, one.passed, one.unseen, agreeing(one, samples), -one.number)
    )


def enough(samples: Sequence[Sample], *, tests_given: bool) -> bool:
    """True when another sample could not change much: given tests are the judge, written ones need agreement."""
    passing = [one for one in samples if one.ok]
    if tests_given:
        return bool(passing)
    return any(agreeing(one, passing) >= AGREEMENT for one in passing)


@dataclass(frozen=True)
class _Drawn:
    """A sample that was run, with what is needed to go on from it."""

    judged: Sample
    messages: list[Message]
    files: dict[str, str]
    packages: list[str]
    removed: dict[str, list[str]]


def sample(state: TaskState, runtime: Runtime[TaskContext]) -> TaskState:
    """Draw samples until they agree or a limit of samples or tokens is reached; the best becomes the candidate."""
    ctx, before = runtime.context, state
    late = bool(state["history"]["failures"])
    begun = updated(without_failed(state), {"counters": {"approach": state["counters"]["approach"] + 1}})
    state = updated(state, begun) if late else state
    drawing = _Drawing(state, ctx, ctx.limits.more_samples if late else ctx.limits.samples, to_avoid(state))
    try:
        drawing.draw()
        drawing.judge_by_unseen_tests()
    except OverBudget as end:
        if not late:
            raise
        return {"verdict": "escalate", "escalation": str(end)}  # something was tried: it is shown
    count = drawing.count
    used = state["counters"]
    changed: TaskState = {
        # A sample's keys hold its step: no later node may have one that a sample had, or could have had before a kill.
        "step": state["step"] + drawing.most + 1,
        "strategy": "first",
        "verdict": "",
        "candidate": {"diagnosis": {}, "unfounded": False},
        "conversation": {"messages_read": len(ctx.task_store.words())},
        "counters": {
            "iteration": used["iteration"] + drawing.replies,
            "approach": used["approach"] + max(0, count - 1),
        },
    }
    if late:
        tried: TaskState = {
            "strategy": "fresh",
            "history": {"signatures": [], "exhausted": False, "previous_failure": previous_failure(before)},
            "memory": {"lessons": state["memory"]["lessons"]},
            "counters": {"repairs": used["repairs"] + 1, "repairs_here": 0},
        }
        changed = updated(changed, tried)
    if not drawing.drawn:
        why = f"The coder's answers could not be used: {drawing.unusable or drawing.why}"
        return {**changed, "verdict": "escalate", "escalation": why}
    samples = [each.judged for each in drawing.drawn]
    best = samples[0] if "selection" in ctx.switched_off else select(samples)
    rows = [
        {
            "number": each.number,
            "ok": each.ok,
            "passed": each.passed,
            "failed": len(each.failing),
            "agree": agreeing(each, samples),
            "unseen": each.unseen,
        }
        for each in samples
    ]
    like = f"{best.passed} tests passed, {agreeing(best, samples)} behave the same"
    selected = SampleSelected(
        summary=f"Sample {best.number} of {count} goes on: {like}; {drawing.why}",
        chosen=best.number,
        why=drawing.why,
        at_once=drawing.at_once,
        unneeded=drawing.asked - count,
        samples=rows,
    )
    ctx.event_log.emit(selected, attempt=state["counters"]["attempt"], key=key_of(state, "selected"))
    taken = next(each for each in drawing.drawn if each.judged is best)
    result: TaskState = {
        "candidate": {"files": taken.files, "packages": taken.packages, "removed": taken.removed},
        "conversation": {"coder": taken.messages},
        "memory": {"shown": ids(state["memory"]["lessons"])},
    }
    return updated(changed, result)


@dataclass
class _Drawing:
    """The samples drawn so far, and why no more are drawn."""

    state: TaskState
    ctx: TaskContext
    most: int  # samples to draw
    avoid: str = ""  # what did not work
    drawn: list[_Drawn] = field(default_factory=list)  # those that could be run
    count: int = 0  # samples drawn, usable or not
    asked: int = 0  # samples that the model was asked for
    extra: int = 0  # other replies
    at_once: int = 1  # most of them at the same time
    why: str = ""  # no more are drawn
    unusable: str = ""  # why the last unusable one could not be used

    @property
    def replies(self) -> int:
        """What counts against the limit of iterations."""
        return self.asked + self.extra

    def draw(self) -> None:
        """Draw until it is enough; raises OverBudget when there is not one sample."""
        while not self._ends():
            if self.count == self.asked:
                self._ask()
            self.count += 1
            try:
                self._draw(self.count)
            except ReplyTooLong as endless:
                self.unusable = str(endless)
            except OverBudget:
                if not self.drawn:
                    raise
                self.why = "a limit is used up"
                return

    def _ends(self) -> bool:
        limits, state, given = self.ctx.limits, self.state, bool(self.state["task"].get("tests_given"))
        if enough([each.judged for each in self.drawn], tests_given=given):
            self.why = "it passes the given tests" if given else "enough of them agree"
            return True
        if self.count < self.asked:
            return False  # its reply is on record
        if self.count >= self.most:
            self.why = f"all {self.most} samples are drawn"
        elif state["counters"]["iteration"] + self.count >= limits.max_iterations:
            self.why = "the limit of iterations is reached"
        elif (
            self.drawn
            and self._left() < prices(updated(state, {"conversation": {"coder": self.drawn[-1].messages}})).fresh
        ):
            self.why = "the tokens run short"
        return bool(self.why)

    def _left(self) -> int:
        return left_of(self.ctx.limits, self.ctx.event_log.spent())

    def _ask(self) -> None:
        """Ask for as many samples as the server answers at a time and the tokens left pay for."""
        provider: Any = self.ctx.provider(CODER.name)
        limits, server = self.ctx.limits, getattr(provider, "members", (provider,))[0].server
        wanted = min(self.most, limits.max_iterations - self.state["counters"]["iteration"]) - self.count
        together = min(wanted, self.ctx.runner.limit.free(server))
        if together > 1:
            first = self._question(self.count + 1)
            together = max(1, min(together, self._left() // first.tokens))
        if together > 1:
            ask_together([first, *(self._question(self.count + number) for number in range(2, together + 1))])
        self.asked += together
        self.at_once = max(self.at_once, together)

    def _state_of(self, number: int) -> TaskState:
        """Keys are made of the step, so each sample has one of its own: after a kill none is paid for twice."""
        approach = self.state["counters"]["approach"] + number - 1
        change: TaskState = {
            "step": self.state["step"] + number - 1,
            "candidate": {"files": {}},
            "counters": {"approach": approach},
        }
        return updated(self.state, change)

    def _opening(self, one: TaskState) -> list[Message]:
        tests = tests_text(one, self.ctx)
        begun = opening(one, self.ctx, CODER, "code", tests=tests, avoid=self.avoid, may_ask=False)
        return add_messages(one, self.ctx, begun)[0]

    def _question(self, number: int) -> Question:
        one = self._state_of(number)
        return question(one, self.ctx, CODER, self._opening(one), "code")

    def _draw(self, number: int) -> None:
        """Take one sample's files and run them; whatever it has asked before is answered from the record."""
        ctx, one = self.ctx, self._state_of(number)
        language, is_test = language_of_task(one["task"]), tests_of(one, ctx)
        messages, reply, applied = request_files(
            one,
            ctx,
            CODER,
            self._opening(one),
            step="code",
            accept=lambda path: not is_test(path),
            current=own_files(one, ctx),
        )
        if applied.refused:
            self.unusable = applied.refused[0][1]
            return
        # Packages that a sample wants are settled when it is taken; here it runs with those the task already has.
        run = updated(one, {"candidate": {"files": applied.files}})
        report = run_tests(run, ctx, write_candidate(run, ctx), f"sample{number}", related=True)
        failing = frozenset(str(failure.get("nodeid", "")) for failure in report.get("failures") or [])
        if report.get("problem"):
            failing |= {str(report["problem"])}
        ok, shown = bool(report.get("ok")), ""
        if ok:
            calls = language.calls_of(run["candidate"]["tests"], applied.files)
            shown = language.behaviour(ctx.sandbox(run["candidate"]["packages"]), calls)
        judged = Sample(number, ok, bool(report.get("compiles")), int(report.get("passed", 0)), failing, shown)
        packages = sorted({*one["candidate"]["packages"], *reply.packages})
        self.drawn.append(_Drawn(judged, messages, applied.files, packages, applied.removed))

    def judge_by_unseen_tests(self) -> None:
        """Where no two passing samples behave alike, the tester adds tests that no coder saw: they tell which is right.

        They are used for that alone: who wrote them did not see the samples, so they may be wrong about all of them.
        """
        ctx, passing = self.ctx, [at for at, each in enumerate(self.drawn) if each.judged.ok]
        said = self.state["conversation"]["tester"]
        if len(passing) < 2 or enough([each.judged for each in self.drawn], tests_given=not said):
            return
        one = updated(self.state, {"step": self.state["step"] + self.most})
        messages: list[Message] = [*said, as_turn("user", render("task.unseen"), step="unseen")]
        tests = one["candidate"]["tests"]
        accept = tests_of(one, ctx)
        try:
            _, _, applied = request_files(one, ctx, TESTER, messages, step="unseen", accept=accept, current=tests)
        except (OverBudget, ReplyTooLong):
            return
        self.extra += 1
        for at in passing if applied.files else ():
            each = self.drawn[at]
            run = updated(one, {"candidate": {"files": each.files, "tests": {**tests, **applied.files}}})
            report = run_tests(run, ctx, write_candidate(run, ctx), f"unseen{each.judged.number}", related=True)
            self.drawn[at] = replace(each, judged=replace(each.judged, unseen=int(report.get("passed", 0))))
