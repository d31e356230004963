"""A rehearsal in SWE-bench's form: instances, and the predictions of whoever built them, for others' harnesses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agents.rehearsal.results import CommitResult
from agents.rehearsal.upstream import PastCommit
from agents.workspace.git import out, raw

# As git gives them to `git apply`: no colours, no external programs, no renames.
_PLAIN = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--binary", "--full-index")


def instance(git_dir: Path, repository: str, change: PastCommit, result: CommitResult) -> dict[str, Any]:
    """A commit as a row of SWE-bench (Jimenez et al., ICLR 2024): its schema, with lists of tests written as JSON."""
    return {
        "repo": repository,
        "instance_id": f"{repository.replace('/', '__')}-{change.sha[:12]}",
        "base_commit": change.parent,
        "patch": patch(git_dir, change.parent, change.sha, change.code),
        "test_patch": patch(git_dir, change.parent, change.sha, change.tests),
        "problem_statement": f"{change.wish}\n\n{change.story}".strip(),
        "hints_text": "",
        "created_at": out(git_dir, "log", "-1", "--format=%cI", change.sha),
        "version": "",
        "FAIL_TO_PASS": json.dumps(result.fail_to_pass),
        "PASS_TO_PASS": json.dumps(result.pass_to_pass),
        "environment_setup_commit": change.parent,
    }


def prediction(name: str, model: str, result: CommitResult) -> dict[str, str]:
    """What was built of an instance, as a row of predictions."""
    return {"instance_id": name, "model_name_or_path": model, "model_patch": result.patch}


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """A row a line, as JSON."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def patch(git_dir: Path, base: str, end: str, paths: Sequence[str] = ()) -> str:
    """What changes from one commit to another, as `git apply` takes it; of some paths, or of all."""
    return raw(git_dir, "diff", *_PLAIN, base, end, "--", *paths).decode("utf-8", "surrogateescape")
