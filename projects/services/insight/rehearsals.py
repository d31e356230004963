"""Rehearsals of past commits: what is to be done, and what came of it, in two files that are whole at any moment.

Read by processes without Django too.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agents.rehearsal.results import CommitResult, autonomy, sentence, totals
from sandbox.locks import owned

REFERENCE = "reference"
_APART = frozenset({"patch", "fail_to_pass", "pass_to_pass"})  # of a result: they are for other harnesses


@dataclass(frozen=True)
class Order:
    """A rehearsal: commits of a repository, the model that builds them ("" for none), and bounds for each of them."""

    git_dir: str
    commits: tuple[str, ...]
    model: str = ""
    minutes: float = 25.0
    tokens: int = 0  # of all together, after which no further commit is begun; 0 for any number


def rehearsals_of(git_dir: Path, home: Path) -> list[tuple[Order, dict[str, Any]]]:
    """The rehearsals of a repository that the data folder `home` keeps, each with its document, the newest first."""
    files = sorted((home / "rehearsals").glob("*/order.json"), key=lambda file: -file.stat().st_mtime)
    pairs = [(folder, folder.order()) for folder in (RehearsalFolder(file.parent) for file in files)]
    return [(order, folder.document()) for folder, order in pairs if order and Path(order.git_dir) == git_dir]


class RehearsalFolder:
    """The folder of one rehearsal: `order.json`, `results.jsonl`, and while it runs the data folder `home`."""

    def __init__(self, path: Path) -> None:
        self.path, self.home, self.work = path, path / "home", path / "work"
        self._order, self._results = path / "order.json", path / "results.jsonl"

    def begin(self, order: Order, *, again: bool = False) -> None:
        """Keep the order of a folder that is taken; with `again`, nothing of what came of its commits before."""
        if again:
            self._results.unlink(missing_ok=True)
        part = self._order.with_name(f".{self._order.name}.{os.getpid()}")
        part.write_text(json.dumps(asdict(order)), encoding="utf-8")
        part.replace(self._order)

    def order(self) -> Order | None:
        """The order, where there is one that can be read."""
        try:
            row = json.loads(self._order.read_text(encoding="utf-8"))
            return Order(**{**row, "commits": tuple(row["commits"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def clear(self) -> None:
        """Give back the disk that commits took."""
        for place in (self.work, self.home):
            shutil.rmtree(place, ignore_errors=True)

    def taken(self) -> AbstractContextManager[bool]:
        """Whether this process may rehearse here; no other may until the block ends, whatever ends this process."""
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        return owned(self.path / "lock")

    def keep(self, result: CommitResult) -> None:
        """Write down what came of a commit."""
        with self._results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result.to_json()) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def results(self) -> list[CommitResult]:
        """What came of the order's commits that are done, in its order; a line torn by a kill is not one."""
        order, found = self.order(), {result.sha: result for result in self._read()}
        return [found[sha] for sha in (order.commits if order else ()) if sha in found]

    def _read(self) -> Iterator[CommitResult]:
        lines = self._results.read_text(encoding="utf-8").splitlines() if self._results.exists() else []
        for line in lines:
            try:
                yield CommitResult.read(json.loads(line))
            except (ValueError, TypeError):
                continue

    def document(self) -> dict[str, Any]:
        """What `aiswe rehearse --json` prints, and the page shows."""
        rows = self.results()
        found = totals(rows)
        commits = [{name: value for name, value in row.to_json().items() if name not in _APART} for row in rows]
        return {"commits": commits, "totals": found, "sentence": sentence(found), "autonomy": autonomy(found)}
