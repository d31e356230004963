"""Running the same thing in many threads at once, each with a database connection of its own."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from django.db import connection


def at_once(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """What each call returned, or the exception it raised, in order; all start together."""
    gate = threading.Barrier(len(calls))
    results: list[Any] = [None] * len(calls)

    def run(index: int, call: Callable[[], Any]) -> None:
        try:
            gate.wait(30)
            results[index] = call()
        except Exception as problem:
            results[index] = problem
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(index, call)) for index, call in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    return results
