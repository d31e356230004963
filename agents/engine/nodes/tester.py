"""The tester: tests before code, and a verdict when a test itself is in doubt."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from agents.checks.compose_services import with_services
from agents.context.map import repository_map
from agents.context.parts import TEST_FILES_NOW
from agents.engine.contracts import OverBudget, Runtime, TaskContext
from agents.engine.effects import effect
from agents.engine.nodes.checked import words_on_checks
from agents.engine.nodes.common import (
    add_messages,
    near_the_limit,
    one_line,
    own_files,
    request_files,
)
from agents.engine.nodes.missing import LACKS, add_answer, asked, missing
from agents.engine.nodes.opening import opening
from agents.engine.nodes.rebuilt import decided_by_build
from agents.engine.nodes.removals import tests_of
from agents.engine.nodes.shown_tests import unseen_tests
from agents.engine.nodes.verify import command_ran, write_candidate
from agents.engine.state import History, TaskState, key_of, updated
from agents.engine.verdict import verdict_of
from agents.events.effects import CommandRan, SystemNotice
from agents.events.reasoning import Adjudicated
from agents.languages.registry import grammar_of, language_of, language_of_task
from agents.languages.suites import run_suites
from agents.languages.symbols import Symbols, read_symbols
from agents.llm.base import Message
from agents.personas import TESTER
from agents.prompts.provenance import Material, Source, as_turn, joined, label, render
from agents.repair.feedback import trace_text
from agents.replies.apply import Applied
from agents.replies.types import Reply


def write_tests(state: TaskState, runtime: Runtime[TaskContext]) -> TaskState:
    """Have the tests written from the requirement, unless the task brings its own; code is judged by nothing else."""
    ctx = runtime.context
    is_test = tests_of(state, ctx)
    given = state["task"].get("tests_given")
    if given:
        return {"verdict": "", "candidate": {"tests": dict(given)}}
    if said := words_on_checks(state):
        notice = SystemNotice(
            summary=f"No tests are written. {'. '.join(said)}"[:300], role="tester", text="\n".join(said)
        )
        ctx.event_log.emit(notice, key=key_of(state, "checked"))
        return {"verdict": ""}
    if check := decided_by_build(state):
        why = f"No tests are written: {check} failed before and decides"
        ctx.event_log.emit(SystemNotice(summary=why[:300], role="tester", text=why), key=key_of(state, "decided"))
        return {"verdict": ""}
    messages, _ = add_messages(state, ctx, opening(state, ctx, TESTER, "tests"))
    messages, lacks = add_answer(state, ctx, messages), partial(missing, state, ctx)
    messages, reply, applied = request_files(
        state, ctx, TESTER, messages, step="tests", accept=is_test, current={}, dispute=lacks
    )
    if applied.refused and applied.refused[0][0] == LACKS:
        return asked(reply, "write_tests", state["counters"]["iteration"] + 1)
    changed: TaskState = {
        "verdict": "",
        "conversation": {"tester": messages},
        "counters": {"iteration": state["counters"]["iteration"] + 1},
    }
    if not applied.files:
        reason = applied.refused[0][1] if applied.refused else "the answer changed no test"
        return {**changed, "verdict": "escalate", "escalation": f"No usable tests: {reason}"}
    return _proven(state, ctx, {**changed, "candidate": {"tests": applied.files}})


def _proven(state: TaskState, ctx: TaskContext, changed: TaskState) -> TaskState:
    """Tests that all pass before there is any code do not show the change: the tester is told once, then the reviewer.

    Where code changes alone: without a file of the task in the base there is nothing that they could pass on.
    """
    if state["task"].get("kind") != "code" or not any(map(language_of, own_files(state, ctx))):
        return changed
    written = updated(state, changed)
    if not _pass_on_base(written, ctx, "base"):
        return changed
    again, _, applied = _again(written, ctx, "unproven", partial(render, "task.unproven"))
    again["candidate"] = {"tests": written["candidate"]["tests"] | applied.files}
    proven = applied.files and not _pass_on_base(updated(written, again), ctx, "base-again")
    return updated(updated(changed, again), {"candidate": {"unproven": not proven}})


def _pass_on_base(state: TaskState, ctx: TaskContext, name: str) -> bool:
    """Whether all tests of the candidate pass without its code."""
    tests, language = state["candidate"]["tests"], language_of_task(state["task"])
    tree = write_candidate(state, ctx)
    sandbox = ctx.at_hand()  # a package that only this task brings is no reason for a test to pass
    sandbox.mirror(tree.path)
    argv = [*language.test_command, *sorted(tests)]
    announcement = CommandRan(summary=f"{' '.join(argv)} on the base …", role="tester", effect="command", argv=argv)
    with effect(ctx.event_log, announcement, key=key_of(state, name)):
        setup = with_services(ctx.test_setup, tree.path)
        found = run_suites(language, sandbox, [], sorted(tests), setup, first=True)
    ctx.event_log.emit(command_ran(argv, found, sandbox.backend), key=key_of(state, name))
    return verdict_of(found, ctx.test_setup, tests, {}, language).ok


def strengthen(state: TaskState, runtime: Runtime[TaskContext]) -> TaskState:
    """The tests let every small mistake through, or the reviewer misses some: once, the tester is told which."""
    refused = state["history"]["refused"] if state["verdict"] == "missing_tests" else {}
    wishes = "\n".join(refused.get("reasons", ()))
    survivors = label("\n".join(state["candidate"]["mutation"].get("survivors", ())), Source.MODEL, "diff")
    prompt = partial(render, "task.mutants", survivors=survivors, wishes=label(wishes, Source.MODEL))
    changed, reply, applied = _again(state, runtime.context, "strengthen", prompt)
    if wishes and not applied.files:
        answered = refused | {"answer": one_line(reply.thought)}
        return updated(changed, {"verdict": "kept", "history": {"refused": answered}})
    # Whatever came back is run: with no new test the suite passes as it did, and its weakness stays on record.
    why = one_line(f"the reviewer misses tests: {wishes}") if wishes else "small mistakes in the code were not noticed."
    return updated(changed, _corrected(state, applied, why) | {"strategy": "strengthened", "verdict": ""})


def adjudicate(state: TaskState, runtime: Runtime[TaskContext]) -> TaskState:
    """The same failure twice, or a coder or reviewer who blames the test: the tester argues from the requirement."""
    ctx, candidate, history = runtime.context, state["candidate"], state["history"]
    reviewed = state["verdict"] == "wrong_tests"
    trace = "" if reviewed else label(trace_text(candidate["report"]), Source.TESTS)
    doubt = [candidate["diagnosis"].get(part, "") for part in ("cause", "evidence", "hypothesis")]
    said_by = {"disputed": doubt, "wrong_tests": history["refused"].get("reasons", [])}
    disputed = label("\n".join(filter(None, said_by.get(state["verdict"], []))), Source.MODEL)
    code = "" if reviewed else _code_text(state)
    prompt = partial(render, "task.adjudicate", trace=trace, code=code, disputed=disputed, reviewed=reviewed)
    try:
        changed, reply, applied = _again(state, ctx, "adjudicate", prompt, _lacks_verdict)
    except OverBudget:
        # Without an argument the test stands; the approach that would come next is where the task ends.
        return {"verdict": "kept" if reviewed else "code"}
    # A correction says by itself that the test is wrong.
    corrected = any(text != candidate["tests"].get(path) for path, text in applied.files.items())
    choice = reply.verdict.choice if reply.verdict is not None else "test" if corrected else ""
    wrong = "test" if choice == "test" and applied.files else "code" if choice == "code" and not reviewed else "neither"
    signature = "" if reviewed else history["signatures"][-1]
    keys = [requirement["key"] for requirement in state["task"].get("requirements", [])]
    reason = reply.verdict.reason if reply.verdict is not None else one_line(reply.thought)
    reason = reason or "no reason was given"
    without = "it brought no usable correction of the test that it holds to be wrong: "
    stands = f"The tests stand: {'' if choice != 'test' else without}{reason}"
    event = Adjudicated(
        summary=stands if wrong == "neither" else f"The {wrong} is wrong: {reason}",
        error_signature=signature,
        verdict=wrong,
        reason=reason,
        requirement=", ".join(keys),
    )
    ctx.event_log.emit(event, attempt=state["counters"]["attempt"], key=key_of(state, "adjudication"))
    near_the_limit(state, ctx)
    argued = one_line(reason) if choice in ("code", "neither") else ""
    judged: TaskState = {
        "verdict": "test" if wrong == "test" else "code",
        "history": {"adjudicated": [*history["adjudicated"], *filter(None, [signature])], "argued": argued},
    }
    if reviewed and wrong != "test":
        judged = {"verdict": "kept", "history": {"refused": history["refused"] | {"answer": argued}}}
    changed = updated(changed, judged)
    if wrong == "test":
        return updated(changed, _corrected(state, applied, one_line(reason)) | {"strategy": "adjudicated"})
    return changed


def _lacks_verdict(reply: Reply) -> str:
    """Why an adjudication without files cannot be used; "" when it can."""
    if reply.verdict is None or reply.verdict.choice not in ("test", "code", "neither"):
        return 'there is no line "Verdict:" with one of the answers in it'
    return "a wrong test needs its correction, in a fence with the path" if reply.verdict.choice == "test" else ""


def _code_text(state: TaskState) -> Material:
    """Signatures of the code that the tests mention: a test must fit them, and its values must not."""
    words, shown = set(re.findall(r"\w+", "\n".join(state["candidate"]["tests"].values()))), dict[str, Symbols]()
    for path, text in state["candidate"]["files"].items():
        if grammar := grammar_of(path):
            found = read_symbols(text.encode(), grammar).definitions
            shown[path] = Symbols(tuple(one for one in found if {one.name, one.inside} & words))
    return label(repository_map(shown), Source.MODEL)


def _again(
    state: TaskState,
    ctx: TaskContext,
    step: str,
    prompt: Callable[..., Material],
    lacks: Callable[[Reply], str] = lambda reply: "",
) -> tuple[TaskState, Reply, Applied]:
    """A further turn of the tester's conversation, which may leave the tests as they are."""
    said = state["conversation"]["tester"]
    unseen = unseen_tests(state, ctx, said)  # what was merged is not what was sent
    asked = prompt(tests=joined([TEST_FILES_NOW, unseen], "\n") if unseen else "")
    messages: list[Message] = [*said, as_turn("user", asked, step=step)]
    messages, reply, applied = request_files(
        state,
        ctx,
        TESTER,
        messages,
        step=step,
        accept=tests_of(state, ctx),
        current=state["candidate"]["tests"],
        lacks=lacks,
    )
    changed: TaskState = {
        "conversation": {"tester": messages},
        "counters": {"iteration": state["counters"]["iteration"] + 1},
    }
    return changed, reply, applied


def _corrected(state: TaskState, applied: Applied, why: str) -> TaskState:
    """Other tests for the same code: the next run is its first by them, and what it was shown is judged already."""
    tests = state["candidate"]["tests"] | applied.files
    history: History = {"signatures": [], "corrected": why}
    return {"candidate": {"tests": tests, "diagnosis": {}}, "history": history, "memory": {"shown": []}}
