"""Builds as the server makes them (queue, worker threads, leases, merges in turn), without the server.

Runs as a process of its own, with one argument: '{"server": URL, "builds": {NAME: TASKS}, …}'.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

from measure.performance import builds
from measure.performance.stopwatch import Cpu, Walls

LOOK_S = 0.05


def main() -> int:
    """Build each plan some times, in turn; print what each build took as one JSON line."""
    options = json.loads(sys.argv[1])
    builds.set_up()
    from agents.llm.registry import make_provider
    from aiswe_site.celery import app
    from aiswe_site.startup.embedded import EmbeddedWorker
    from projects.engine import building
    from sandbox.registry import open_backend

    provider = make_provider("scripted", server=options["server"], model="bench")
    building.provider_for = lambda project, persona="": provider  # type: ignore[attr-defined]  # replaced for the measurement
    walls = Walls()

    class Noted:
        """A backend whose sandboxes are looked at before they are closed."""

        def __init__(self, name: str) -> None:
            self._backend = open_backend(name)
            self.name = self._backend.name

        def open(self, **limits: Any) -> Any:
            return walls.watched(self._backend.open(**limits))

    building.open_backend = Noted  # type: ignore[assignment, attr-defined]  # replaced for the measurement
    worker = EmbeddedWorker(app, concurrency=options["parallel"] + 1)
    worker.start()
    user = builds.make_user()
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in options["builds"]}
    build(user, "warm-up", next(iter(options["builds"].values()))[:1], options, walls)
    for _ in range(options["rounds"]):
        for name, tasks in options["builds"].items():
            found[name].append(build(user, name, tasks, options, walls))
    worker.stop(5)
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()
    os._exit(0)  # threads of the worker may still wait for a message


def build(
    user: Any, name: str, tasks: Sequence[dict[str, Any]], options: dict[str, Any], walls: Walls
) -> dict[str, Any]:
    """Build a plan to its end; raises SystemExit when it does not end well within options' `seconds`."""
    from projects.models import Event, Run, Task, Usage

    seconds, before = options["seconds"], walls.total()
    cpu, began = Cpu(), time.monotonic()
    run = builds.make_build(user, name, tasks, model="scripted:bench", parallel=options["parallel"])
    while run.status not in (*Run.OVER, Run.Status.NEEDS_YOU):
        if time.monotonic() - began > seconds:
            raise SystemExit(f"the build {name} did not end within {seconds:.0f} s")
        time.sleep(LOOK_S)
        run.refresh_from_db()
    own, children = cpu.look()
    done = Task.objects.filter(run=run, status=Task.Status.MERGED).count()
    if done != len(tasks):
        raise SystemExit(f"the build {name} merged {done} of {len(tasks)} tasks: {run.why}")
    events = Event.objects.filter(run=run)
    first, last = events.order_by("seq").first(), events.order_by("-seq").first()
    merges = events.filter(type="git.merge")
    merged = [(event.at, event.task_id) for event in merges if event.task_id and event.outcome == "ok"]
    judged = dict(events.filter(type="decision", role="reviewer").values_list("task_id", "at"))
    return {
        "merges": [(at - judged[task]).total_seconds() for at, task in merged],
        "seconds": (last.at - first.at).total_seconds() if first and last else 0.0,
        "tasks": len(tasks),
        "model": sum(Usage.objects.filter(run=run).values_list("seconds", flat=True)),
        "cpu": own + children + walls.total() - before,
        "events": run.last_seq,
        "rebased": sum(1 for event in merges if event.payload.get("rebased")),
        "conflicts": sum(1 for event in merges if event.payload.get("conflict")),
    }


if __name__ == "__main__":
    sys.exit(main())
