"""Many issues, one after the other: predictions in SWE-bench's schema, a report, and the events of each issue."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from agents.secrets.redaction import redact
from measure.trials.datasets import BadDataset
from measure.trials.issue_work import IssueOutcome, Workshop, work_on
from measure.trials.issues import Issue, repository_of
from measure.trials.session import OtherSession

Tell = Callable[[IssueOutcome, int, int], None]


class StillBroken(Exception):
    """Two issues in a row met the same failure, which is none of their own; what was done before is kept."""


class Ledger:
    """What was done, in two files that are whole at any moment: what has a prediction is not worked on again."""

    def __init__(self, predictions: Path, report: Path, model: str) -> None:
        """Read what is there. Raises OtherSession for the predictions of another model or in another form."""
        self._predictions, self._report, self._model = predictions, report, model
        self.rows: dict[str, dict[str, Any]] = {}
        try:
            lines = predictions.read_text(encoding="utf-8").splitlines() if predictions.exists() else []
            self._made: dict[str, dict[str, Any]] = {row["instance_id"]: row for row in map(json.loads, lines)}
            others = {row["model_name_or_path"] for row in self._made.values()} - {model}
            if report.exists():
                self.rows = {row["instance_id"]: row for row in json.loads(report.read_text("utf-8"))["rows"]}
        except (ValueError, KeyError, TypeError) as error:
            raise OtherSession(f"{predictions} or {report} is not what an earlier run wrote ({error!r})") from None
        if others:
            raise OtherSession(f"{predictions} holds predictions of {min(others)}: choose another file, or remove it")

    @property
    def done(self) -> frozenset[str]:
        """The ids of what has a prediction."""
        return frozenset(self._made)

    def keep(self, outcome: IssueOutcome, of: int) -> None:
        """Write an outcome down; the prediction last, because it says that all is there."""
        name = outcome.instance_id
        self.rows[name] = outcome.to_json()
        if outcome.patch is not None:
            row = {"instance_id": name, "model_name_or_path": self._model, "model_patch": outcome.patch}
            self._made[name] = row
        _write(self._report, json.dumps(self.figures(of), indent=1) + "\n")
        _write(self._predictions, "".join(json.dumps(row) + "\n" for row in self._made.values()))

    def figures(self, of: int) -> dict[str, Any]:
        """The report: how many issues ended how, what that took, and a row for each."""
        rows = list(self.rows.values())
        counts = Counter(row["status"] for row in rows)
        return {
            "model": self._model,
            "instances": of,
            **{status: counts[status] for status in ("resolved", "unresolved", "empty", "error")},
            "predictions": len(self._made),
            "calls": sum(row["calls"] for row in rows),
            "tokens": {part: sum(row[part] for row in rows) for part in ("sent", "generated")},
            "seconds": round(sum(row["seconds"] for row in rows), 1),
            "rows": rows,
        }


def run_issues(
    issues: Sequence[Issue],
    repositories: Path,
    shop: Workshop,
    ledger: Ledger,
    *,
    trajectories: Path | None = None,
    tell: Tell = lambda outcome, done, of: None,
) -> dict[str, Any]:
    """Work on what has no prediction yet; the report on all. Raises StillBroken."""
    before = ""
    for number, issue in enumerate(issues, 1):
        if issue.id in ledger.done:
            continue
        try:
            outcome = work_on(issue, repository_of(issue, repositories), shop)
        except BadDataset as missing:
            outcome = IssueOutcome(issue.id, issue.repo, cause=str(missing))
        ledger.keep(outcome, len(issues))
        if trajectories is not None:
            _write_events(outcome, trajectories / issue.repo.replace("/", "__") / f"{issue.id}.jsonl")
        tell(outcome, number, len(issues))
        if outcome.broken and outcome.cause == before:
            raise StillBroken(f"Stopped, because two instances in a row failed alike: {before}")
        before = outcome.cause if outcome.broken else ""
    return ledger.figures(len(issues))


def _write_events(outcome: IssueOutcome, path: Path) -> None:
    """An event a line, with what models were asked and said; secrets are removed as in a project's trail."""
    lines = []
    for number, event in enumerate(outcome.events, 1):
        row = {"seq": number, "type": event.type, "role": event.role, "summary": event.summary}
        row |= {"outcome": event.outcome, "payload": event.payload(), "texts": dict(event.blobs)}
        lines.append(json.dumps(redact(row), ensure_ascii=False, default=list))
    _write(path, "".join(f"{line}\n" for line in lines))


def _write(path: Path, text: str) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
