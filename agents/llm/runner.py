"""Calls to models for synchronous code: stoppable, retried with care, and held off a server that is down."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import aclosing, contextmanager, suppress
from typing import Any, TypeVar
from weakref import WeakSet

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_random_exponential

from agents.llm.base import (
    Cancelled,
    Completion,
    LLMError,
    Message,
    ModelTimeout,
    ModelUnavailable,
    Provider,
)
from agents.llm.breaker import Breaker
from agents.llm.calls import POLL_S, Calls, Seats
from agents.llm.chain import ModelChain
from agents.llm.mailbox import Mailbox

T = TypeVar("T")
LONGEST_WAIT_S = 30.0  # a server asking for more is not waited for here: the task is parked instead


class ModelRunner:
    """One background event loop for all model calls of a process. Make one, share it, `close` it at the end."""

    def __init__(
        self, *, attempts: int = 3, backoff: float = 0.5, breaker_failures: int = 5, breaker_cooldown: float = 15.0,
        at_once: Callable[[str], int] = lambda server: 1,
    ) -> None:  # fmt: skip
        """`at_once` says how many conversations a server takes; calls beyond that are made too, and queue there."""
        self.attempts, self._backoff = attempts, backoff
        self.seats = Seats(at_once)
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
        with self.together(cancelled) as calls:
            call = calls.start(
                provider, messages, schema=schema, temperature=temperature, seed=seed, max_tokens=max_tokens,
                on_delta=on_delta, on_retry=on_retry,
            )  # fmt: skip
            while not call.ended:
                calls.look()
            return call.result()

    def together(self, cancelled: Callable[[], bool] | None = None) -> Calls:
        """For several calls at the same time, all of the caller's thread: `with runner.together(stopped) as calls:`."""
        return Calls(self, cancelled)

    def submit(
        self,
        provider: Provider,
        messages: Sequence[Message],
        options: Mapping[str, Any],
        mailbox: Mailbox,
        attempts: int,
    ) -> Future[Completion]:
        """Have one model asked in the background; what it writes goes to the mailbox. For agents.llm.calls."""

        async def attempt() -> Completion:
            async with aclosing(provider.stream(messages, **options)) as items:  # type: ignore[type-var]
                async for item in items:
                    if isinstance(item, Completion):
                        return item
                    mailbox.put(item.text)
            raise ModelUnavailable("The model server ended its reply without saying so.")

        return self._submit(self._with_retries(provider, attempt, mailbox.start_over, attempts))

    def embed(
        self, provider: Provider, texts: Sequence[str], *, cancelled: Callable[[], bool] | None = None
    ) -> list[list[float]]:
        """Turn texts into vectors; retried and stoppable like `complete`. Of a `ModelChain` by the first model alone."""
        if isinstance(provider, ModelChain):
            provider = provider.members[0]

        async def attempt() -> list[list[float]]:
            return await provider.embed(texts)

        future = self._submit(self._with_retries(provider, attempt, lambda error: None, self.attempts))
        with self._stopping(future):
            while True:
                with suppress(FutureTimeout):
                    future.exception(POLL_S)
                    return self._result(future)
                if cancelled is not None and cancelled():
                    raise Cancelled

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

    @contextmanager
    def _stopping(self, future: Future[Any]) -> Iterator[None]:
        """Whatever ends the wait (a stop, an error in a callback), nothing goes on behind it."""
        try:
            yield
        finally:
            if not future.done():
                future.cancel()

    @staticmethod
    def _result(future: Future[T]) -> T:
        try:
            return future.result()
        except CancelledError:
            raise Cancelled from None


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
