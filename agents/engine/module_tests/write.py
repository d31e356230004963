"""Write tests for one module: ask, run, show failures and gaps, until the target is met or the rounds end."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from difflib import unified_diff
from typing import Any

from agents.checks.compose_services import with_services
from agents.context import files_text
from agents.engine.contracts import OverBudget, TaskContext
from agents.engine.effects import effect
from agents.engine.nodes.common import NO_FILE, one_line, request_files, system_turn
from agents.engine.nodes.mutation import mutation_checked
from agents.engine.nodes.removals import free_name, tests_folder
from agents.engine.nodes.verify import command_ran
from agents.engine.state import TaskState, key_of, start_state, updated
from agents.events.effects import CommandRan, CoverageMeasured, FileChanged, SystemNotice, TestsRan
from agents.languages.registry import language_of_task
from agents.languages.suites import setup_for
from agents.llm.base import LLMError, Message
from agents.mutation.check import check, mutants_of
from agents.personas import TESTER
from agents.prompts.provenance import Source, as_turn, label, render
from agents.repair.feedback import counts_text, summary_text, trace_text
from agents.repair.signature import signature_of
from agents.replies.types import Reply
from sandbox.base import Sandbox
from sandbox.package_index.names import base_packages, plain_name
from sandbox.test_report import Covered, TestReport
from sandbox.test_setup import TestSetup

ROUNDS = 5
TARGET = 80.0
KEY = "TESTS"
AGAIN = 100  # a step of its own for the tests that passed, so that both runs are on record
SHOWN_LINES = 40  # of those not covered, in a prompt
SHOWN_BUGS = 10
_BUG = re.compile(r"^\W*suspected bug\W*:\W*(\w.*)$", re.IGNORECASE | re.MULTILINE)


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
    dropped: int = 0  # tests that failed and were left out
    mutants: int = 0
    noticed: int = 0
    suspected: list[str] = field(default_factory=list)  # what the tester holds to be bugs of the module
    problem: str = ""

    @property
    def met(self) -> bool:
        """True when lines and branches of the module are covered as far as was asked."""
        return self.covered.meets(self.target)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"met": self.met}


def write_tests(ctx: TaskContext, module: str, *, target: float = TARGET, rounds: int = ROUNDS) -> Written:
    """Tests for `module` on top of the newest commit, which stays as it is.

    When the model fails or the budget ends after some tests passed, those are handed out and `problem` says why there
    are no more. Raises NoModule, SuiteFails, and what asking and running raise (LLMError, OverBudget,
    SandboxUnavailable).
    """
    base = ctx.repository.head()
    there = ctx.repository.files(base)
    language = language_of_task({"files": [module]})
    path = language.find_module(module, there)
    source = ctx.repository.read(base, path) or ""
    language.need_code(path, source, there)
    listing = language.listed(ctx.repository.read(base, language.manifest) or "")
    packages = [line for line in listing if plain_name(line) not in base_packages()]
    state = start_state(
        {"key": KEY, "title": path, "requirements": [], "files": [path], "packages": packages, "generation": 1}
    )
    state["base"] = base
    before = _before(state, ctx, path, any(map(language.is_test, there)))
    best = Written(path, target, before, before)
    if best.met:
        return best
    taken = frozenset(there)
    test_file = _test_file(state, ctx, path, taken)
    state["task"]["files"].append(test_file)
    prompt = render(
        "task.module",
        test_file=test_file,
        project=ctx.project,
        key=KEY,
        path=path,
        imported=language.import_name(path, test_file),
        target=f"{target:g}",
        language=language.words_for([path]),
        source=files_text({path: source}, Source.REPOSITORY),
        missing=_missing(source, before),
        others=label("\n".join(filter(language.is_test, there)), Source.REPOSITORY),
    )
    messages: list[Message] = [
        system_turn(TESTER, ctx, state["task"]),
        as_turn("user", prompt, task=KEY, step="module"),
    ]
    for number in range(1, rounds + 1):
        best.rounds = number
        one = updated(state, {"step": number})
        try:
            messages, reply, applied = request_files(
                one,
                ctx,
                TESTER,
                messages,
                step="module" if number == 1 else "module-again",
                accept=lambda name: language.is_test(name) and name not in taken,
                current=state["candidate"]["tests"],
                lacks=lambda reply: "" if _suspected(reply) else NO_FILE,
            )
        except (LLMError, OverBudget) as trouble:
            if not best.files:
                raise
            best.problem = str(trouble)
            break
        if applied.refused:
            best.problem = f"the answers could not be used: {applied.refused[0][1]}"
            break
        _note_suspected(one, ctx, _suspected(reply), best)
        if not applied.files and best.files:
            break  # what is left to say of the module is said
        _record_files(one, ctx, state["candidate"]["tests"], applied.files)
        state = updated(state, {"candidate": {"tests": state["candidate"]["tests"] | applied.files}})
        again = _judge(updated(state, {"step": number}), ctx, path, source, best)
        if best.met:
            break
        messages = [*messages, as_turn("user", again, step="module-again")]
    if best.files:
        _mutants(state, ctx, path, source, best)
    return best


def _test_file(state: TaskState, ctx: TaskContext, path: str, taken: Collection[str]) -> str:
    """A free path for the tests of a module, among those that are there."""
    language, folder = language_of_task(state["task"]), tests_folder(state, ctx)
    name = (
        language.words_for([path]).test_file.rpartition("/")[2].replace("name", language.import_word(path) or "module")
    )
    wanted = name if folder == "." else f"{folder}/{name}"
    return free_name(wanted, taken) if wanted in taken else wanted


def _suspected(reply: Reply) -> list[str]:
    """What the tester holds to be bugs of the module."""
    return [one_line(found) for found in _BUG.findall(reply.thought)][:SHOWN_BUGS]


def _note_suspected(state: TaskState, ctx: TaskContext, suspected: Sequence[str], best: Written) -> None:
    """Put suspected bugs on record, each once."""
    for said in suspected:
        if said not in best.suspected:
            best.suspected.append(said)
            notice = SystemNotice(summary=f"Suspected bug: {said}"[:300], role="tester", text=said)
            key = key_of(state, f"suspected/{len(best.suspected)}")
            ctx.event_log.emit(notice, attempt=state["step"], key=key)


def _before(state: TaskState, ctx: TaskContext, path: str, tested: bool) -> Covered:
    if not tested:
        return Covered()
    report = _run_suite(state, ctx, _stand(state, ctx, {}))
    if not report.ok and report.problem != "no tests were found":
        what = counts_text(asdict(report))
        first = next((f"{one.nodeid}: {one.message}" for one in report.failures), report.problem)
        why = f"{what} {' '.join(first.split())[:300]}".rstrip()
        raise SuiteFails(f"The tests that are there do not pass, so coverage would prove nothing: {why}")
    return report.covered.get(path, Covered())


def _stand(state: TaskState, ctx: TaskContext, tests: Mapping[str, str]) -> Sandbox:
    tree = ctx.repository.worktree(ctx.worktree_name, state["base"])
    tree.write(tests)
    sandbox = ctx.sandbox(state["candidate"]["packages"])
    sandbox.mirror(tree.path)
    return sandbox


def _setup(state: TaskState, ctx: TaskContext) -> TestSetup:
    setup = setup_for(language_of_task(state["task"]), ctx.test_setup)
    return with_services(setup, ctx.repository.open(ctx.worktree_name).path)


def _run_suite(state: TaskState, ctx: TaskContext, sandbox: Sandbox) -> TestReport:
    """Run every test in the sandbox; announced before, recorded after."""
    language = language_of_task(state["task"])
    argv = list(language.test_command)
    shown, number = " ".join(argv), state["step"]
    key = key_of(state, "suite/cmd")
    announcement = CommandRan(summary=f"{shown} …", effect="command", argv=argv)
    with effect(ctx.event_log, announcement, key=key, attempt=number):
        report = language.run_tests(sandbox, [], _setup(state, ctx), measured=["."])
    plain = asdict(report)
    ctx.event_log.emit(command_ran(argv, report, sandbox.backend), attempt=number, key=key)
    tests = TestsRan(
        summary=summary_text(plain),
        outcome="ok" if report.ok else "fail",
        error_signature="" if report.ok else signature_of(plain),
        **{part: plain[part] for part in ("passed", "failed", "errors", "skipped", "failures")},
    )
    ctx.event_log.emit(tests, attempt=number, key=key_of(state, "suite/tests"))
    return report


def _record_files(state: TaskState, ctx: TaskContext, before: Mapping[str, str], files: Mapping[str, str]) -> None:
    """Each test file that an answer changed."""
    for path, text in sorted(files.items()):
        old, new = before.get(path, "").splitlines(), text.splitlines()
        lines = list(unified_diff(old, new, path, path, lineterm=""))
        added = sum(line.startswith("+") and not line.startswith("+++") for line in lines)
        removed = sum(line.startswith("-") and not line.startswith("---") for line in lines)
        changed = FileChanged(
            summary=f"{path} +{added} −{removed}",
            role="tester",
            blobs={"diff": "\n".join(lines)},
            path=path,
            added=added,
            removed=removed,
        )
        ctx.event_log.emit(changed, attempt=state["step"], key=key_of(state, f"diff/{path}"))


def _judge(state: TaskState, ctx: TaskContext, path: str, source: str, best: Written) -> str:
    """Run the suite with these tests, keep those that pass when they cover more, and say what is still to do."""
    tests = state["candidate"]["tests"]
    report = _run_suite(state, ctx, _stand(state, ctx, tests))
    counts = counts_text(asdict(report))
    if report.ok:
        covered = _keep(state, ctx, path, best, tests, report)
        return render(
            "task.module-again",
            counts=counts,
            trace="",
            lines=f"{covered.lines:.0f}",
            branches=f"{covered.branches:.0f}",
            missing=_missing(source, covered),
        )
    failing = [one.nodeid for one in report.failures]
    passing, covered = language_of_task(state["task"]).without_tests(tests, failing), Covered()
    # Those that pass may be enough; the model is asked to correct the others only if they are not.
    if passing and passing != tests:
        pruned = updated(state, {"step": state["step"] + AGAIN})
        again = _run_suite(pruned, ctx, _stand(pruned, ctx, passing))
        if again.ok:
            covered = _keep(pruned, ctx, path, best, passing, again, len(failing))
    best.problem = "" if best.files else f"the tests that were written do not pass: {counts}"
    trace = label(trace_text(asdict(report)), Source.TESTS)
    return render(
        "task.module-again",
        counts=counts,
        trace=trace,
        lines=f"{covered.lines:.0f}",
        branches=f"{covered.branches:.0f}",
        missing=_missing(source, covered),
    )


def _keep(
    state: TaskState,
    ctx: TaskContext,
    path: str,
    best: Written,
    tests: Mapping[str, str],
    report: TestReport,
    dropped: int = 0,
) -> Covered:
    """Note what tests that just passed cover; the better ones are handed out."""
    covered = report.covered.get(path, Covered())
    measured = CoverageMeasured(
        summary=f"{path}: branches {covered.branches:.0f} %, lines {covered.lines:.0f} %",
        branch=round(covered.branches, 2),
        uncovered={path: list(covered.missing)},
    )
    ctx.event_log.emit(measured, attempt=state["step"], key=key_of(state, "coverage"))
    if not best.files or (covered.branches, covered.lines) > (best.covered.branches, best.covered.lines):
        best.files, best.covered, best.problem = dict(tests), covered, ""
        best.passed, best.dropped = report.passed, dropped
    return covered


def _mutants(state: TaskState, ctx: TaskContext, path: str, source: str, best: Written) -> None:
    """High coverage with tests that notice nothing is worth nothing: say how many small mistakes they notice."""
    found = mutants_of({path: source}, {}, seed=path)
    if found:
        sandbox, tests = _stand(state, ctx, best.files), sorted(best.files)
        result = check(language_of_task(state["task"]), sandbox, found, {path: source}, tests, _setup(state, ctx))
        ctx.event_log.emit(mutation_checked(result), attempt=state["step"], key=key_of(state, "mutation"))
        best.mutants, best.noticed = result.ran, result.noticed


def _missing(source: str, covered: Covered) -> str:
    lines = source.splitlines()
    shown = [f"{number}: {lines[number - 1]}" for number in covered.missing[:SHOWN_LINES] if 0 < number <= len(lines)]
    return label("\n".join(shown), Source.REPOSITORY)
