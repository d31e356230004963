"""Calls to models that are on their way: one or several, looked at by the thread that asked."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agents.llm.base import Cancelled, Completion, ContextTooLong, LLMError, Message, ModelUnavailable, Provider
from agents.llm.chain import ModelChain, falls_through
from agents.llm.mailbox import Mailbox
from agents.llm.tokens import count_messages

if TYPE_CHECKING:
    from agents.llm.runner import ModelRunner

POLL_S = 0.2  # how often a waiting call asks whether it was stopped
DELTA_S = 0.05  # twenty updates a second are as many as anyone can see
ATTEMPTS_BEFORE_NEXT = 2  # of a model that another one stands in for
REPLY_RESERVE = 512  # tokens that must be left for an answer when the caller sets no limit


class Seats:
    """How many conversations each server is holding for this process, and how many it takes at once."""

    def __init__(self, at_once: Callable[[str], int]) -> None:
        """`at_once` says for a server (the `server` of a provider) how many conversations it takes."""
        self._at_once, self._taken, self._lock = at_once, Counter[str](), threading.Lock()

    def take(self, server: str, *, always: bool = False) -> bool:
        """Take a seat; False when none is free, unless it is taken `always` (the server then queues)."""
        most = self._at_once(server)
        with self._lock:
            if not always and self._taken[server] >= most:
                return False
            self._taken[server] += 1
            return True

    def leave(self, server: str) -> None:
        """Give the seat back."""
        with self._lock:
            self._taken[server] -= 1

    def taken(self, server: str) -> int:
        """Conversations that are being held."""
        with self._lock:
            return self._taken[server]


class Call:
    """One question, asked of the models of a chain until one answers."""

    def __init__(
        self,
        runner: ModelRunner,
        bell: threading.Condition,
        provider: Provider,
        messages: Sequence[Message],
        options: Mapping[str, Any],
        on_delta: Callable[[str], None] | None,
        on_retry: Callable[[LLMError], None] | None,
        *,
        seated: bool,
    ) -> None:
        options = dict(options)
        self._members: tuple[Provider, ...] = (provider,)
        if isinstance(provider, ModelChain):
            self._members = provider.members
            options["temperature"], options["max_tokens"] = provider.tuned(
                options["temperature"], options["max_tokens"]
            )
        self._runner, self._bell, self._messages, self._options = runner, bell, messages, options
        self._on_delta, self._on_retry, self._seated = on_delta, on_retry, seated
        self._at, self._passed = -1, list[str]()
        self._future: Future[Completion] | None = None
        self._mailbox = Mailbox(bell)
        self._result: Completion | None = None
        self._error: BaseException | None = None
        self.ended = False
        self._ask_next()

    def _ask_next(self) -> None:
        """Ask the next of the models, or end with what the last one said."""
        while not self.ended:
            self._at += 1
            member, last = self._members[self._at], self._at == len(self._members) - 1
            self._mailbox = Mailbox(self._bell)
            attempts = self._runner.attempts if last else min(self._runner.attempts, ATTEMPTS_BEFORE_NEXT)
            try:
                need = count_messages(self._messages) + (self._options["max_tokens"] or REPLY_RESERVE)
                if need > member.window:
                    raise ContextTooLong(need, member.window)
                self._future = self._begin(member, self._mailbox, attempts)
                return
            except LLMError as error:
                self._failed(error)

    def _begin(self, member: Provider, mailbox: Mailbox, attempts: int) -> Future[Completion]:
        seats = None if self._seated else self._runner.seats
        if seats is not None:
            seats.take(member.server, always=True)
        try:
            future = self._runner.submit(member, self._messages, self._options, mailbox, attempts)
        except BaseException:
            if seats is not None:
                seats.leave(member.server)
            raise

        def over(_: Future[Completion]) -> None:
            if seats is not None:
                seats.leave(member.server)
            mailbox.close()

        future.add_done_callback(over)
        return future

    def _failed(self, error: LLMError) -> None:
        if self._at == len(self._members) - 1 or not falls_through(error):
            self._error, self.ended = error, True
            return
        member = self._members[self._at]
        self._passed.append(f"{member.name}:{member.model} did not answer: {error}")
        if self._on_retry is not None:
            self._on_retry(error)

    def news(self, *, only_the_end: bool = False) -> bool:
        """True when there is something to look at."""
        return not self.ended and self._mailbox.news(only_the_end=only_the_end)

    def look(self) -> bool:
        """Hand on what came since the last look, in the caller's thread; True when that was text."""
        if self.ended:
            return False
        closed = self._mailbox.closed
        errors, text = self._mailbox.take()
        for error in errors:
            if self._on_retry is not None:
                self._on_retry(error)
        if text and self._on_delta is not None:
            self._on_delta(text)
        if closed:
            self._settle()
        return bool(text)

    def _settle(self) -> None:
        future = self._future
        if future is None or future.cancelled():
            self._error, self.ended = Cancelled(), True
            return
        error = future.exception()
        if isinstance(error, LLMError):
            self._failed(error)
            self._ask_next()
            return
        self.ended = True
        if error is not None:
            self._error = error
        else:
            self._result = replace(future.result(), instead_of=tuple(self._passed))

    def result(self) -> Completion:
        """The reply of a call that has ended; raises what it ended with."""
        if self._error is not None:
            raise self._error
        if self._result is None:
            raise ModelUnavailable("The call has not ended yet.")
        return self._result

    def cancel(self) -> None:
        """Drop the connection, if the call has not ended."""
        if not self.ended:
            self._error, self.ended = Cancelled(), True
            if self._future is not None and not self._future.done():
                self._future.cancel()


class Calls:
    """Calls that are on their way at the same time; leaving the block drops those that have not ended."""

    def __init__(self, runner: ModelRunner, cancelled: Callable[[], bool] | None = None) -> None:
        """`cancelled` is asked in the caller's thread every 0.2 s; once true, `look` raises Cancelled."""
        self._runner, self._cancelled = runner, cancelled
        self._bell = threading.Condition()
        self._open: list[Call] = []
        self._last = 0.0

    def __enter__(self) -> Calls:
        return self

    def __exit__(self, *exc: object) -> None:
        for call in self._open:
            call.cancel()
        self._open.clear()

    def start(
        self,
        provider: Provider,
        messages: Sequence[Message],
        *,
        schema: dict[str, Any] | None = None,
        temperature: float = 0.2,
        seed: int | None = None,
        max_tokens: int | None = None,
        on_delta: Callable[[str], None] | None = None,
        on_retry: Callable[[LLMError], None] | None = None,
        seated: bool = False,
    ) -> Call:
        """Ask without waiting; `seated` when the caller has taken the server's seat already."""
        options = {"schema": schema, "temperature": temperature, "seed": seed, "max_tokens": max_tokens}
        call = Call(self._runner, self._bell, provider, messages, options, on_delta, on_retry, seated=seated)
        self._open.append(call)
        return call

    def look(self, until: Callable[[], bool] = lambda: False) -> list[Call]:
        """Wait for news, at most 0.2 s, hand it on, and return the calls that have ended since; raises Cancelled.

        The wait also ends when `until` is true and `ring` was called.
        """
        self._wait(POLL_S, until)
        if self._cancelled is not None and self._cancelled():
            raise Cancelled
        early = self._last + DELTA_S - time.monotonic()
        if early > 0:
            self._wait(early, until, only_the_end=True)
        shown = [call.look() for call in self._open]
        if any(shown):
            self._last = time.monotonic()
        ended = [call for call in self._open if call.ended]
        self._open = [call for call in self._open if not call.ended]
        return ended

    def drop(self, call: Call) -> None:
        """End one call; it will not be among those that `look` returns."""
        call.cancel()
        self._open = [one for one in self._open if one is not call]

    def ring(self) -> None:
        """Wake up whoever waits in `look`; from any thread."""
        with self._bell:
            self._bell.notify_all()

    def _wait(self, seconds: float, until: Callable[[], bool], *, only_the_end: bool = False) -> None:
        with self._bell:
            self._bell.wait_for(
                lambda: until() or any(call.ended or call.news(only_the_end=only_the_end) for call in self._open),
                seconds,
            )
