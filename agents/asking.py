"""One question to the model: budget first, the reply remembered, every word on the record."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from agents.capabilities import Step, is_outside, require, secrets_in_text, without_secrets
from agents.context.compaction import compact
from agents.context.ledger import ledger, shortened
from agents.effects import effect
from agents.firewall.outgoing import Watch, judge_reply, planted
from agents.forms import in_form
from agents.llm.base import Cancelled, Completion, LLMError, Message
from agents.llm.runner import ModelRunner
from agents.llm.tokens import count_messages
from agents.personas import Persona
from agents.ports import Limits, OverBudget, Spine, Stopped
from agents.provenance import bare, sources_in, untrusted

T = TypeVar("T")
SHOWN_THOUGHT = 4_000
_HEADING = re.compile(r"#{1,6}(?:\s|$)|[=-]{3,}$")
_CAUSE = re.compile(r"[*_]{0,2}cause[*_]{0,2}\s*:[*_]{0,2}\s*(\S.*)", re.IGNORECASE)
_MARK = re.compile(r"^(?:[-*+>]\s+|\d{1,3}[.)]\s+)+")


def check_budget(spine: Spine, limits: Limits) -> None:
    """Raise OverBudget before a call that would go over a limit, Stopped when somebody pulled the brake."""
    if spine.stopped():
        raise Stopped
    spent = spine.spent()
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
    """What the model said; `truncated` when it was cut off at a limit."""

    text: str
    truncated: bool = False


@dataclass(frozen=True)
class Question:
    """What a conversation wants to ask a model next; `options` are those of ModelRunner.complete."""

    provider: Any
    messages: Sequence[Message]
    options: Mapping[str, Any]

    @property
    def tokens(self) -> int:
        """The most that the call can take: what is sent, and as long a reply as is allowed."""
        return count_messages(self.messages) + int(self.options["max_tokens"])


@dataclass(frozen=True)
class Said:
    """What came of a question; seconds from asking to the last word."""

    completion: Completion
    seconds: float


class Unneeded(Exception):
    """Thrown into a conversation whose answer nobody waits for any more; says what was taken of the model by then."""

    def __init__(self, reply_tokens: int, seconds: float) -> None:
        super().__init__("stopped, because the answer is not needed any more")
        self.reply_tokens, self.seconds = reply_tokens, seconds


# A conversation in steps: it yields what it wants to ask and is sent what came of it. Where it yields None nothing is
# asked: the reply it was sent is on record, and what follows may wait.
Conversation = Generator[Question | None, Said | None, T]


def held(talk: Conversation[T], runner: ModelRunner, cancelled: Callable[[], bool]) -> T:
    """Hold a conversation to its end, each question when the one before is answered."""
    try:
        question = next(talk)
        while True:
            if question is None:
                question = talk.send(None)
                continue
            began = time.monotonic()
            try:
                done = runner.complete(question.provider, question.messages, **question.options, cancelled=cancelled)
            except Exception as error:  # noqa: BLE001 - whatever it was, the conversation raises it where it asked
                question = talk.throw(error)
            else:
                question = talk.send(Said(done, time.monotonic() - began))
    except StopIteration as end:
        found: T = end.value
        return found


def ask(
    *,
    spine: Spine,
    limits: Limits,
    runner: ModelRunner,
    provider: Any,
    persona: Persona,
    messages: Sequence[Message],
    step: str,
    key: str,
    attempt: int = 0,
    schema: dict[str, Any] | None = None,
    temperature: float | None = None,
    canary: str = "",
) -> Answer:
    """Ask and return the reply, as `asking` says; raises LLMError, OverBudget or Stopped."""
    talk = asking(
        spine=spine, limits=limits, provider=provider, persona=persona, messages=messages, step=step, key=key,
        attempt=attempt, schema=schema, temperature=temperature, canary=canary,
    )  # fmt: skip
    return held(talk, runner, spine.stopped)


def asking(
    *,
    spine: Spine,
    limits: Limits,
    provider: Any,
    persona: Persona,
    messages: Sequence[Message],
    step: str,
    key: str,
    attempt: int = 0,
    schema: dict[str, Any] | None = None,
    temperature: float | None = None,
    canary: str = "",
    watched: bool = True,
) -> Conversation[Answer]:
    """One question as a conversation; raises LLMError, OverBudget or Stopped.

    A reply that gives the `canary` or the prompt away, plain or disguised, is withheld: it comes back empty.

    A reply that was already given under `key` (before a crash) is taken from the record: nothing is paid twice.
    `watched` is whether people see the words while they are written.
    """
    known = spine.remembered(key)
    if known is not None:
        return Answer(*known)
    check_budget(spine, limits)
    messages = in_form(messages, getattr(provider, "protocol", "fences"))
    # The canary is planted in what is sent only, and needs its place too.
    rules = [message for message in messages if message["role"] == "system"]
    planting = count_messages(with_canary(rules, canary)) - count_messages(rules)
    kept, saved = compact(messages, provider.window, persona.max_tokens + planting)
    shown, sources = guarded(spine, kept, provider, key=key, role=persona.name, attempt=attempt), untrusted(kept)
    sent = bare(shown)
    asked = with_canary(sent, canary)
    prompts = tuple(message["content"] for message in asked if message["role"] == "system")
    if saved:
        spine.emit(
            "context.compacted", summary=f"Older turns summed up, {saved} tokens saved", role=persona.name,
            attempt=attempt, payload={"saved": saved, "parts": shortened(messages, kept)}, key=f"{key}:compacted",
        )  # fmt: skip
    written = 0

    def show(text: str) -> None:
        nonlocal written
        spine.delta(lane=persona.name, id=key, offset=written, text=text)
        written += len(text)

    watch = Watch(prompts, show)

    def start_over(error: LLMError) -> None:
        # What was shown is void, and whoever looks on should see why the words begin again.
        if watched:
            watch.feed(f"\n\n[The reply starts over: {error}]\n\n")

    options: dict[str, Any] = {
        "schema": schema, "max_tokens": persona.max_tokens, "on_delta": watch.feed if watched else None, "on_retry": start_over,
        "temperature": persona.temperature if temperature is None else temperature,
    }  # fmt: skip
    with effect(
        spine, "model.call", key=key, summary=f"asks {provider.model}: {step} …", role=persona.name, attempt=attempt,
        payload={"model": provider.model, "server": provider.server, "step": step},
    ):  # fmt: skip
        try:
            said = yield Question(provider, asked, options)
        except Cancelled as stop:
            raise Stopped("stopped in mid-sentence") from stop
        except Unneeded as dropped:
            if dropped.seconds:
                # The server read the prompt and wrote so much of a reply: that is spent, though nobody counted it.
                spine.usage(
                    key=f"{key}:unneeded", role=persona.name, model=provider.model, prompt=count_messages(asked), reused=0,
                    completion=dropped.reply_tokens, seconds=dropped.seconds, speed=0.0,
                )  # fmt: skip
            raise
        if said is None:
            raise RuntimeError("a question needs its answer")
    completion, seconds = said.completion, said.seconds
    watch.close()
    usage = completion.usage
    spine.usage(
        key=key, role=persona.name, model=usage.model, prompt=usage.prompt_tokens, reused=usage.reused_tokens or 0,
        completion=usage.completion_tokens, seconds=seconds, speed=usage.tokens_per_s,
    )  # fmt: skip
    # The thought is written last of what a call leaves: once it is there, the reply counts as given.
    spine.emit(
        "llm.usage", role=persona.name, attempt=attempt, key=f"{key}:usage", tokens=usage.completion_tokens,
        summary=f"{usage.completion_tokens} tokens, {usage.tokens_per_s:.0f} tok/s, {seconds:.1f} s{stood_in(completion)}",
        payload={
            "model": usage.model, "prompt_tokens": usage.prompt_tokens, "reused_tokens": usage.reused_tokens,
            "completion_tokens": usage.completion_tokens, "tokens_per_s": round(usage.tokens_per_s, 1),
            "window": provider.window, "recorded": completion.recorded, "truncated": completion.truncated,
            "filled_by": ledger(asked, usage.prompt_tokens), "instead_of": list(completion.instead_of),
        },
    )  # fmt: skip
    text = plain(completion.text)
    leak = judge_reply(text, prompts)
    if leak.decision == "deny":
        text = ""
        spine.emit(
            "guard.blocked", role=persona.name, attempt=attempt, key=f"{key}:withheld", outcome="denied",
            summary=f"The {persona.name}'s reply was withheld: {leak.reason}",
            payload={"what": "reply", "reason": leak.reason, "rule": leak.rule, "decision": leak.decision, "layers": [leak.to_json()]},
        )  # fmt: skip
    spine.emit(
        "thought", role=persona.name, attempt=attempt, key=key, summary=first_sentence(text, step),
        payload={
            "text": prose(text)[:SHOWN_THOUGHT], "step": step, "model": usage.model, "truncated": completion.truncated,
            "sources": [sources_in(message) for message in kept], "untrusted": sources,
        },
        blobs={"prompt": [message["content"] for message in sent], "output": text},
        tokens=usage.completion_tokens, duration_ms=int(seconds * 1000),
    )  # fmt: skip
    yield None
    return Answer(text, completion.truncated)


def stood_in(completion: Completion) -> str:
    """Which model answered in place of another, and why; empty when the first choice did."""
    return f"; {completion.usage.model} stood in: {completion.instead_of[0]}"[:300] if completion.instead_of else ""


def guarded(
    spine: Spine, messages: list[Message], provider: Any, *, key: str, role: str, attempt: int
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
        spine.emit(
            "guard.blocked", summary=f"Secrets were taken out of a prompt to {provider.server}", role=role, attempt=attempt,
            payload={"what": "prompt", "reason": step.problem, "rule": "trifecta", "decision": "redacted"}, outcome="contained",
            key=f"{key}:guarded",
        )  # fmt: skip
        messages = without_secrets(messages)
        left = ("prompt",) if secrets_in_text(message["content"] for message in messages) else ()
        require(replace(step, secrets=left))
    return messages


def with_canary(messages: Sequence[Message], canary: str) -> list[Message]:
    """The messages with the canary at the end of the system prompt; only what is sent has it, not what is kept."""
    return [
        {"role": "system", "content": planted(message["content"], canary)} if message["role"] == "system" else message
        for message in messages
    ]


def plain(text: str) -> str:
    """A reply as every store, socket and file can hold it: half a character pair or a NUL has no place in UTF-8 text."""
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")


def prose(text: str) -> str:
    """The words of a reply without its fenced blocks."""
    kept, fenced = [], ""
    for line in text.splitlines():
        mark = line.strip()[:3]
        if fenced:
            if line.strip().startswith(fenced) and line.strip().strip(fenced[0]) == "":
                fenced = ""
            continue
        if mark in ("```", "~~~"):
            fenced = mark
            continue
        kept.append(line)
    return "\n".join(kept).strip()


def first_sentence(text: str, step: str) -> str:
    """One line for the stream: of a diagnosis its cause, else the first sentence that is no heading."""
    lines = [line for raw in prose(text).splitlines() if (line := raw.strip())]
    said = [line for line in lines if not _HEADING.match(line)] or [line.lstrip("# ") for line in lines]
    cause = next((found[1] for line in said if (found := _CAUSE.match(line))), "")
    words = " ".join(_MARK.sub("", cause or " ".join(said)).split())
    if not words or words[0] in "{[":
        return {"structure": "The plan, as JSON", "infer": "Requirements read between the lines"}.get(
            step, f"Answered: {step}"
        )
    end = min((i for i in (words.find(". "), words.find(": ")) if i > 20), default=len(words))
    return words[: min(end + 1, 240)]
