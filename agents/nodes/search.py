"""Best of N: several samples of the first version, each run against the tests; the one that the runs speak for goes on.

As many are asked for at the same time as the model's server takes; they are run one after the other as they come. What
is decided is decided in the order of their numbers, so it does not depend on which of them came first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from langgraph.runtime import Runtime

from agents.asking import Conversation
from agents.llm.base import Message, ModelTimeout, ModelUnavailable, ReplyTooLong
from agents.nodes.common import is_test, key_of, opening, own_files, talking, tests_text
from agents.nodes.remembering import ids
from agents.nodes.verify import run_tests, write_candidate
from agents.personas import CODER
from agents.ports import OverBudget, TaskContext, Waiting
from agents.search.policy import left_of, prices
from agents.search.probing import behaviour, calls_of
from agents.search.selection import Sample, agreeing, enough, select
from agents.search.together import Together
from agents.state import TaskState


@dataclass(frozen=True)
class _Written:
    """A sample as the model gave it."""

    messages: list[Message]
    files: dict[str, str]
    packages: list[str]


@dataclass(frozen=True)
class _Drawn:
    """A sample that was run, with what is needed to go on from it."""

    judged: Sample
    written: _Written


Outcome = _Written | str  # or why the answer could not be used


def sample(state: TaskState, runtime: Runtime[TaskContext]) -> dict[str, Any]:
    """Draw samples until they agree, the limit of samples is reached or the tokens run short; the best becomes the candidate."""
    ctx = runtime.context
    with Together[Outcome](ctx.runner, ctx.spine.stopped, lambda: left_of(ctx.limits, ctx.spine.spent())) as talks:
        drawing = _Drawing(state, ctx, talks)
        count = drawing.draw()
    changed: dict[str, Any] = {
        # A sample's keys hold its step: no later node may have one that a sample had, or could have had before a kill.
        "step": state["step"] + ctx.limits.samples + 1,
        "iteration": state["iteration"] + drawing.begun, "strategy": "first", "diagnosis": {}, "verdict": "",
        "approach": state["approach"] + max(0, count - 1), "heard": len(ctx.book.words()),
    }  # fmt: skip
    drawn = drawing.drawn(count)
    if not drawn:
        return changed | {
            "verdict": "escalate",
            "escalation": f"The coder's answers could not be used: {drawing.reason(count)}",
        }
    samples = [each.judged for each in drawn]
    best = samples[0] if "selection" in ctx.switched_off else select(samples)
    ctx.spine.emit(
        "search.selected", role="runtime", attempt=state["attempt"], key=key_of(state, "selected"),
        summary=f"Sample {best.number} of {count} goes on: {best.passed} tests passed, {agreeing(best, samples)} behave the same; {drawing.why}",
        payload={
            "chosen": best.number, "why": drawing.why, "at_once": max(1, talks.most), "unneeded": drawing.begun - count,
            "samples": [
                {"number": each.number, "ok": each.ok, "passed": each.passed, "failed": len(each.failing), "agree": agreeing(each, samples)}
                for each in samples
            ],
        },
    )  # fmt: skip
    taken = next(each.written for each in drawn if each.judged is best)
    return changed | {
        "coder": taken.messages, "files": taken.files, "packages": taken.packages, "shown": ids(state["lessons"]),
    }  # fmt: skip


@dataclass
class _Drawing:
    """Samples on their way, and what became of them."""

    state: TaskState
    ctx: TaskContext
    talks: Together[Outcome]
    found: dict[int, _Drawn | str] = field(default_factory=dict)
    begun: int = 0
    why: str = ""
    _again: list[int] = field(default_factory=list)  # could not be asked beside others
    _alone: set[int] = field(default_factory=set)
    _ends: OverBudget | Waiting | None = None  # nothing more is begun

    def draw(self) -> int:
        """Draw until it is enough; returns how many samples count, from the first on."""
        while True:
            for number, outcome in self._come():
                self._take(number, outcome)
            if (count := self._enough()) is not None:
                return count
            self._begin()
            if self.talks.ended:
                continue
            if not len(self.talks):
                break
            self.talks.look()
        if self._ends is not None and (isinstance(self._ends, Waiting) or not self.drawn(self.begun)):
            raise self._ends
        return self.begun

    def drawn(self, count: int) -> list[_Drawn]:
        """Those of the first `count` that could be run, in order."""
        return [each for number in range(1, count + 1) if isinstance(each := self.found.get(number), _Drawn)]

    def reason(self, count: int) -> str:
        """Why the last of them that could not be used could not."""
        reasons = [each for number in range(1, count + 1) if isinstance(each := self.found.get(number), str)]
        return reasons[-1] if reasons else self.why

    def _come(self) -> Iterator[tuple[int, Outcome | Exception]]:
        while self.talks.ended:
            number = min(self.talks.ended)
            yield number, self.talks.ended.pop(number)

    def _take(self, number: int, outcome: Outcome | Exception) -> None:
        match outcome:
            case _Written():
                self.found[number] = self._run(number, outcome)
            case str():
                self.found[number] = outcome
            case ReplyTooLong():
                self.found[number] = str(outcome)
            case OverBudget() | Waiting():
                # Those that are on their way are still heard: what they take is spent anyway.
                self._ends, self.why = outcome, "a limit is used up"
                if isinstance(outcome, OverBudget):
                    self.found[number] = str(outcome)
            case ModelUnavailable() | ModelTimeout() if self.talks.most > 1 and number not in self._alone:
                # Perhaps the server takes fewer at a time than it is said to: from now on one after the other.
                self._again.append(number)
            case _:
                raise outcome

    def _enough(self) -> int | None:
        given = bool(self.state["task"].get("tests_given"))
        for count in range(1, self.begun + 1):
            if count not in self.found:
                return None
            if enough([each.judged for each in self.drawn(count)], tests_given=given):
                self.why = "it passes the given tests" if given else "enough of them agree"
                return count
        return None

    def _begin(self) -> None:
        """Begin as many as there is room for; one whose reply is on record ends at once, and is run before others begin."""
        while not self.talks.ended:
            if self._again:
                if len(self.talks):
                    return
                number = self._again.pop(0)
                self._alone.add(number)
            elif self._no_more() or (self._alone and len(self.talks)):
                return
            else:
                number = self.begun + 1
            one, watched = self._state_of(number), not len(self.talks)
            if not self.talks.begin(number, lambda one=one, watched=watched: self._talk(one, watched), self._server()):  # type: ignore[misc]
                return
            self.begun = max(self.begun, number)

    def _no_more(self) -> bool:
        limits, spent = self.ctx.limits, self.ctx.spine.spent()
        last = self.drawn(self.begun)[-1:]
        if self._ends is not None:
            return True
        if self.begun >= limits.samples:
            self.why = f"all {limits.samples} samples are drawn"
        elif self.state["iteration"] + self.begun >= limits.max_iterations:
            self.why = "the limit of iterations is reached"
        elif last and left_of(limits, spent) < prices({**self.state, "coder": last[0].written.messages}).fresh:
            self.why = "the tokens run short"
        else:
            return False
        return True

    def _state_of(self, number: int) -> TaskState:
        """Keys are made of the step, so each sample has one of its own: after a kill none is paid for twice."""
        state = self.state
        return {**state, "step": state["step"] + number - 1, "approach": state["approach"] + number - 1, "files": {}}

    def _server(self) -> str:
        provider: Any = self.ctx.provider(CODER.name)
        return str(getattr(provider, "members", (provider,))[0].server)

    def _talk(self, one: TaskState, watched: bool) -> Conversation[Outcome]:
        ctx = self.ctx
        messages = opening(one, ctx, CODER, "code", tests=tests_text(one))
        messages, reply, applied = yield from talking(
            one, ctx, CODER, messages, step="code", accept=lambda path: not is_test(path), current=own_files(one, ctx),
            watched=watched,
        )  # fmt: skip
        if applied.refused:
            return applied.refused[0][1]
        return _Written(messages, applied.files, sorted({*one["packages"], *reply.packages}))

    def _run(self, number: int, written: _Written) -> _Drawn:
        # Packages that a sample wants are settled when it is taken; here it runs with those the task already has.
        ctx, candidate = self.ctx, TaskState(**{**self._state_of(number), "files": written.files})
        report = run_tests(candidate, ctx, write_candidate(candidate, ctx), f"sample{number}", self.talks.aside)
        failing = frozenset(str(failure.get("nodeid", "")) for failure in report.get("failures") or [])
        ok, shown = bool(report.get("ok")), ""
        if ok:
            sandbox, calls = ctx.sandbox(candidate["packages"]), calls_of(candidate["tests"], written.files)
            shown = self.talks.aside(lambda: behaviour(sandbox, calls))
        judged = Sample(
            number, ok, bool(report.get("compiles")), int(report.get("passed", 0)),
            failing | ({str(report.get("problem"))} if report.get("problem") else frozenset()), shown,
        )  # fmt: skip
        return _Drawn(judged, written)
