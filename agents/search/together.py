"""Conversations with a model that go on at the same time, as far as the server takes them and the tokens left pay.

All of them belong to one thread: what they write down is written there, one after the other. Only the model, and what is
done `aside`, works meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar

from agents.asking import Conversation, Question, Said, Unneeded
from agents.llm.base import Cancelled, LLMError
from agents.llm.calls import Call
from agents.llm.runner import ModelRunner
from agents.llm.tokens import count_tokens
from agents.ports import Stopped

T = TypeVar("T")
R = TypeVar("R")


@dataclass(eq=False)
class _Talk(Generic[T]):
    number: int
    steps: Conversation[T]
    server: str
    question: Question | None = None  # asked, or still to be asked
    call: Call | None = None
    began: float = 0.0
    rests: bool = False  # what follows waits until nothing is done aside
    heard: list[str] = field(default_factory=list)  # all that was written so far, once more after each retry


class Together(Generic[T]):
    """Conversations by number. What has ended stands in `ended`: its result, or the exception it ended with.

    Leaving the block ends those that are still open: their requests are dropped, and the record says so.
    """

    def __init__(self, runner: ModelRunner, stopped: Callable[[], bool], left: Callable[[], int]) -> None:
        """`left` says how many tokens may still be used; `stopped` that somebody pulled the brake."""
        self._runner, self._left = runner, left
        self._calls = runner.together(stopped)
        self._open: dict[int, _Talk[T]] = {}
        self._aside = False
        self._dearest = 0  # tokens that a question may take, of those asked so far
        self.ended: dict[int, T | Exception] = {}
        self.most = 0  # requests that were on their way at the same time

    def __enter__(self) -> Together[T]:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with (
            self._calls,
            suppress(*((Exception,) if kind is not None else ())),
        ):  # the first error is the one that matters
            for number in list(self._open):
                self.drop(number)

    def __len__(self) -> int:
        """How many are open."""
        return len(self._open)

    def begin(self, number: int, steps: Callable[[], Conversation[T]], server: str) -> bool:
        """Begin a conversation; False, with nothing done, when server or tokens have no room for it beside the others.

        One alone always begins: what it may spend is checked by itself.
        """
        alone = not self._open
        if not alone and self._left() < self._reserved() + self._dearest:
            return False
        if not self._runner.seats.take(server, always=alone):
            return False
        talk = self._open[number] = _Talk(number, steps(), server)
        self._step(talk, partial(next, talk.steps))
        return True

    def drop(self, number: int) -> None:
        """End a conversation that is not needed any more; its request ends at the server."""
        talk = self._open.get(number)
        if talk is None:
            return
        seconds = 0.0
        if talk.call is not None:
            self._calls.drop(talk.call)
            seconds = max(time.monotonic() - talk.began, 0.001)
        self._close(talk)
        with suppress(Unneeded, StopIteration):
            talk.steps.throw(Unneeded(count_tokens("".join(talk.heard)), seconds))

    def look(self, until: Callable[[], bool] = lambda: False) -> None:
        """Wait a moment for what comes, hand it on, and ask what can be asked; raises Stopped when the brake was pulled."""
        try:
            ended = self._calls.look(until)
        except Cancelled as stop:
            raise Stopped("stopped in mid-sentence") from stop
        for talk in [one for one in self._open.values() if one.call in ended]:
            self._answered(talk)
        self._ask()

    def aside(self, work: Callable[[], R]) -> R:
        """Do something long in another thread; replies that come meanwhile are put on record, and no more than that."""
        if not self._open:
            return work()
        with ThreadPoolExecutor(1, thread_name_prefix="aside") as pool:
            done = pool.submit(work)
            done.add_done_callback(lambda _: self._calls.ring())
            self._aside = True
            try:
                while not done.done():
                    self.look(done.done)
            finally:
                self._aside = False
        for talk in [one for one in self._open.values() if one.rests]:
            talk.rests = False
            self._step(talk, partial(talk.steps.send, None))
        return done.result()

    def _answered(self, talk: _Talk[T]) -> None:
        call, talk.call, talk.question = talk.call, None, None
        talk.heard.clear()
        if call is None:
            return
        try:
            said = Said(call.result(), time.monotonic() - talk.began)
        except LLMError as error:
            self._step(talk, partial(talk.steps.throw, error))
        else:
            self._step(talk, partial(talk.steps.send, said))

    def _step(self, talk: _Talk[T], step: Callable[[], Question | None]) -> None:
        try:
            while (question := step()) is None:
                if self._aside:
                    talk.rests = True
                    return
                step = partial(talk.steps.send, None)
        except StopIteration as end:
            self.ended[talk.number] = end.value
            self._close(talk)
        except Exception as error:  # noqa: BLE001 - whoever began it decides what its end means
            self.ended[talk.number] = error
            self._close(talk)
        else:
            talk.question, self._dearest = question, max(self._dearest, question.tokens)
            self._ask()

    def _ask(self) -> None:
        """Send the questions that the tokens left pay for, even if all of them take as much as they may."""
        for talk in sorted(self._open.values(), key=lambda one: one.number):
            flying = [one.question.tokens for one in self._open.values() if one.question and one.call]
            question = talk.question
            if question is None or talk.call is not None or (flying and self._left() < sum(flying) + question.tokens):
                continue
            show = question.options["on_delta"]

            def heard(text: str, talk: _Talk[T] = talk, show: Callable[[str], None] | None = show) -> None:
                talk.heard.append(text)
                if show is not None:
                    show(text)

            talk.began = time.monotonic()
            talk.call = self._calls.start(
                question.provider, question.messages, **{**question.options, "on_delta": heard}, seated=True
            )
            self.most = max(self.most, len(flying) + 1)

    def _reserved(self) -> int:
        return sum(one.question.tokens for one in self._open.values() if one.question)

    def _close(self, talk: _Talk[T]) -> None:
        del self._open[talk.number]
        self._runner.seats.leave(talk.server)
