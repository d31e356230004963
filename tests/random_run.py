"""A run to which things happen at random, through the services; the same things for the same seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from agents.engine.waiting import WaitReason
from projects.errors import ProjectsError
from projects.models import Run, Task
from projects.services.planning import runs
from projects.services.work import attempts, findings, sub_tasks, tasks
from projects.services.work.moves import move_run, move_task
from projects.services.work.usage import record_usage
from tests.factories import make_run
from tests.rows import emit

NEEDS = {"T-01": [], "T-02": ["T-01"], "T-03": ["T-01"], "T-04": ["T-02", "T-03"]}


class Actor:
    """Does things to a run at random, as workers and people do; `seen` is what `look` gave after each, by event."""

    def __init__(self, seed: int, look: Callable[[Run], Any]) -> None:
        self.run, self.dice, self.number, self.look = make_run(needs=NEEDS), random.Random(seed), 0, look
        self.seen: dict[int, Any] = {}
        self.note()

    def note(self) -> None:
        """Remember what is to be seen after the newest event."""
        self.seen[self.head()] = self.look(self.run)

    def head(self) -> int:
        """The number of the newest event."""
        return int(Run.objects.values_list("last_seq", flat=True).get(pk=self.run.pk))

    def act(self) -> None:
        """Do one thing, if the state of the run allows it."""
        step = self.dice.choice([*[self.move] * 3, self.attempt, self.call, self.scan, self.wait, self.other])
        task = self.dice.choice(list(Task.objects.filter(run=self.run)))
        try:
            step(task)
        except ProjectsError:
            return  # not possible in this state
        self.note()

    def move(self, task: Task) -> None:
        to = self.dice.choice(Task.MOVES[task.status] or ("ready",))
        wait = self.dice.choice([None, WaitReason.DEPENDENCY, WaitReason.PACKAGE_CONSENT])
        move_task(task, to, wait=wait, reason=self.dice.choice(["", "T-09", "two\nlines " + "x" * 400]))

    def attempt(self, task: Task) -> None:
        open_try = task.attempts.filter(outcome="running").first()
        if open_try is not None:
            outcome = self.dice.choice(["passed", "failed", "rejected"])
            attempts.finish_attempt(task, number=open_try.number, outcome=outcome)
        else:
            strategy = self.dice.choice(["first", "repair", "fresh", "findings"])
            attempts.start_attempt(task, number=task.attempts.count() + 1, strategy=strategy)

    def call(self, task: Task) -> None:
        self.number += 1
        counts = {"prompt_tokens": self.dice.randint(0, 900), "completion_tokens": self.dice.randint(0, 90)}
        reused, millis, key = self.dice.choice([None, 7]), self.dice.randint(0, 5_000), f"call-{self.number}"
        emit(
            self.run.pk,
            "llm.usage",
            summary="a call",
            payload={**counts, "reused_tokens": reused},
            duration_ms=millis,
            key=key,
            task_id=self.dice.choice([task.pk, None]),
        )
        record_usage(
            self.run.pk, key=key, role="coder", model="m", seconds=millis / 1000, reused_tokens=reused or 0, **counts
        )

    def scan(self, task: Task) -> None:
        self.number += 1
        found = [
            {"fingerprint": name * 64, "tool": "bandit", "rule": "B602", "severity": "LOW"}
            for name in self.dice.sample("abc", self.dice.randint(0, 3))
        ]
        findings.record_findings(task, found, attempt=self.number, blocking=set())

    def wait(self, task: Task) -> None:
        self.run.refresh_from_db()
        if self.dice.random() < 0.3:
            to = self.dice.choice([s for s in Run.MOVES[self.run.status] if s not in Run.OVER] or ["running"])
            move_run(self.run, to, wait=self.dice.choice([None, WaitReason.TASKS]), reason=self.dice.choice(["", "so"]))
        else:
            runs.set_wait(self.run, self.dice.choice([None, WaitReason.MODEL]), self.dice.choice(["", "away", "busy"]))

    def other(self, task: Task) -> None:
        choice = self.dice.randint(0, 3)
        if choice == 0 and task.asked_by is None and not Task.objects.filter(asked_by=task).exists():
            sub_tasks._add(task, sub_tasks.SubTaskRequest("a helper", f"{task.key}.py", "it is missing"), "")
        elif choice == 1:
            emit(self.run.pk, "adjudication", summary="the test is wrong", task_id=task.pk)
        elif choice == 2:
            emit(self.run.pk, "cmd", summary="pytest", task_id=task.pk, payload={"to": "merged", "reason": "no"})
        else:
            tasks.ready_tasks(self.run.pk)
