"""Kills a worker between the announcement of an effect and its outcome, for real, and lets another one take over.

`python -m tests.abuse.crashing HOME` prints one JSON document: what the trail said after each kill and at the end. Each
worker is a fork of this process, so that the imports are paid for once; it dies by SIGKILL and writes nothing more.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

POINTS = ("model.call", "package.fetch", "files.apply", "command", "git.commit", "git.merge")
# Before or after the effect itself; the outcome is written in neither case.
STORIES = (*((point, "after") for point in POINTS), ("model.call", "before"), ("git.merge", "before"))


def in_fork(work: Callable[..., Any], *args: Any) -> tuple[int, Any]:
    """Call `work` in a fork; the signal that ended it (0: none) and what it returned."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        code = 1
        try:
            os.write(writer, json.dumps(work(*args)).encode())
            code = 0
        except Exception:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(pid, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0, json.loads(said) if said else None


def prepare(folder: str) -> int:
    """An approved plan of one task that wants a package, and its run."""
    from projects.services.planning import plans, runs
    from tests.factories import make_document, make_project, make_user, owner_of
    from tests.projects.jobs_driver import small_plan, small_replies, write_scenario

    name = "-".join(Path(folder).parts[-2:])  # each fork counts its people from one
    project = make_project(name, by=make_user(name), model=write_scenario(Path(folder), small_replies("T-01")))
    document = make_document(project)
    content = json.loads(small_plan("T-01"))
    content["tasks"][0]["packages"] = ["bottle"]
    plan = plans.propose_plan(document, content=content)
    plans.approve_plan(plan, content_hash=plan.content_hash, by=owner_of(project))
    return int(runs.start_build(plan, by=owner_of(project)).pk)


def die() -> None:
    """As the kernel's out-of-memory killer or a power cut would have it."""
    os.kill(os.getpid(), signal.SIGKILL)


def crash_at(point: str, moment: str) -> None:
    """Put the kill beside the effect itself."""
    from agents.engine.nodes import verify
    from agents.languages.python import language
    from agents.llm.runner import ModelRunner
    from agents.workspace.repository import Repository
    from agents.workspace.worktree import Worktree
    from projects.storage.packages import ProjectSupply

    places: dict[str, tuple[Any, str]] = {
        "model.call": (ModelRunner, "complete"),
        "package.fetch": (ProjectSupply, "fetch"),
        "files.apply": (verify, "write_candidate"),
        "command": (language, "run_pytest"),
        "git.commit": (Worktree, "commit"),
        "git.merge": (Repository, "fast_forward"),
    }
    owner, name = places[point]
    real = getattr(owner, name)

    def dying(*args: Any, **options: Any) -> Any:
        if moment == "after":
            real(*args, **options)
        die()

    setattr(owner, name, dying)


def work(point: str = "", moment: str = "") -> None:
    """Do what there is to do, with a sandbox that runs nothing; die at the point, if one is named."""
    from agents.llm.runner import ModelRunner
    from projects.engine import building
    from projects.jobs import upkeep
    from projects.storage.packages import ProjectSupply
    from sandbox.base import PackageSet
    from tests.agents.engine.nodes.support import MemoryLessons, clean_gates
    from tests.faults.stage import QuietBackend, quiet_pytest
    from tests.projects.jobs_driver import Driver

    class Patch:
        setattr = staticmethod(setattr)

    runner, backend, lessons = ModelRunner(attempts=1), QuietBackend(), MemoryLessons()
    building.runner = lambda: runner  # type: ignore[assignment]
    building.open_backend = lambda name: backend  # type: ignore[assignment]
    building.gates = clean_gates
    building.lessons = lambda: lessons  # type: ignore[assignment]
    import agents.languages.python.language as language

    language.run_pytest = quiet_pytest  # type: ignore[assignment]
    folder = Path(os.environ["AISWE_HOME"])
    ProjectSupply.fetch = lambda self, names: PackageSet(folder, tuple(names), {"bottle.whl": "0" * 64})  # type: ignore[method-assign]
    if point:
        crash_at(point, moment)
    driver = Driver(Patch)
    upkeep.sweep()
    driver.work()


def look(run_id: int) -> dict[str, Any]:
    """What trail, task and repository say now."""
    from agents.workspace.git import out
    from projects.models import Event, Run
    from projects.services.audit.chain import verify_chain
    from projects.storage.paths import repository_path

    run = Run.objects.get(pk=run_id)
    report = verify_chain(run_id)
    path = repository_path(run.project)
    log = out(path, "log", "main", "--format=%(trailers:key=Task,valueonly)") if path.exists() else ""
    effects = Event.objects.filter(run=run, payload__phase="intent").order_by("seq")
    return {
        "sound": report.ok,
        "status": run.tasks.get().status,
        "open": [[intent.key.rpartition("/")[2], intent.again] for intent in report.intents],
        "announced": [row.payload["effect"] for row in effects],
        "again": [row.payload["effect"] for row in effects if row.payload.get("again")],
        "merged": log.split().count("T-01"),
    }


def main(home: str) -> None:
    """Every story."""
    os.environ.update(
        AISWE_HOME=home,
        AISWE_LOG_LEVEL="ERROR",
        AISWE_DEMO_TOKENS_PER_S="0",
        DJANGO_SETTINGS_MODULE="aiswe_site.settings",
        AISWE_OLLAMA_URL="http://127.0.0.1:9",
    )
    import django

    django.setup()
    # Imported before the forks; nothing here may open the database or start a thread.
    import tests.faults.stage  # noqa: F401  and with it all that a worker needs

    in_fork(_migrate)
    told = {}
    for point, moment in STORIES:
        _, run_id = in_fork(prepare, str(Path(home) / "scenarios" / point / moment))
        killed, _ = in_fork(work, point, moment)
        _, after = in_fork(look, run_id)
        ended, _ = in_fork(work)
        _, finally_ = in_fork(look, run_id)
        told[f"{point} {moment}"] = {"signal": killed, "killed": after, "ended": ended, "finally": finally_}
    json.dump(told, sys.stdout)


def _migrate() -> None:
    from django.core.management import call_command

    call_command("migrate", interactive=False, verbosity=0)


if __name__ == "__main__":
    main(sys.argv[1])
