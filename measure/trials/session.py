"""Many trials at once, each written down as it ends, so that an interrupted session goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from agents.rehearsal.results import wilson
from measure.figures import quantile
from measure.trials.datasets import TrialTask
from measure.trials.play import TrialOutcome
from sandbox.base import SandboxUnavailable

RESULTS = "results.jsonl"


class OtherSession(ValueError):
    """The folder holds the results of other settings; the text says what to do."""


@dataclass
class Session:
    """A folder of results. `settings` is anything JSON that makes two sessions comparable; `name` is this one's own."""

    folder: Path
    settings: dict[str, Any]
    done: dict[str, TrialOutcome] = field(default_factory=dict)
    name: str = ""
    _before: str = ""  # what the newest trial failed with that is none of its own
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / RESULTS
        if not path.exists():
            self.name = secrets.token_hex(4)
            head = {"settings": self.settings, "mark": self.mark, "session": self.name}
            path.write_text(json.dumps(head) + "\n", encoding="utf-8")
            return
        head, self.done = read_results(self.folder)
        if head.get("mark") != self.mark:
            raise OtherSession(
                f"{path} belongs to other settings ({head.get('settings')}): choose another folder, or remove it"
            )
        self.name = str(head.get("session") or self.mark)

    @property
    def mark(self) -> str:
        """Equal for equal settings."""
        return hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode()).hexdigest()[:16]

    def keep(self, outcome: TrialOutcome) -> None:
        """Write an outcome down."""
        with self._lock:
            self.done[outcome.id], self._before = outcome, ""
            with (self.folder / RESULTS).open("a", encoding="utf-8") as file:
                file.write(json.dumps(outcome.to_json()) + "\n")

    def run(
        self,
        tasks: Sequence[TrialTask],
        one: Callable[[TrialTask], TrialOutcome],
        *,
        parallel: int,
        tell: Callable[[TrialOutcome, int, int], None] = lambda outcome, done, of: None,
        after: Callable[[TrialOutcome], None] = lambda outcome: None,
    ) -> list[TrialOutcome]:
        """Play what is not yet played; outcomes in the order of the tasks. An error ends it, what was played stays.

        A sandbox that broke once makes an outcome; when the next one breaks in the same way, it ends.

        `after` is called with each outcome that is written down, first of all with those of an earlier call.
        """
        for outcome in list(self.done.values()):
            after(outcome)
        todo = [task for task in tasks if task.id not in self.done]

        def work(task: TrialTask) -> None:
            try:
                outcome = one(task)
            except SandboxUnavailable as broken:
                outcome = self._failed(task, broken)
            else:
                self.keep(outcome)
                after(outcome)
            tell(outcome, len(self.done), len(tasks))

        with ThreadPoolExecutor(max_workers=max(1, parallel), thread_name_prefix="trial") as pool:
            futures = [pool.submit(work, task) for task in todo]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise
        return [self.done[task.id] for task in tasks]

    def _failed(self, task: TrialTask, broken: SandboxUnavailable) -> TrialOutcome:
        """An outcome that is not written down, so the trial is played when the session goes on.

        Raises the error for the second time in a row that it is the same.
        """
        outcome = TrialOutcome(task.id, verdict="error", problem=str(broken))
        with self._lock:
            if self._before == outcome.problem:
                raise broken
            self._before, self.done[task.id] = outcome.problem, outcome
        return outcome


def read_results(folder: Path) -> tuple[dict[str, Any], dict[str, TrialOutcome]]:
    """The head of a folder's results (settings, mark, session) and what was played, by task.

    Raises OtherSession, OSError.
    """
    path = folder / RESULTS
    known = {each.name for each in fields(TrialOutcome)}
    head: dict[str, Any] = {}
    done: dict[str, TrialOutcome] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        try:
            row = json.loads(line)
        except ValueError:
            row = None  # the line that was being written when it stopped
        if not isinstance(row, dict):
            continue
        if number and "id" in row:
            done[row["id"]] = TrialOutcome(**{name: row[name] for name in known if name in row})
        elif not number:
            head = row
    if "mark" not in head:
        raise OtherSession(f"{path} does not begin with the settings of a session: choose another folder, or remove it")
    return head, done


def report(outcomes: Iterable[TrialOutcome], *, engine_cpu_s: float, seconds: float) -> dict[str, Any]:
    """The figures of a session, as `aiswe bench tasks --json` prints them. Intervals are 95 %, after Wilson."""
    played = list(outcomes)
    resolved = [one for one in played if one.resolved]
    first = [one for one in resolved if one.first_try]
    repaired = len(resolved) - len(first)
    failed_first = len(played) - len(first)
    rounds = [one.iterations for one in played]
    return {
        "tasks": len(played),
        "resolved": len(resolved),
        "first_try": len(first),
        "repaired": repaired,
        "self_correction_rate": repaired / failed_first if failed_first else None,
        "intervals": {
            "resolved": list(wilson(len(resolved), len(played))),
            "first_try": list(wilson(len(first), len(played))),
            "self_correction_rate": list(wilson(repaired, failed_first)),
        },
        "iterations": {
            "mean": sum(rounds) / len(rounds) if rounds else 0.0,
            "p50": quantile(rounds, 0.5),
            "p95": quantile(rounds, 0.95),
            "max": max(rounds, default=0),
        },
        "tokens": {part: sum(getattr(one, part) for one in played) for part in ("sent", "uncached", "generated")},
        "calls": sum(one.calls for one in played),
        "lessons": {part: sum(getattr(one, part) for one in played) for part in ("shown", "helped")}
        | {"learned": sum(len(one.learned) for one in played)},
        "sandbox_s": round(sum(one.sandbox_s for one in played), 3),
        "engine_cpu_s": round(engine_cpu_s, 3),
        "seconds": round(seconds, 3),
        "errors": sum(one.verdict == "error" for one in played),
        "unresolved": [{"id": one.id, "why": one.problem or one.verdict} for one in played if not one.resolved],
    }


class Clock:
    """Wall and processor time of this process since it was made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.monotonic(), time.process_time()

    def look(self) -> tuple[float, float]:
        """(wall, own processor time) in seconds."""
        return time.monotonic() - self._wall, time.process_time() - self._cpu
