"""The gold patch of an issue as a model: it shows that an issue can be worked on and judged here at all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from agents.engine.nodes.common import is_long
from agents.languages.registry import language_of
from agents.llm.base import Message
from agents.planning.model import PlanTask
from agents.prompts.render import quoted
from agents.workspace.git import git
from agents.workspace.repository import Repository
from measure.trials.datasets import TrialTask
from measure.trials.issue_judge import CannotWork
from measure.trials.issues import Issue
from measure.trials.simulated import SimulatedProvider, Weakness, _Answer


class ReferenceModel(SimulatedProvider):
    """Plans one task, writes the tests of the test patch and the files of the patch, and approves of both."""

    _asked_by = ("", "")  # persona and step of the newest question

    def _choose(self, messages: Sequence[Message]) -> _Answer:
        label: dict[str, Any] = {**messages[0].get("label", {}), **messages[-1].get("label", {})}
        self._asked_by = (str(label.get("persona", "")), str(label.get("step", "")))
        return _Answer(None)

    def _write(self, answer: _Answer, repairing: bool) -> str:
        persona, step = self._asked_by
        if step == "structure":
            task = PlanTask("T-01", self.task.title, requirements=(self.task.id,), files=tuple(self.task.reference))
            return json.dumps({"tasks": [task.to_json()], "notes": ""})
        if persona == "planner":
            return "One task: the change is small."
        if persona == "reviewer":
            return json.dumps({"approved": True, "reasons": []})
        if persona == "tester":
            return "\n\n".join(quoted(text, f"python path={path}") for path, text in self.task.tests.items())
        # As it is asked to: of a long file what changes.
        long = any(is_long(text) for text in self.task.reference.values())
        return quoted(self.task.start["patch"], "diff") if long and not repairing else super()._write(answer, repairing)


def reference_model(issue: Issue, repository: Repository) -> ReferenceModel:
    """A model that knows the answer to an issue. Raises CannotWork for one without a patch, and GitError."""
    if not issue.patch:
        raise CannotWork("It has no patch, so there is no reference model for it.")
    tree = repository.worktree("reference", issue.base_commit)
    for patch in filter(None, (issue.patch, issue.test_patch)):
        git(tree.path, "apply", "--whitespace=nowarn", "-", text=patch)
    there = {change.path: tree.path / change.path for change in tree.changes(issue.base_commit)}
    texts = {path: file.read_text(errors="replace") for path, file in there.items() if file.is_file()}
    known = set(repository.files(issue.base_commit))
    repository.remove("reference")
    tests, code = dict[str, str](), dict[str, str]()
    for path, text in texts.items():
        spoken, place = language_of(path), PurePosixPath(path)
        if spoken is None or not spoken.is_test(path):
            code[path] = text
        elif path not in known:
            tests[path] = text
        else:  # tests that are there stay as they are: the new ones lie beside them
            old = repository.read(issue.base_commit, path) or ""
            tests[str(place.with_stem(f"{place.stem}_reference"))] = spoken.new_part(old, text, helpers=True) or text
    title = " ".join(issue.text.split())[:80]
    return ReferenceModel(
        TrialTask(issue.id, issue.text, tests, code, {"patch": issue.patch}, title),
        (),
        Weakness(),
        name="reference",
        model="reference",
    )
