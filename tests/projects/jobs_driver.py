"""Runs jobs in the test's own thread: what services enqueue is called by name until nothing is left."""

import json
from collections import deque
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from projects.jobs import chats as chat_jobs
from projects.jobs import runs as run_jobs
from projects.jobs import upkeep
from projects.workers import queue

# The marks of tests that run the jobs with a sandbox and a memory.
REAL_JOBS = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.bubblewrap,
    pytest.mark.usefixtures("jobs_home"),
    pytest.mark.skipif(
        connection.vendor != "sqlite", reason="the engine's flow is the same on every database; run once"
    ),
]
NAMES = {
    "projects.jobs.plan_run": run_jobs.plan_run,
    "projects.jobs.schedule_run": run_jobs.schedule_run,
    "projects.jobs.run_task": run_jobs.run_task,
    "projects.jobs.sweep": upkeep.sweep,
    "projects.jobs.index_project": upkeep.index_project,
    "projects.chat_jobs.chat_turn": chat_jobs.chat_turn,
}


class Driver:
    """A queue in a list."""

    def __init__(self, monkeypatch: Any) -> None:
        self.waiting: deque[tuple[str, tuple[Any, ...]]] = deque()
        monkeypatch.setattr(queue, "send", lambda name, args: self.waiting.append((name, tuple(args))))

    def work(self, most: int = 200) -> None:
        """Do what waits, each job once even when it was asked for twice in a row."""
        self.step(most)
        assert not self.waiting, "the jobs never come to an end"

    def step(self, most: int) -> None:
        """Do at most so many of the jobs that wait."""
        for _ in range(most):
            if not self.waiting:
                return
            name, args = self.waiting.popleft()
            if (name, args) not in self.waiting:
                NAMES[name](*args)


TESTS = "from calc import add\n\n\ndef test_sum():\n    assert add(2, 3) == 5\n"
APPROVED = '{"approved": true, "reasons": ["as asked"]}'


def reply(path: str, text: str) -> str:
    """A reply with one file."""
    return f"Here it is.\n\n```python path={path}\n{text}```\n"


def write_scenario(folder: Path, files: dict[str, str]) -> str:
    """A recording with these replies; returns the project's model setting for it."""
    (folder).mkdir(parents=True, exist_ok=True)
    (folder / "scenario.toml").write_text(
        'name = "small"\ntitle = "Small"\ndescription = "A test"\nmodel = "m"\nnote = "Made up."\n'
    )
    for name, text in files.items():
        path = folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return f"scripted:{folder}"


def planned_task(key: str, **more: Any) -> dict[str, Any]:
    """A task of a plan, as a planner writes it: add(a, b), covering FR-01 and FR-02."""
    asked = {"title": f"Part {key}", "description": "add(a, b)", "kind": "code", "agent": "coder", "minutes": 10}
    covers = {"requirements": ["FR-01", "FR-02"], "needs": [], "expects": "sums", "files": ["calc.py"], "packages": []}
    return {"key": key, **asked, **covers, **more}


def plan_of(*tasks: dict[str, Any]) -> str:
    return json.dumps({"tasks": tasks, "notes": ""})


def small_plan(*keys: str) -> str:
    """A plan that covers FR-01 and FR-02, one task after another."""
    return plan_of(
        *(
            planned_task(key, needs=list(keys[:number][-1:]), files=[f"calc{number or ''}.py"])
            for number, key in enumerate(keys)
        )
    )


def small_replies(*keys: str) -> dict[str, str]:
    """Everything a model says on the way from PRD to merge of the tasks."""
    said = {
        "plan/planner-infer": '{"requirements": []}',
        "plan/planner-plan": "One module does it.",
        "plan/planner-structure": small_plan(*keys),
    }
    for number, key in enumerate(keys):
        module = f"calc{number or ''}"
        said |= {
            f"{key}/tester-tests": reply(f"tests/test_{module}.py", TESTS.replace("calc", module)),
            f"{key}/coder-code": reply(
                f"{module}.py", '"""Sums."""\n\n\ndef add(a: int, b: int) -> int:\n    """a + b."""\n    return a + b\n'
            ),
            f"{key}/reviewer-review": APPROVED,
        }
    return said
