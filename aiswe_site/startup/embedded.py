"""A Celery worker and its clock in threads of this process."""

from __future__ import annotations

import logging
import os
import signal
import threading
from typing import Any

log = logging.getLogger("aiswe.worker")
READY_S = 30.0


class EmbeddedWorker:
    """Worker (threads pool) and beat; `celery.apps.worker.Worker` is not used because it wants the main thread."""

    def __init__(self, app: Any, *, concurrency: int) -> None:
        self.app, self.concurrency = app, concurrency
        self._ready = threading.Event()
        self._thread: threading.Thread | None = None
        self._beat: Any = None

    def start(self) -> None:
        """Start both; returns when jobs are taken. Raises RuntimeError when that does not come about."""
        from celery.beat import EmbeddedService
        from celery.worker import state

        state.should_stop = state.should_terminate = None
        self.app.finalize()
        self.app.loader.import_default_modules()
        controller = self.app.WorkController(
            hostname=f"aiswe@{os.uname().nodename}",
            pool="threads",
            concurrency=self.concurrency,
            without_heartbeat=True,
            without_mingle=True,
            without_gossip=True,
            loglevel=logging.WARNING,
            ready_callback=lambda consumer: self._ready.set(),
        )
        self._thread = threading.Thread(target=self._work, args=(controller,), name="worker", daemon=True)
        self._thread.start()
        if not self._ready.wait(READY_S):
            raise RuntimeError(f"the job worker was not ready within {READY_S:.0f} s")
        # The schedule is kept in memory: a file torn by a kill would stand in the way of the next start.
        self._beat = EmbeddedService(self.app, thread=True, scheduler_cls="celery.beat:Scheduler")
        self._beat.start()

    def _work(self, controller: Any) -> None:
        try:
            controller.start()
        except SystemExit:
            pass
        except BaseException:  # a process without its worker must not go on as if it had one
            log.exception("the job worker died")
            os.kill(os.getpid(), signal.SIGKILL)

    def stop(self, grace: float) -> bool:
        """Take no more jobs and wait up to `grace` seconds for those at work; True when all have ended."""
        from celery.worker import state

        state.should_stop = 0  # the consumer leaves at its next message or tick (2 s), and lets jobs end
        if self._beat is not None:
            self._beat.stop()
        if self._thread is None:
            return True
        for _ in range(2):  # it waits once more after it has seen that it should stop
            self.app.send_task("aiswe.nothing")
        self._thread.join(grace)
        return not self._thread.is_alive()
