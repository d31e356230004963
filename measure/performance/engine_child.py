"""One task, many times, three ways in turn: by a bare loop, by the engine in memory, by the engine on its database.

Runs as a process of its own, with one argument: '{"n": 5, "seconds": 60, "server": URL, "scratch": FOLDER}'.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from measure.performance import builds
from measure.performance.stopwatch import Cpu, Stopwatch, Walls
from measure.performance.stories import REPAIRED_FILES, REPAIRED_TASK

ENOUGH = 3  # rounds that are made however slow the machine is


@dataclass
class Sample:
    """What one pass took; seconds."""

    wall: float
    cpu_own: float
    cpu_children: float
    calls: int
    own: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    each_call: list[float] = field(default_factory=list)


class Bench:
    """The three ways over one recorded model; what was asked of it is kept, to be asked again by the bare loop."""

    def __init__(self, server: str, scratch: Path) -> None:
        from agents.llm.registry import make_provider
        from agents.llm.runner import ModelRunner
        from sandbox.registry import open_backend

        self.server, self.scratch = server, scratch
        self.provider = make_provider("scripted", server=server, model="bench")
        self.runner = ModelRunner(attempts=1)
        self.backend = open_backend("auto")
        self.asked: list[Sequence[Any]] = []
        self.number = 0
        self.walls = Walls()

    def close(self) -> None:
        """End the background loop."""
        self.runner.close()

    def watched_runner(self, watch: Stopwatch) -> Any:
        """The runner with a stopwatch around each call; what the engine does for a delta is its own part."""
        asked, runner = self.asked, self.runner

        class Watched:
            def complete(self, provider: Any, messages: Any, **options: Any) -> Any:
                asked.append([messages, options.get("schema")])
                show = options.pop("on_delta", None)
                if show is not None:
                    options["on_delta"] = watch.timed("event_log", show)
                with watch.section("model"):
                    return runner.complete(provider, messages, **options)

        return Watched()

    def watched_backend(self, watch: Stopwatch) -> Any:
        """The backend with a stopwatch around it and its sandboxes."""
        backend, walls = self.backend, self.walls

        class Watched:
            name = backend.name

            def open(self, **options: Any) -> Any:
                with watch.section("sandbox"):
                    return walls.watched(watch.watch(backend.open(**options), "sandbox"))

        return Watched()

    def watched_repository(self, repository: Any, watch: Stopwatch) -> Any:
        """The repository and its worktrees with a stopwatch around them."""
        from agents.workspace.worktree import Worktree

        def also(result: Any) -> Any:
            if not isinstance(result, Worktree) or "changes" in vars(result):  # the same one comes back, watched
                return result
            return watch.watch(result, "git")

        return watch.watch(repository, "git", result=also)

    def watched_graph(self, watch: Stopwatch) -> Any:
        """The task graph with a stopwatch around each node's own work."""
        from agents.engine.graph import build_graph

        graph = build_graph()
        for node in graph.nodes.values():
            runnable: Any = node.runnable
            runnable.func = watch.timed("nodes", runnable.func)
        return graph

    def bare(self) -> Sample:
        """The same calls with the model's own client, each set of files tested by a bare pytest; nothing else."""
        self.number += 1
        folder = self.scratch / f"bare-{self.number}"
        watch = Stopwatch()
        cpu, began = Cpu(), time.perf_counter()
        asyncio.run(self._bare_calls(watch))
        for files in REPAIRED_FILES:
            for name, text in files.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(text)
            with watch.section("tests"):
                bare_pytest(folder)
        took = time.perf_counter() - began
        own, children = cpu.look()
        return _sample(took, own, children, watch)

    async def _bare_calls(self, watch: Stopwatch) -> None:
        import httpx
        import ollama

        from agents.llm.answers import REPLY_HEADER
        from agents.llm.scripted import reply_name

        # A connection per call, as the engine's own client has it: a kept one would wait for delayed acknowledgements.
        transport = httpx.AsyncHTTPTransport(limits=httpx.Limits(max_keepalive_connections=0))
        client = ollama.AsyncClient(self.server, trust_env=False, transport=transport)
        for messages, schema in self.asked:
            client._client.headers[REPLY_HEADER] = reply_name(messages)
            with watch.section("model"):
                chunks = await client.chat("bench", messages, stream=True, format=schema, options={"num_ctx": 32768})
                "".join([chunk.message.content or "" async for chunk in chunks])
        await client.close()  # type: ignore[no-untyped-call]  # the package leaves this method without types

    def in_memory(self) -> Sample:
        """The task graph on real git and sandbox, its rows in memory, its gates a stub."""
        from langgraph.checkpoint.memory import InMemorySaver

        from agents.engine.contracts import NoTaskStore, TaskContext, TaskLimits
        from agents.engine.graph import RECURSION_LIMIT
        from agents.engine.state import start_state
        from agents.gates.base import GateReport
        from agents.memory.base import NoLessons
        from agents.workspace.repository import Repository
        from measure.trials.in_memory import MemoryEventLog
        from sandbox.packages import PackageSupply

        self.number += 1
        watch, folder = Stopwatch(), self.scratch / f"memory-{self.number}"
        repository = Repository(folder / "repo", folder / "trees")
        repository.ensure("Bench")
        self.asked.clear()
        self.walls = Walls()
        cpu, began = Cpu(), time.perf_counter()
        context = TaskContext(
            project="bench",
            run="1",
            house_rules="",
            event_log=watch.watch(MemoryEventLog(), "event_log"),
            task_store=NoTaskStore(),
            limits=TaskLimits(),
            repository=self.watched_repository(repository, watch),
            worktree_name="t",
            provider=lambda persona: self.provider,
            runner=self.watched_runner(watch),
            backend=self.watched_backend(watch),
            supply=PackageSupply(folder / "packages"),
            lessons=NoLessons(),
            gates=watch.timed("gates", lambda root, paths, dispositions: GateReport("pass", (), {}, ())),
        )
        task = {**REPAIRED_TASK, "note": "", "generation": 1, "requirements": []}
        graph = self.watched_graph(watch).compile(checkpointer=watch.watch(InMemorySaver(), "checkpoints"))
        config: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": RECURSION_LIMIT}
        try:
            state = graph.invoke(start_state(task), config, context=context, durability="sync")
        finally:
            context.close()
        took = time.perf_counter() - began
        own, children = cpu.look()
        _must_be_merged(state["verdict"])
        return _sample(took, own, children + self.walls.total(), watch)

    def on_database(self, user: Any) -> Sample:
        """The same task as the job runs it: leases, event_log, checkpoints and findings in SQLite, real gates."""
        from projects.engine import building
        from projects.engine.event_log import DatabaseEventLog
        from projects.engine.saver import DjangoSaver
        from projects.engine.task_store import DatabaseTaskStore
        from projects.jobs import runs as run_jobs
        from projects.models import Task
        from projects.storage.paths import repository_of

        self.number += 1
        run = builds.make_build(user, f"Bench {self.number}", [REPAIRED_TASK], model="scripted:bench")
        run_jobs.schedule_run(run.pk)
        task = Task.objects.get(run=run)
        watch = Stopwatch()

        def task_store(*args: Any, **options: Any) -> Any:
            made = watch.watch(DatabaseTaskStore(*args, **options), "event_log")
            turn = made.merge_turn
            made.merge_turn = lambda held: turn(watch.timed("nodes", held))
            return made

        parts = {
            "DatabaseEventLog": lambda *a, **k: watch.watch(DatabaseEventLog(*a, **k), "event_log"),
            "DatabaseTaskStore": task_store,
            "provider_for": lambda project, persona="": self.provider,
            "runner": lambda: self.watched_runner(watch),
            "open_backend": lambda name: self.watched_backend(watch),
            "repository_of": lambda project, run=None: self.watched_repository(repository_of(project, run), watch),
            "gates": watch.timed("gates", building.gates),
            "compiled_graph": lambda: self.watched_graph(watch).compile(
                checkpointer=watch.watch(DjangoSaver(), "checkpoints")
            ),
        }
        self.asked.clear()
        self.walls = Walls()
        with ExitStack() as stack:
            for name, part in parts.items():
                stack.enter_context(patch.object(building, name, part))
            cpu, began = Cpu(), time.perf_counter()
            run_jobs.run_task(task.pk)
            took = time.perf_counter() - began
            own, children = cpu.look()
        task.refresh_from_db()
        _must_be_merged(task.status)
        sample = _sample(took, own, children + self.walls.total(), watch)
        run.refresh_from_db()
        sample.counts["events"] = run.last_seq
        return sample


def _must_be_merged(outcome: str) -> None:
    if outcome != "merged":
        raise SystemExit(f"the measured task ended {outcome!r}, not merged: nothing was measured")


def _sample(took: float, own: float, children: float, watch: Stopwatch) -> Sample:
    each = watch.samples["model"]
    return Sample(took, own, children, len(each), dict(watch.own), dict(watch.calls), list(each))


def bare_pytest(folder: Path) -> None:
    """pytest in a process of its own, without any wall around it; its result does not matter here."""
    from sandbox.python_env import find_python

    env = find_python()
    python = sys.executable if isinstance(env, str) else str(env.python)
    subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=folder,
        capture_output=True,
        timeout=120,
        check=False,
        env={"PATH": os.defpath, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(folder)},
    )


def main() -> int:
    """Measure, and print the samples as one JSON line."""
    options = json.loads(sys.argv[1])
    builds.set_up()
    from projects.workers import queue

    queue.send = lambda name, args: None  # jobs are called here, by hand, one after the other
    user = builds.make_user()
    bench = Bench(options["server"], Path(options["scratch"]))
    ways = {"memory": bench.in_memory, "database": lambda: bench.on_database(user), "bare": bench.bare}
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in ways}
    try:
        # The first round pays the imports and is not counted; the ways take turns, so that noise meets all of them.
        began = time.monotonic()
        for turn in range(options["n"] + 1):
            for name, way in ways.items():
                sample = way()
                if turn or not options["n"]:
                    found[name].append(vars(sample))
            if turn >= ENOUGH and time.monotonic() - began > options["seconds"]:
                break
    finally:
        bench.close()
    sys.stdout.write(json.dumps({"ways": found, "backend": bench.backend.name}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
