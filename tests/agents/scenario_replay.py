"""Plays a recorded scenario without the engine: the replies are applied to a tree of files and the tests are run."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from agents.replies.apply import apply_reply
from agents.replies.parse import parse_reply
from agents.replies.types import Reply

REPO = Path(__file__).parents[2]
SCENARIOS = REPO / "agents" / "llm" / "scenarios"
TREE_START = {"README.md": "# A project\n", ".gitignore": "__pycache__/\n"}
TRIES = ("coder-code", "coder-repair", "coder-repair-2", "tester-adjudicate")
Tree = dict[str, str]


def sandbox_python() -> Path:
    """The interpreter whose packages the sandbox has."""
    return Path(os.environ.get("SANDBOX_PYTHON") or REPO / ".venv-sandbox" / "bin" / "python")


@dataclass(frozen=True)
class Outcome:
    """A pytest run: how many tests passed, and the failures as the engine's reports name them."""

    exit_code: int
    passed: int
    failures: list[dict[str, str]]
    output: str
    branch_coverage: float | None = None

    @property
    def ok(self) -> bool:
        """True when something ran and nothing failed."""
        return self.exit_code == 0 and self.passed > 0 and not self.failures


@dataclass
class Stage:
    """One try of a task: the reply that was played, the tree after it and what the tests said."""

    step: str
    tree: Tree
    outcome: Outcome


@dataclass
class Recording:
    """A scenario's plan and replies."""

    folder: Path
    replies: dict[Path, Reply] = field(default_factory=dict)

    @cached_property
    def tasks(self) -> dict[str, dict[str, Any]]:
        """The tasks of the plan by key."""
        plan = json.loads((self.folder / "plan" / "planner-structure.md").read_text(encoding="utf-8"))
        return {task["key"]: task for task in plan["tasks"]}

    def text(self, task: str, step: str) -> str | None:
        """The words of a reply, None when the scenario has no such file."""
        path = self.folder / task / f"{step}.md"
        return path.read_text(encoding="utf-8") if path.is_file() else None

    def play(self, task: str, step: str, tree: Mapping[str, str]) -> Tree | None:
        """The tree after a reply, None when there is no such reply; a refused reply fails the test."""
        text = self.text(task, step)
        if text is None:
            return None
        reply = parse_reply(text)
        assert not reply.problems, f"{task}/{step}: {reply.problems}"
        tester = step.startswith("tester")
        paths = [part.path for part in (*reply.files, *reply.edits)]
        closed = [path for path in paths if path.startswith("tests/") != tester]
        applied = apply_reply(reply, tree, read_only=closed)
        assert not applied.refused, f"{task}/{step}: {applied.refused}"
        assert applied.files, f"{task}/{step} changes nothing"
        return {**tree, **applied.files}

    def needs(self, task: str) -> set[str]:
        """Everything a task stands on, directly or not."""
        found: set[str] = set()
        waiting = list(self.tasks[task]["needs"])
        while waiting:
            key = waiting.pop()
            if key not in found:
                found.add(key)
                waiting += self.tasks[key]["needs"]
        return found

    def tries(self, task: str) -> Iterator[str]:
        """The steps that write files before the gates, in the order the engine asks for them."""
        for step in TRIES:
            # A task that can conflict has its repair for a run with one worker, where nothing conflicts.
            if step.startswith("coder-repair") and self.text(task, "coder-conflict") is not None:
                continue
            if self.text(task, step) is not None:
                yield step

    def written(self, task: str, base: Tree) -> list[tuple[str, Tree]]:
        """The tree after each step of a task on `base`, the tests first; nothing is run."""
        tree = self.play(task, "tester-tests", base)
        assert tree is not None, f"{task} has no tests"
        steps = [("tester-tests", tree)]
        for step in (*self.tries(task), "coder-findings"):
            after = self.play(task, step, steps[-1][1])
            if after is not None:
                steps.append((step, after))
        return steps

    def built(self, order: Iterable[str], *, parallel: Mapping[str, set[str]] | None = None) -> Tree:
        """The merged tree after the tasks of `order`; a task did not see what ran `parallel` to it."""
        tree = dict(TREE_START)
        done: list[str] = []
        for task in order:
            unseen = (parallel or {}).get(task, set()) & set(done)
            base = self.built([key for key in done if key not in unseen], parallel=parallel) if unseen else tree
            own = self.written(task, base)[-1][1]
            changed = {path: text for path, text in own.items() if base.get(path) != text}
            merged = {**tree, **changed}
            if any(tree.get(path) != base.get(path) for path in changed):
                resolved = self.play(task, "coder-conflict", merged)
                assert resolved is not None, f"{task} conflicts, and has no coder-conflict"
                merged = resolved
            tree = merged
            done.append(task)
        return tree


def run_suite(tree: Mapping[str, str], python: Path, *, coverage_of: str = "") -> Outcome:
    """Write a tree to a temporary folder and run its whole suite there."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        work = folder / "work"
        write(tree, work)
        argv = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={folder / 'report.xml'}"]
        if coverage_of:
            argv += [f"--cov={coverage_of}", "--cov-branch", f"--cov-report=json:{folder / 'coverage.json'}"]
        env = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": name,
            "PYTHONPATH": str(work),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        done = subprocess.run(argv, cwd=work, env=env, capture_output=True, text=True, timeout=120, check=False)
        output = done.stdout + done.stderr
        assert (folder / "report.xml").is_file(), output
        cases = list(ET.parse(folder / "report.xml").getroot().iter("testcase"))
        failures = [
            {
                "nodeid": f"{case.get('classname')}::{case.get('name')}",
                "message": found.get("message") or "",
                "traceback": found.text or "",
            }
            for case in cases
            for found in case
            if found.tag in ("failure", "error")
        ]
        percent = None
        if coverage_of:
            percent = json.loads((folder / "coverage.json").read_text())["totals"]["percent_covered"]
        return Outcome(done.returncode, len(cases) - len(failures), failures, output, percent)


def write(tree: Mapping[str, str], folder: Path) -> None:
    """Put a tree on disk."""
    for path, text in tree.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
