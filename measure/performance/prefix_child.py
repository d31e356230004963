"""The one-file bug fix as a worker does it, many times: on SQLite, with its leases, events and checkpoints, without
scanners.

Runs as a process of its own: `python -m measure.performance.prefix_child '{"n": 5}'`.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack, nullcontext
from functools import partial
from typing import Any
from unittest.mock import patch

from measure.performance import builds
from measure.performance.cpu_parts import Gits, Parts
from measure.performance.prefix import START, TASK, TESTS, Given, jobs
from measure.performance.stopwatch import Cpu, Walls

WARM = 1  # rounds that pay imports and are not counted


class Job:
    """The job, again and again, in one process."""

    def __init__(self) -> None:
        from sandbox.registry import open_backend

        self.user, self.backend, self.number = builds.make_user(), open_backend("auto"), 0

    def run(self, watching: Any) -> dict[str, float]:
        """Once; processor seconds of this process, of the processes it waited for, and of the sandbox."""
        from agents.engine.contracts import TaskContext
        from agents.gates.base import GateReport
        from agents.llm.runner import ModelRunner
        from projects.engine import building
        from projects.jobs import runs as run_jobs
        from projects.models import Task
        from projects.storage.paths import repository_of

        self.number += 1
        run = builds.make_build(self.user, f"Rental {self.number}", [task_of_plan()], model="scripted:bench")
        run_jobs.schedule_run(run.pk)
        task = Task.objects.get(run=run)
        repository = repository_of(run.project)
        base = repository.ensure("Rental")
        tree = repository.worktree("start", base)
        tree.write({"rental.py": START})
        repository.fast_forward(tree.commit(base, "As given", "", {}))
        given: Any = Given(jobs()["bug fix"])
        walls, data = Walls(), building.task_data
        runner = ModelRunner(attempts=1)

        class Watched:
            name = self.backend.name

            def open(_, **options: Any) -> Any:
                return walls.watched(self.backend.open(**options))

        parts = {
            "TaskContext": partial(TaskContext, needs_review=False),
            "task_data": lambda task: data(task) | {"tests_given": {"tests/test_rental.py": TESTS}},
            "provider_for": lambda project, persona="": given,
            "runner": lambda: runner,
            "open_backend": lambda name: Watched(),
            "gates": lambda root, paths, dispositions: GateReport("pass", (), {}, ()),
        }
        with ExitStack() as stack:
            stack.callback(runner.close)
            for name, part in parts.items():
                stack.enter_context(patch.object(building, name, part))
            cpu = Cpu()
            with watching:
                run_jobs.run_task(task.pk)
            own, children = cpu.look()
        task.refresh_from_db()
        if task.status != "merged":
            raise SystemExit(f"the measured task ended {task.status!r}, not merged: {task.why}")
        return {"own": own, "children": children, "sandbox": walls.total()}


def task_of_plan() -> dict[str, Any]:
    """The task as a plan has it."""
    return {
        **TASK,
        "kind": "code",
        "agent": "coder",
        "minutes": 5,
        "requirements": ["FR-01"],
        "needs": [],
        "expects": "prices",
    }


def main() -> int:
    """Measure, and print the samples as one JSON line."""
    options = json.loads(sys.argv[1])
    builds.set_up()
    from projects.workers import queue

    queue.send = lambda name, args: None  # jobs are called here, by hand, one after the other
    job = Job()
    for _ in range(WARM):
        job.run(nullcontext())
    rounds = [job.run(nullcontext()) for _ in range(options["n"])]
    gits, parts = Gits(), Parts()
    job.run(gits.watching())
    job.run(parts.watching())
    answer = {
        "engine": [each["own"] + each["children"] for each in rounds],
        "own": [each["own"] for each in rounds],
        "sandbox": [each["sandbox"] for each in rounds],
        "git": dict(gits.seconds),
        "gits": sum(gits.count.values()),
        "parts": dict(parts.own),
    }
    sys.stdout.write(json.dumps(answer) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
