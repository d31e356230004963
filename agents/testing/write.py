"""Write tests for one module: ask, run, show what fails or is not covered, until the figure is met or the rounds are used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import PurePosixPath
from typing import Any

from agents.context import files_text
from agents.llm.base import Message
from agents.mutation.check import check, mutants_of
from agents.nodes.common import is_test, talk
from agents.personas import TESTER
from agents.ports import TaskContext
from agents.provenance import Source, as_turn, label, render
from agents.repair.feedback import counts_text, trace_text
from agents.state import TaskState, start_state
from agents.testing.measure import NOTHING, Covered, coverage_of
from sandbox.pytest_run import run_pytest

ROUNDS = 5
TARGET = 80.0
KEY = "TESTS"
SECONDS = 120.0
SHOWN_LINES = 40  # of those not covered, in a prompt


class NoModule(ValueError):
    """There is no such module; the text says what there is."""


class SuiteFails(ValueError):
    """The tests that are there already fail: coverage would prove nothing."""


@dataclass
class Written:
    """What came of it. `files` are new test files that pass; empty when nothing had to, or could, be written."""

    module: str
    target: float
    before: Covered
    covered: Covered
    files: dict[str, str] = field(default_factory=dict)
    rounds: int = 0
    passed: int = 0
    mutants: int = 0
    noticed: int = 0
    problem: str = ""

    @property
    def met(self) -> bool:
        """True when lines and branches of the module are covered as far as was asked."""
        return self.covered.meets(self.target)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"met": self.met}


def path_of(module: str, files: list[str]) -> str:
    """The file of a module named by path or by dots; raises NoModule."""
    dotted = module.removesuffix(".py").replace(".", "/") if "/" not in module else module.removesuffix(".py")
    for path in (f"{dotted}.py", f"src/{dotted}.py", f"{dotted}/__init__.py"):
        if path in files and not is_test(path):
            return path
    known = ", ".join(path for path in files if path.endswith(".py") and not is_test(path))
    raise NoModule(f"There is no module {module!r} in this repository; there are: {known or 'none'}")


def write_tests(ctx: TaskContext, module: str, *, target: float = TARGET, rounds: int = ROUNDS) -> Written:
    """Tests for `module` on top of the newest commit, which stays as it is.

    Raises NoModule, SuiteFails, and what asking and running raise (LLMError, OverBudget, SandboxUnavailable).
    """
    base = ctx.repository.head()
    there = ctx.repository.files(base)
    path = path_of(module, there)
    source = ctx.repository.read(base, path) or ""
    before = _before(ctx, base, path, any(map(is_test, there)))
    best = Written(path, target, before, before)
    if best.met:
        return best
    state = start_state({"key": KEY, "title": path, "requirements": [], "files": [path], "generation": 1}) | {
        "base": base
    }
    prompt = render(
        "task.module", project=ctx.project, key=KEY, path=path, imported=_dotted(path), target=f"{target:g}",
        source=files_text({path: source}, Source.REPOSITORY), missing=_missing(source, before),
        others=label("\n".join(filter(is_test, there)), Source.REPOSITORY),
    )  # fmt: skip
    messages: list[Message] = [
        as_turn("system", render("system.tester", house_rules=ctx.house_rules)), as_turn("user", prompt),
    ]  # fmt: skip
    taken = frozenset(there)
    for number in range(1, rounds + 1):
        best.rounds = number
        one: TaskState = {**state, "step": number}
        messages, _, applied = talk(
            one, ctx, TESTER, messages, step="module" if number == 1 else "module-again",
            accept=lambda name: is_test(name) and name not in taken, current=state["tests"],
        )  # fmt: skip
        if applied.refused:
            best.problem = f"the answers could not be used: {applied.refused[0][1]}"
            break
        state["tests"] = state["tests"] | applied.files
        again = _judge(ctx, base, path, source, state["tests"], best)
        if best.met:
            break
        messages = [*messages, as_turn("user", again)]
    if best.files:
        _mutants(ctx, base, path, source, best)
    return best


def _before(ctx: TaskContext, base: str, path: str, tested: bool) -> Covered:
    if not tested:
        return NOTHING
    sandbox = _stand(ctx, base, {})
    report = run_pytest(sandbox, (), seconds=SECONDS, coverage_of=None)
    if not report.ok and report.problem != "no tests were found":
        what = counts_text(asdict(report))
        raise SuiteFails(f"The tests that are there do not pass ({what} {report.problem}): repair them first.")
    return coverage_of(sandbox, path)


def _stand(ctx: TaskContext, base: str, tests: Mapping[str, str]) -> Any:
    tree = ctx.repository.worktree(ctx.worktree_name, base)
    tree.write(tests)
    sandbox = ctx.sandbox(())
    sandbox.mirror(tree.path)
    return sandbox


def _judge(ctx: TaskContext, base: str, path: str, source: str, tests: Mapping[str, str], best: Written) -> str:
    """Run the suite with these tests, keep them when they pass and cover more, and say what is still to do."""
    sandbox = _stand(ctx, base, tests)
    report = run_pytest(sandbox, (), seconds=SECONDS, coverage_of=None)
    if not report.ok:
        best.problem = "" if best.files else f"the tests that were written do not pass: {counts_text(asdict(report))}"
        trace = label(trace_text(asdict(report)), Source.TESTS)
        return render(
            "task.module-again", counts=counts_text(asdict(report)), trace=trace, lines="", branches="", missing=""
        )
    covered = coverage_of(sandbox, path)
    if not best.files or (covered.branches, covered.lines) > (best.covered.branches, best.covered.lines):
        best.files, best.covered, best.passed, best.problem = dict(tests), covered, report.passed, ""
    return render(
        "task.module-again", counts=counts_text(asdict(report)), trace="", lines=f"{covered.lines:.0f}",
        branches=f"{covered.branches:.0f}", missing=_missing(source, covered),
    )  # fmt: skip


def _mutants(ctx: TaskContext, base: str, path: str, source: str, best: Written) -> None:
    """High coverage with tests that notice nothing is worth nothing: say how many small mistakes they notice."""
    found = mutants_of({path: source}, {}, seed=path)
    if found:
        result = check(_stand(ctx, base, best.files), found, {path: source}, sorted(best.files))
        best.mutants, best.noticed = result.ran, result.noticed


def _missing(source: str, covered: Covered) -> str:
    lines = source.splitlines()
    shown = [f"{number}: {lines[number - 1]}" for number in covered.missing[:SHOWN_LINES] if 0 < number <= len(lines)]
    return label("\n".join(shown), Source.REPOSITORY)


def _dotted(path: str) -> str:
    parts = PurePosixPath(path.removeprefix("src/")).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
