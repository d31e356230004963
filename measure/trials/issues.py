"""Issues of real repositories: rows of SWE-bench, and bugs whose failing tests lie beside the code."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure.trials.datasets import BadDataset

_REPOSITORY = re.compile(r"(?:[A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*")
_ID = re.compile(r"[A-Za-z0-9][\w.-]*")
_COMMIT = re.compile(r"[0-9a-f]{40}")
BUG = "Tests of this repository fail, because the code is wrong. Mend the code; the tests are right:\n"


@dataclass(frozen=True)
class Issue:
    """One issue. `text` is all that a model is told of it; `patch` and `test_patch` are for the judge.

    With `given`, the failing tests are in the repository, and whoever works on it sees them.
    """

    id: str
    repo: str
    base_commit: str
    text: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...] = ()
    patch: str = ""
    test_patch: str = ""
    version: str = ""
    given: bool = False


def load_issues(path: Path, ids: Sequence[str] = ()) -> list[Issue]:
    """The issues of a file in its order, or those with these ids. Raises BadDataset."""
    if path.suffix == ".parquet":
        raise BadDataset(f"{path}: Parquet is not read here; write the rows as JSON or as lines of JSON")
    try:
        text = path.read_text(encoding="utf-8")
        rows = json.loads(text) if path.suffix == ".json" else [json.loads(line) for line in text.splitlines() if line]
    except OSError as error:
        raise BadDataset(f"{path}: {error.strerror or error}") from None
    except ValueError:
        raise BadDataset(f"{path} is neither a list in JSON nor lines of JSON") from None
    if not isinstance(rows, list) or not rows:
        raise BadDataset(f"{path} holds no list of instances")
    issues = [_issue(row, f"{path}, instance {number}") for number, row in enumerate(rows, 1)]
    names = [issue.id for issue in issues]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise BadDataset(f"{path}: two instances are called {twice}")
    if unknown := sorted(set(ids) - set(names)):
        raise BadDataset(f"{path} has no instance {', '.join(unknown)}")
    return [issue for issue in issues if not ids or issue.id in ids]


def _issue(row: Any, where: str) -> Issue:
    if not isinstance(row, dict):
        raise BadDataset(f"{where} is not an object")
    given = "problem_statement" not in row
    repo, commit = str(row.get("repo") or row.get("repository") or ""), str(row.get("base_commit") or "")
    name = str(row.get("instance_id") or row.get("id") or "")
    failing = _ids(row.get("failing_tests") if given else row.get("FAIL_TO_PASS"), where)
    if not (_ID.fullmatch(name) and _REPOSITORY.fullmatch(repo) and _COMMIT.fullmatch(commit) and failing):
        wanted = "id, repository, failing_tests" if given else "instance_id, repo, FAIL_TO_PASS"
        raise BadDataset(f"{where} lacks one of these, or has it in another form: {wanted}, base_commit (40 digits)")
    return Issue(
        id=name,
        repo=repo,
        base_commit=commit,
        text=BUG + "\n".join(f"- {test}" for test in failing) if given else str(row["problem_statement"]),
        fail_to_pass=failing,
        pass_to_pass=_ids(row.get("PASS_TO_PASS"), where),
        patch=str(row.get("patch") or ""),
        test_patch=str(row.get("test_patch") or ""),
        version=str(row.get("version") or ""),
        given=given,
    )


def _ids(value: Any, where: str) -> tuple[str, ...]:
    """Names of tests: a list, or a list written as JSON in a text, as the published dataset has it."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        found = value
    if not isinstance(found, list | None):
        raise BadDataset(f"{where}: its tests are not a list")
    return tuple(map(str, found or []))


def repository_of(issue: Issue, folder: Path) -> Path:
    """The repository of an issue below a folder: owner__name, owner/name or name. Raises BadDataset."""
    names = dict.fromkeys((issue.repo.replace("/", "__"), issue.repo, issue.repo.rpartition("/")[2]))
    for name in names:
        place = folder / name
        if (place / ".git").exists() or (place / "HEAD").is_file():
            return place
    raise BadDataset(f"{folder} has no repository of {issue.repo}: clone it as {' or '.join(names)}")
