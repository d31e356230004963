"""A worker for as long as a command needs one: the running `aiswe up`, else one of its own."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from aiswe_site.startup.home import Home, home_lock, wake_worker
from aiswe_site.startup.supervisor import StartFailed, Supervisor, address_of, listen


@dataclass(frozen=True)
class Worker:
    """Who does the work: `wake` tells of new work, `failure` will hold the error that ended it, if any."""

    wake: Callable[[], object]
    failure: list[BaseException] = field(default_factory=list)


@contextlib.contextmanager
def worker(say: Callable[[str], None]) -> Iterator[Worker]:
    """Somebody works while the block lasts; `say` prints for people. Raises HomeTaken, PortBusy and StartFailed."""
    home = Home.from_environment()
    if wake_worker(home):
        yield Worker(partial(wake_worker, home))
        return
    with home_lock(home), listen("127.0.0.1", 0) as listener:
        say(f"No worker is running: this command works itself, and shows it at {address_of(listener)}")
        supervisor = Supervisor(home, listener, say)
        with served(supervisor) as failure:
            yield Worker(supervisor.wake, failure)


@contextlib.contextmanager
def served(supervisor: Supervisor) -> Iterator[list[BaseException]]:
    """The server in the background; yields a list that will hold the error that ended it, if any."""
    failure: list[BaseException] = []

    def run() -> None:
        try:
            supervisor.run()
        except StartFailed as error:
            failure.append(error)

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    wishes = {signal.SIGTERM: stop, signal.SIGUSR1: lambda *_: supervisor.wake()}
    old = {number: signal.signal(number, do) for number, do in wishes.items()}
    thread = threading.Thread(target=run, name="supervisor")
    thread.start()
    try:
        yield failure
    finally:
        supervisor.stop()
        thread.join()
        for number, handler in old.items():
            signal.signal(number, handler)
    if failure:
        raise failure[0]
