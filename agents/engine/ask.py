"""One question to the model: budget first, the reply remembered, every word on the record."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Any

from agents.context.compaction import compact
from agents.context.ledger import ledger, shortened
from agents.engine.contracts import ModelContext, OverBudget, Stopped, TaskLimits
from agents.engine.effects import effect
from agents.engine.reply_text import first_sentence, plain, prose
from agents.events.effects import EffectAnnounced, GuardBlocked
from agents.events.log import EventLog
from agents.events.reasoning import ContextCompacted, ModelCalled, Thought
from agents.firewall.leaks.replies import ReplyFilter, judge_reply, planted
from agents.firewall.trifecta import Step, is_outside, require, secrets_in_text, without_secrets
from agents.llm.base import Cancelled, Completion, LLMError, Message, step_of
from agents.llm.reply_format import in_form
from agents.llm.runner import DELTA_S, ModelRunner
from agents.llm.tokens import count_messages
from agents.personas import Persona
from agents.prompts.provenance import sources_in, untrusted

SHOWN_THOUGHT = 4_000


def check_budget(event_log: EventLog, limits: TaskLimits) -> None:
    """Raise OverBudget before a call that would go over a limit, Stopped when the run was paused or cancelled."""
    if event_log.stopped():
        raise Stopped
    event_log.rest()
    spent = event_log.spent()
    for used, allowed, words in (
        (spent.task_tokens, limits.task_tokens, "tokens of this task"),
        (spent.run_tokens, limits.run_tokens, "tokens of this run"),
        (spent.task_seconds, limits.task_seconds, "seconds of this task"),
        (spent.run_seconds, limits.run_seconds, "seconds of this run"),
    ):
        if used >= allowed:
            raise OverBudget(
                f"The limit of {allowed:,.0f} {words} is used up ({used:,.0f}): "
                "raise it in the project's limits, then let it go on."
            )


@dataclass(frozen=True)
class Answer:
    """The model's reply; `truncated` when it was cut off at a limit."""

    text: str
    truncated: bool = False


@dataclass(frozen=True, kw_only=True)
class Question:
    """What to ask a model, and the record it belongs to.

    The reply is recorded under `key`. The `canary` is planted in the system prompt that is sent.
    """

    event_log: EventLog
    limits: TaskLimits
    runner: ModelRunner
    provider: Any
    persona: Persona
    messages: Sequence[Message]
    step: str
    key: str
    attempt: int = 0
    schema: dict[str, Any] | None = None
    temperature: float | None = None
    canary: str = ""

    @property
    def tokens(self) -> int:
        """The most that the call can take: what is sent, and as long a reply as is allowed."""
        return count_messages(self.messages) + self.persona.max_tokens


def question_of(ctx: ModelContext, persona: Persona, messages: Sequence[Message], **more: Any) -> Question:
    """A question of this persona with the clients, limits and canary of its context; `more` are the other fields."""
    return Question(
        event_log=ctx.event_log,
        limits=ctx.limits,
        runner=ctx.runner,
        provider=ctx.provider(persona.role),
        persona=persona,
        messages=messages,
        canary=ctx.canary,
        **more,
    )


@dataclass(frozen=True)
class _Prompt:
    """A question's messages: shortened to the window (`kept`), without secrets (`sent`), with the canary (`asked`)."""

    kept: list[Message]
    sent: list[Message]
    asked: list[Message]

    @property
    def system(self) -> tuple[str, ...]:
        return tuple(message["content"] for message in self.asked if message["role"] == "system")


@dataclass(frozen=True)
class _Reply:
    completion: Completion
    seconds: float


def ask(question: Question) -> Answer:
    """Ask and return the reply; raises LLMError, OverBudget or Stopped.

    A reply that gives the canary or the prompt away, plain or disguised, is withheld: it comes back empty. A reply that
    is on record under the question's key (from before a crash) is returned from there: nothing is paid for twice.
    """
    log = question.event_log
    known = log.remembered(question.key)
    if known is not None:
        return Answer(*known)
    prompt = _prompt(question)
    live = _live(question, prompt)
    with _announced(question):
        try:
            reply = _complete(question, prompt, live.feed, log.stopped)
        except Cancelled as stop:
            raise Stopped("stopped in mid-sentence") from stop
    live.close()
    return _record(question, prompt, reply)


def ask_together(questions: Sequence[Question]) -> None:
    """Ask several questions of one event log at the same time; `ask` then finds their replies on record.

    Only the model is called from other threads: everything is recorded by the calling thread, each reply as it arrives.
    A question that ends with an error of the model is left for `ask`, which asks it again, alone. The words of the
    first question are shown while they are written. Raises OverBudget or Stopped.
    """
    log = questions[0].event_log
    fresh = [(question, _prompt(question)) for question in questions if log.remembered(question.key) is None]
    stop, words = threading.Event(), SimpleQueue[str]()
    calls: dict[Future[_Reply], tuple[Question, _Prompt, ExitStack]] = {}
    with ThreadPoolExecutor(len(questions), thread_name_prefix="model-call") as pool:
        try:
            for question, prompt in fresh:
                announced = ExitStack()
                announced.enter_context(_announced(question))
                show = words.put if not calls else None
                calls[pool.submit(_complete, question, prompt, show, stop.is_set)] = question, prompt, announced
            live = _live(*fresh[0]) if fresh else None
            while calls:
                ended, _ = wait(calls, timeout=DELTA_S, return_when=FIRST_COMPLETED)
                if live is not None:
                    live.feed(_drained(words))
                for call in ended:
                    question, prompt, announced = calls.pop(call)
                    with suppress(LLMError):
                        with announced:
                            reply = call.result()
                        _record(question, prompt, reply)
                if log.stopped():
                    raise Stopped("stopped in mid-sentence")
            if live is not None:
                live.close()
        finally:
            stop.set()
            for _, _, announced in calls.values():
                with suppress(Exception), announced:  # the first error is the one that matters
                    raise Stopped("stopped in mid-sentence")


def _drained(words: SimpleQueue[str]) -> str:
    found = []
    with suppress(Empty):
        while True:
            found.append(words.get_nowait())
    return "".join(found)


def _prompt(question: Question) -> _Prompt:
    """Check the budget and make the prompt: in the model's reply format, shortened to its window, free of secrets."""
    check_budget(question.event_log, question.limits)
    provider, persona, key = question.provider, question.persona, question.key
    messages = in_form(question.messages, getattr(provider, "protocol", "fences"))
    # The canary is planted in what is sent only, and needs its place too.
    rules = [message for message in messages if message["role"] == "system"]
    planting = count_messages(with_canary(rules, question.canary)) - count_messages(rules)
    kept, saved = compact(messages, provider.window, persona.max_tokens + planting)
    if saved:
        cut = ContextCompacted(
            summary=f"Older turns summed up, {saved} tokens saved",
            role=persona.role,
            saved=saved,
            parts=shortened(messages, kept),
        )
        question.event_log.emit(cut, attempt=question.attempt, key=f"{key}:compacted")
    sent = guarded(question.event_log, kept, provider, key=key, role=persona.role, attempt=question.attempt)
    return _Prompt(kept, sent, with_canary(sent, question.canary))


def _live(question: Question, prompt: _Prompt) -> ReplyFilter:
    """Shows words while they are written."""
    written = 0

    def show(text: str) -> None:
        nonlocal written
        question.event_log.delta(lane=question.persona.role, id=question.key, offset=written, text=text)
        written += len(text)

    return ReplyFilter(prompt.system, show)


def _announced(question: Question) -> AbstractContextManager[None]:
    provider, step = question.provider, question.step
    announcement = EffectAnnounced(
        summary=f"asks {provider.model}: {step} …",
        role=question.persona.role,
        effect="model.call",
        model=provider.model,
        server=provider.server,
        step=step,
    )
    return effect(question.event_log, announcement, key=question.key, attempt=question.attempt)


def _complete(
    question: Question, prompt: _Prompt, show: Callable[[str], None] | None, stopped: Callable[[], bool]
) -> _Reply:
    """Call the model; of the question's record nothing is touched, so this may run in any thread."""

    def start_over(error: LLMError) -> None:
        # What was shown is void, and whoever watches should see why the words begin again.
        if show is not None:
            show(f"\n\n[The reply starts over: {error}]\n\n")

    began, persona = time.monotonic(), question.persona
    completion = question.runner.complete(
        question.provider,
        prompt.asked,
        schema=question.schema,
        temperature=persona.temperature if question.temperature is None else question.temperature,
        max_tokens=persona.max_tokens,
        on_delta=show,
        on_retry=start_over,
        cancelled=stopped,
    )
    return _Reply(completion, time.monotonic() - began)


def _record(question: Question, prompt: _Prompt, reply: _Reply) -> Answer:
    event_log, provider, persona = question.event_log, question.provider, question.persona
    key, attempt, step = question.key, question.attempt, question.step
    completion, seconds = reply.completion, reply.seconds
    usage = completion.usage
    # The thought is written last of what a call leaves: once it is there, the reply counts as given.
    speed = f"{usage.completion_tokens} tokens, {usage.tokens_per_s:.0f} tok/s, {seconds:.1f} s"
    called = ModelCalled(
        summary=f"{speed}{stood_in(completion)}",
        role=persona.role,
        tokens=usage.completion_tokens,
        duration_ms=int(seconds * 1000),
        model=usage.model,
        prompt_tokens=usage.prompt_tokens,
        reused_tokens=usage.reused_tokens,
        completion_tokens=usage.completion_tokens,
        tokens_per_s=round(usage.tokens_per_s, 1),
        window=provider.window,
        recorded=completion.recorded,
        truncated=completion.truncated,
        filled_by=ledger(prompt.asked, usage.prompt_tokens),
        instead_of=list(completion.instead_of),
        reading_ms=int(usage.prompt_eval_s * 1000),
    )
    event_log.emit(called, attempt=attempt, key=f"{key}:usage")
    text, thinking = plain(completion.text), completion.thought
    leak = judge_reply(text, prompt.system)
    if leak.decision == "deny":
        text = thinking = ""
        withheld = GuardBlocked(
            summary=f"The {persona.title}'s reply was withheld: {leak.reason}",
            role=persona.role,
            what="reply",
            reason=leak.reason,
            rule=leak.rule,
            decision=leak.decision,
            layers=[leak.to_json()],
        )
        event_log.emit(withheld, attempt=attempt, key=f"{key}:withheld")
    thought = Thought(
        summary=first_sentence(text, step),
        role=persona.role,
        blobs={
            "prompt": [message["content"] for message in prompt.sent],
            "output": text,
            **({"thinking": thinking} if thinking else {}),
        },
        tokens=usage.completion_tokens,
        duration_ms=int(seconds * 1000),
        text=prose(text)[:SHOWN_THOUGHT],
        step=step,
        model=usage.model,
        truncated=completion.truncated,
        steps=[step_of(message) for message in prompt.kept],
        sources=[sources_in(message) for message in prompt.kept],
        untrusted=untrusted(prompt.kept),
    )
    event_log.emit(thought, attempt=attempt, key=key)
    return Answer(text, completion.truncated)


def stood_in(completion: Completion) -> str:
    """Which model answered in place of another, and why; empty when the first choice answered."""
    return (
        f"; {completion.usage.model} answered instead: {completion.instead_of[0]}"[:300]
        if completion.instead_of
        else ""
    )


def guarded(
    event_log: EventLog, messages: list[Message], provider: Any, *, key: str, role: str, attempt: int
) -> list[Message]:
    """The conversation as this server may see it: off this machine no secret goes along with untrusted text."""
    if not is_outside(provider.server):
        return messages
    found = secrets_in_text(message["content"] for message in messages)
    step = Step(
        "model.call",
        untrusted=tuple(untrusted(messages)),
        secrets=("prompt",) if found else (),
        outside=(provider.server,),
    )
    if step.problem:
        cleaned = GuardBlocked(
            summary=f"Secrets were taken out of a prompt to {provider.server}",
            role=role,
            outcome="contained",
            what="prompt",
            reason=step.problem,
            rule="trifecta",
            decision="redacted",
        )
        event_log.emit(cleaned, attempt=attempt, key=f"{key}:guarded")
        messages = without_secrets(messages)
        left = ("prompt",) if secrets_in_text(message["content"] for message in messages) else ()
        require(replace(step, secrets=left))
    return messages


def with_canary(messages: Sequence[Message], canary: str) -> list[Message]:
    """The messages with the canary at the end of the system prompt; only what is sent has it, not what is kept."""
    return [
        {**message, "content": planted(message["content"], canary)} if message["role"] == "system" else message
        for message in messages
    ]
