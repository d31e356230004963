"""Many trials at once, each written down as it ends, so that an interrupted session goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from agents.trials.counting import quantile, wilson
from agents.trials.datasets import TrialTask
from agents.trials.play import Outcome

RESULTS = "results.jsonl"


class OtherSession(ValueError):
    """The folder holds the results of other settings; the text says what to do."""


@dataclass
class Session:
    """A folder of results. `settings` is anything JSON that makes two sessions comparable."""

    folder: Path
    settings: dict[str, Any]
    done: dict[str, Outcome] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / RESULTS
        if not path.exists():
            path.write_text(json.dumps({"settings": self.settings, "mark": self.mark}) + "\n", encoding="utf-8")
            return
        known = {each.name for each in fields(Outcome)}
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            try:
                row = json.loads(line)
            except ValueError:
                continue  # the line that was being written when it stopped
            if not number:
                if row.get("mark") != self.mark:
                    raise OtherSession(
                        f"{path} belongs to other settings ({row.get('settings')}): choose another folder, or remove it"
                    )
            elif isinstance(row, dict) and "id" in row:
                self.done[row["id"]] = Outcome(**{name: row[name] for name in known if name in row})

    @property
    def mark(self) -> str:
        """Equal for equal settings."""
        return hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode()).hexdigest()[:16]

    def keep(self, outcome: Outcome) -> None:
        """Write an outcome down."""
        with self._lock:
            self.done[outcome.id] = outcome
            with (self.folder / RESULTS).open("a", encoding="utf-8") as file:
                file.write(json.dumps(outcome.to_json()) + "\n")

    def run(
        self,
        tasks: Sequence[TrialTask],
        one: Callable[[TrialTask], Outcome],
        *,
        parallel: int,
        tell: Callable[[Outcome, int, int], None] = lambda outcome, done, of: None,
    ) -> list[Outcome]:
        """Play what is not yet played; outcomes in the order of the tasks. The first error ends it, what was played stays."""
        todo = [task for task in tasks if task.id not in self.done]

        def work(task: TrialTask) -> None:
            outcome = one(task)
            self.keep(outcome)
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


def report(outcomes: Iterable[Outcome], *, engine_cpu_s: float, seconds: float) -> dict[str, Any]:
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
            "self_correction_rate": list(wilson(repaired, failed_first)),
        },
        "iterations": {
            "mean": sum(rounds) / len(rounds) if rounds else 0.0,
            "p50": quantile(rounds, 0.5), "p95": quantile(rounds, 0.95), "max": max(rounds, default=0),
        },
        "tokens": {part: sum(getattr(one, part) for one in played) for part in ("sent", "uncached", "generated")},
        "calls": sum(one.calls for one in played),
        "sandbox_s": round(sum(one.sandbox_s for one in played), 3),
        "engine_cpu_s": round(engine_cpu_s, 3),
        "seconds": round(seconds, 3),
        "unresolved": [{"id": one.id, "why": one.problem or one.verdict} for one in played if not one.resolved],
    }  # fmt: skip


class Clock:
    """Wall and processor time of this process since it was made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.monotonic(), time.process_time()

    def look(self) -> tuple[float, float]:
        """(wall, own processor time) in seconds."""
        return time.monotonic() - self._wall, time.process_time() - self._cpu
