"""The demo's real jobs in the process that serves the site; they wait at every tenth event until the test goes on."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.conf import settings
from django.db import close_old_connections, connection
from django.db.transaction import Atomic

from projects.models import Run
from projects.workers import queue

TOKENS_PER_S = 3_000
JOB = threading.local()  # set in the threads that work


class HeldDemo:
    """The demo of one viewer. A job begins no transaction while its build has the events it may have."""

    def __init__(self, viewer: Any) -> None:
        from aiswe_site.demo.player import DemoPlayer
        from projects.jobs import runs as run_jobs
        from projects.jobs import upkeep

        settings.DEMO_TOKENS_PER_S = TOKENS_PER_S
        jobs = {**vars(upkeep), **vars(run_jobs)}
        self.upto, self.news = 0, threading.Condition()
        self.errors: list[str] = []
        pool = ThreadPoolExecutor(4, initializer=lambda: setattr(JOB, "works", True))

        def work(name: str, args: tuple[Any, ...]) -> None:
            try:
                jobs[name.rpartition(".")[2]](*args)
            except Exception as problem:
                self.errors.append(f"{name}{args}: {type(problem).__name__}: {problem}")
            finally:
                close_old_connections()

        queue.send = lambda name, args: None if name == "aiswe.nothing" else pool.submit(work, name, args)  # type: ignore[assignment]
        enter = Atomic.__enter__

        def wait_and_enter(atomic: Atomic) -> None:
            if getattr(JOB, "works", False) and not connection.in_atomic_block:
                with self.news:
                    self.news.wait_for(lambda: (run := self.build()) is None or run.last_seq < self.upto)
            enter(atomic)

        Atomic.__enter__ = wait_and_enter  # type: ignore[method-assign]
        self.planning = DemoPlayer().begin(viewer)

    @staticmethod
    def build() -> Run | None:
        """The build, once the plan is approved."""
        from aiswe_site.demo import story

        return Run.objects.filter(kind="build", project__created_by__username=story.ARCHITECT).first()

    def go_on(self, upto: int) -> dict[str, Any]:
        """Let the jobs work until the build has so many events, or is over."""
        with self.news:
            self.upto = upto
            self.news.notify_all()
        looks = 0
        while not ((run := self.build()) and (run.last_seq >= upto or run.status in Run.OVER)):
            threading.Event().wait(0.1)
            if (looks := looks + 1) % 50 == 0:  # as the sweep does: a job may have been woken while its lease was held
                queue.send(
                    "projects.jobs.schedule_run" if run else "projects.jobs.plan_run", ((run or self.planning).pk,)
                )
        return {"run": run.pk, "last": run.last_seq, "status": run.status, "errors": self.errors}
