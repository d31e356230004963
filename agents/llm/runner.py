"""Calls to models for synchronous code: stoppable, retried with care, and held off a server that is down."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import aclosing, contextmanager, suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Any, TypeVar
from weakref import WeakSet

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_random_exponential

from agents.llm.base import (
    Cancelled,
    Completion,
    ContextTooLong,
    LLMError,
    Message,
    ModelTimeout,
    ModelUnavailable,
    Provider,
)
from agents.llm.breaker import Breaker
from agents.llm.chain import ModelChain, falls_through
from agents.llm.concurrency import ConcurrencyLimit
from agents.llm.tokens import count_messages

T = TypeVar("T")
Arrived = SimpleQueue[str | LLMError | None]  # text, an error after which the reply starts over, or None at the end
POLL_S = 0.2  # how often a waiting call asks whether it was stopped
DELTA_S = 0.05  # twenty updates a second are as many as anyone can see
ATTEMPTS_BEFORE_NEXT = 2  # of a model that another one stands in for
REPLY_RESERVE = 512  # tokens that must be left for an answer when the caller sets no limit
LONGEST_WAIT_S = 30.0  # a server asking for more is not waited for here: the task is parked instead


class ModelRunner:
    """One background event loop for all model calls of a process. Make one, share it, `close` it at the end."""

    def __init__(
        self,
        *,
        attempts: int = 3,
        backoff: float = 0.5,
        breaker_failures: int = 5,
        breaker_cooldown: float = 15.0,
        parallel: Callable[[str], int] = lambda server: 1,
    ) -> None:
        """`parallel` gives the number of calls that a server answers at a time; calls beyond that queue there."""
        self._attempts, self._backoff = attempts, backoff
        self.limit = ConcurrencyLimit(parallel)
        self._breaker_options: dict[str, Any] = {"failures": breaker_failures, "cooldown": breaker_cooldown}
        self._breakers: dict[str, Breaker] = {}
        self._providers: WeakSet[Provider] = WeakSet()
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def __enter__(self) -> ModelRunner:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def breaker(self, server: str) -> Breaker:
        """The breaker all calls to this server share."""
        with self._lock:
            return self._breakers.setdefault(server, Breaker(server, **self._breaker_options))

    def complete(
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
        cancelled: Callable[[], bool] | None = None,
    ) -> Completion:
        """Ask and wait for the whole reply; raises the `LLMError` tree.

        `on_delta`, `on_retry` and `cancelled` are called in the caller's thread. `on_delta` gets text at most twenty
        times a second. After `on_retry` the reply starts again from nothing, so what was shown of it is void.
        `cancelled` is asked every 0.2 s; once true, the connection is dropped and `Cancelled` raised. Of a `ModelChain`
        the next model is asked when one cannot answer; the completion's `instead_of` says why.
        """
        members: tuple[Provider, ...] = (provider,)
        if isinstance(provider, ModelChain):
            members = provider.members
            temperature, max_tokens = provider.tuned(temperature, max_tokens)
        options = {"schema": schema, "temperature": temperature, "seed": seed, "max_tokens": max_tokens}
        passed: list[str] = []
        for member in members[:-1]:
            attempts = min(self._attempts, ATTEMPTS_BEFORE_NEXT)
            try:
                done = self._complete(member, messages, options, attempts, on_delta, on_retry, cancelled)
            except LLMError as error:
                if not falls_through(error):
                    raise
                passed.append(f"{member.name}:{member.model} did not answer: {error}")
                if on_retry is not None:
                    on_retry(error)
            else:
                return replace(done, instead_of=tuple(passed))
        done = self._complete(members[-1], messages, options, self._attempts, on_delta, on_retry, cancelled)
        return replace(done, instead_of=tuple(passed))

    def _complete(
        self,
        provider: Provider,
        messages: Sequence[Message],
        options: Mapping[str, Any],
        attempts: int,
        on_delta: Callable[[str], None] | None,
        on_retry: Callable[[LLMError], None] | None,
        cancelled: Callable[[], bool] | None,
    ) -> Completion:
        """Ask one model."""
        need = count_messages(messages) + (options["max_tokens"] or REPLY_RESERVE)
        if need > provider.window:
            raise ContextTooLong(need, provider.window)
        arrived: Arrived = SimpleQueue()

        async def attempt() -> Completion:
            async with aclosing(provider.stream(messages, **options)) as items:  # type: ignore[type-var]  # every provider's is a generator
                async for item in items:
                    if isinstance(item, Completion):
                        return item
                    arrived.put(item.text)
            raise ModelUnavailable("The model server ended its reply without saying so.")

        with self.limit.call(provider.server):
            future = self._submit(self._with_retries(provider, attempt, arrived.put, attempts))
            return _wait(future, arrived, on_delta, on_retry, cancelled)

    def embed(
        self, provider: Provider, texts: Sequence[str], *, cancelled: Callable[[], bool] | None = None
    ) -> list[list[float]]:
        """Turn texts into vectors; retried and stoppable like `complete`. A `ModelChain` uses its first model."""
        if isinstance(provider, ModelChain):
            provider = provider.members[0]

        async def attempt() -> list[list[float]]:
            return await provider.embed(texts)

        future = self._submit(self._with_retries(provider, attempt, lambda error: None, self._attempts))
        return _wait(future, SimpleQueue(), None, None, cancelled)

    def close(self) -> None:
        """Stop every call in flight and end the background thread; safe to call twice."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
            self._closed = True
        if loop is None or thread is None:
            return
        providers = list(self._providers)
        loop.call_soon_threadsafe(lambda: loop.create_task(_wind_up(loop, providers)))
        thread.join(timeout=5)

    async def _with_retries(
        self,
        provider: Provider,
        attempt: Callable[[], Coroutine[Any, Any, T]],
        again: Callable[[LLMError], None],
        attempts: int,
    ) -> T:
        breaker = self.breaker(provider.server)
        self._providers.add(provider)
        end = time.monotonic() + provider.timeouts.total

        def worth_it(error: BaseException) -> bool:
            if breaker.state == "open" or time.monotonic() > end:
                return False
            if isinstance(error, ModelTimeout):
                return error.stage != "total"
            return isinstance(error, ModelUnavailable) and (error.retry_after or 0.0) <= LONGEST_WAIT_S

        jitter = wait_random_exponential(multiplier=self._backoff, max=LONGEST_WAIT_S)

        def wait(state: RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome else None
            asked = error.retry_after or 0.0 if isinstance(error, ModelUnavailable) else 0.0
            return asked + jitter(state)

        def before_sleep(state: RetryCallState) -> None:
            error = state.outcome.exception() if state.outcome else None
            if isinstance(error, LLMError):
                again(error)

        async for turn in AsyncRetrying(
            stop=stop_after_attempt(attempts),
            retry=retry_if_exception(worth_it),
            wait=wait,
            before_sleep=before_sleep,
            reraise=True,
        ):
            with turn:
                breaker.enter()
                with _judged(breaker):
                    return await attempt()
        raise ModelUnavailable("The model server was not asked.")  # pragma: no cover - tenacity always asks once

    def _submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        with self._lock:
            if self._closed:
                work.close()
                raise Cancelled("The program is shutting down, so no model is asked any more.")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_run, args=(self._loop,), name="model-runner", daemon=True)
                self._thread.start()
            if threading.current_thread() is self._thread:
                work.close()
                raise RuntimeError("ModelRunner is for synchronous threads; in its own loop use the provider itself.")
            return asyncio.run_coroutine_threadsafe(work, self._loop)


def _wait(
    future: Future[T],
    arrived: Arrived,
    on_delta: Callable[[str], None] | None,
    on_retry: Callable[[LLMError], None] | None,
    cancelled: Callable[[], bool] | None,
) -> T:
    """Wait for the call and pass on what arrives; a stop, or an error in a callback, drops the connection."""
    future.add_done_callback(lambda _: arrived.put(None))
    try:
        ended = False
        while not ended:
            batch = _gather(arrived)
            if cancelled is not None and cancelled():
                raise Cancelled
            text = ""
            for item in batch:
                if isinstance(item, LLMError):
                    text = ""
                    if on_retry is not None:
                        on_retry(item)
                else:
                    text += item or ""
            if text and on_delta is not None:
                on_delta(text)
            ended = bool(batch) and batch[-1] is None
        return future.result()
    except CancelledError:
        raise Cancelled from None
    finally:
        future.cancel()


def _gather(arrived: Arrived) -> list[str | LLMError | None]:
    """What arrives within DELTA_S of the first piece; nothing when none comes within POLL_S."""
    found: list[str | LLMError | None] = []
    end = time.monotonic() + POLL_S
    with suppress(Empty):
        while (left := end - time.monotonic()) > 0:
            found.append(arrived.get(timeout=left))
            if found[-1] is None:
                break
            if len(found) == 1:
                end = time.monotonic() + DELTA_S
    return found


@contextmanager
def _judged(breaker: Breaker) -> Iterator[None]:
    """Tell the breaker how a call ended; an answer that says no is still an answer."""
    try:
        yield
    except ModelUnavailable as error:
        breaker.failed(error.retry_after)
        raise
    except ModelTimeout:
        breaker.failed()
        raise
    except LLMError:
        breaker.succeeded()
        raise
    except BaseException:
        breaker.left()
        raise
    breaker.succeeded()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


async def _wind_up(loop: asyncio.AbstractEventLoop, providers: Sequence[Provider]) -> None:
    """Stop every call, then close the connections they used, then the loop; whatever hangs is left behind."""
    calls = asyncio.all_tasks() - {asyncio.current_task()}
    for call in calls:
        call.cancel()
    try:
        async with asyncio.timeout(2):
            await asyncio.gather(*calls, return_exceptions=True)
            await asyncio.gather(*(provider.aclose() for provider in providers), return_exceptions=True)
    except TimeoutError:
        pass
    finally:
        loop.stop()
