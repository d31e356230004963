"""Looks after all targets, again and again: in a thread of each worker that hosts something, and as a job."""

from __future__ import annotations

import logging
import threading
import time

from django.db import close_old_connections

from projects.engine.operations import rollout
from projects.engine.operations.respond import respond_safely

log = logging.getLogger("aiswe.operations")
EVERY_SECONDS = 3.0
_turn = threading.Lock()
_started = threading.Lock()
_thread: threading.Thread | None = None


def tend_all() -> int:
    """One look at every target that needs it; how many. Two of them at once would only wait for each other.

    From the first target on this process goes on by itself.
    """
    if not _turn.acquire(blocking=False):
        return 0
    try:
        targets = rollout.due()
        if targets:
            _keep_on()
        for target in targets:
            try:
                respond_safely(target, rollout.tend(target))
            except Exception:  # one target's trouble must not keep the others from being looked at
                log.exception("looking after %s failed", target)
        return len(targets)
    finally:
        _turn.release()


def _keep_on() -> None:
    """Have this process look after its targets by itself from now on: only it can see what runs in its sandboxes."""
    global _thread
    with _started:
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_run, name="operations", daemon=True)
            _thread.start()


def _run() -> None:
    while True:
        time.sleep(EVERY_SECONDS)
        close_old_connections()
        try:
            tend_all()
        except Exception:  # the database is away, for instance: the next turn may find it again
            log.exception("operations rest until the next turn")
