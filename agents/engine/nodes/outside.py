"""The coder's part done by another agent: it works on a copy, and what it changed is a candidate like any other.

Its candidate goes through the same tests, gates, review and merge. What it may not change is put back before.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from agents.checks.check import replaces_tests
from agents.engine.ask import check_budget
from agents.engine.contracts import OverBudget, Stopped, TaskContext
from agents.engine.effects import effect
from agents.engine.nodes.common import (
    add_messages,
    crowded,
    lessons_text,
    near_the_limit,
    one_line,
    task_facts,
)
from agents.engine.nodes.explain_fix import previous_failure
from agents.engine.nodes.firewall_check import screen
from agents.engine.nodes.lessons import ids
from agents.engine.nodes.opening import about_of, container_files, note_of, servers_of
from agents.engine.nodes.outside_desk import EngineDesk
from agents.engine.nodes.removals import base_files, tests_of
from agents.engine.nodes.shown_tests import add_tests, tests_text
from agents.engine.nodes.until_usable import ASK_AGAIN, UNUSABLE_CHARS, unusable
from agents.engine.nodes.verify import write_candidate
from agents.engine.reply_text import first_sentence
from agents.engine.state import TaskState, key_of, updated
from agents.engine.waiting import Waiting, WaitReason
from agents.events.effects import EffectAnnounced, ErrorRaised, SystemNotice
from agents.events.reasoning import ModelCalled, Thought
from agents.firewall.base import FirewallContext
from agents.firewall.judge import judge
from agents.firewall.trifecta import without_secrets
from agents.languages.registry import language_of, language_of_task
from agents.llm.base import Message
from agents.outside.copies import AgentWork, work_of
from agents.outside.engaged import Engaged
from agents.outside.policy import Reach, Ruling
from agents.outside.session import WORKSPACE, AgentGone, AgentSession, AgentTurn, Interrupted
from agents.personas import CODER
from agents.prompts.provenance import Material, Source, as_turn, joined, label, render, sources_in, untrusted
from agents.repair.feedback import clip, counts_text, trace_text
from agents.repair.known import where_text
from agents.replies.apply import Applied
from agents.secrets.redaction import redact
from agents.workspace.store import LINK, SUBMODULE
from sandbox.base import PackageSet, SandboxError
from sandbox.paths import regular_files

TRIES = 2  # of a turn in which the agent died
SHOWN_WORDS = 4_000


def by_agent(state: TaskState, ctx: TaskContext, engaged: Engaged, *, strategy: str) -> TaskState:
    """Prompt the agent and make what it changed the candidate of the next attempt.

    When a limit is reached, or the agent gives no result, nothing is charged and the change has no candidate. Raises
    OverBudget, Stopped, and Waiting while a person has not answered.
    """
    used, history = state["counters"], state["history"]
    if strategy != "first" and used["iteration"] >= ctx.limits.max_iterations:
        return {"verdict": "escalate", "escalation": ""}
    if not engaged.agent.command:
        return {"verdict": "escalate", "escalation": f"{engaged.agent.name} cannot be asked: {engaged.agent.note}"}
    if refused := _not_sent(state, ctx, engaged):
        return {"verdict": "escalate", "escalation": refused}
    begun: TaskState = {}
    if strategy == "fresh":
        begun = {"candidate": {"files": {}}, "counters": {"approach": used["approach"] + 1}}
    state = updated(state, begun)
    try:
        messages, read, work, version = _work(state, ctx, engaged, strategy)
    except OverBudget as end:
        if not history["best"]:
            raise
        return {"verdict": "escalate", "escalation": str(end)}
    except (AgentGone, SandboxError) as gone:
        return {"verdict": "escalate", "escalation": _no_result(state, ctx, engaged, gone)}
    near_the_limit(state, ctx)
    kept = {path: text for path, text in state["candidate"]["files"].items() if path not in work.gone}
    changed: TaskState = {
        "strategy": "rejected" if strategy == "review" else strategy,
        "verdict": "",
        "candidate": {
            "diagnosis": {},
            "unfounded": False,
            "files": {**kept, **work.files},
            "author": f"{engaged.agent.name} ({version})" if version else engaged.agent.name,
        },
        "conversation": {"coder": messages, "messages_read": read},
        "history": {"previous_failure": {}},
        "memory": {"shown": ids(state["memory"]["lessons"]) if strategy in ("first", "fresh") else []},
        "counters": {"iteration": used["iteration"] + 1},
    }
    if strategy in ("repair", "fresh"):
        here = 0 if strategy == "fresh" else used["repairs_here"] + 1
        changed["counters"] |= {"repairs": used["repairs"] + 1, "repairs_here": here}
        changed["history"] = {"previous_failure": previous_failure(state)}
    if strategy == "fresh":
        changed["history"] |= {"signatures": [], "exhausted": False}
    if not changed["candidate"]["files"]:
        reasons = " ".join(dict.fromkeys(one.reason for one in work.refused.values())) or "it changed no file"
        escalation = f"{engaged.agent.name} brought nothing that can be used: {reasons[:500]}"
        return updated(begun, {**changed, "verdict": "escalate", "escalation": escalation})
    if strategy == "conflict":
        left = [
            path for path in state["candidate"]["conflict"] if "<<<<<<<" in changed["candidate"]["files"].get(path, "")
        ]
        if left:
            unresolved = f"The merge conflict in {', '.join(left)} was not resolved."
            return {**changed, "verdict": "escalate", "escalation": unresolved}
        changed["candidate"]["conflict"] = {}
    return updated(begun, changed)


def _not_sent(state: TaskState, ctx: TaskContext, engaged: Engaged) -> str:
    """What a person refused, once a run: that code leaves this machine. Raises Waiting while nobody has answered."""
    agent, hosts = engaged.agent, ", ".join(engaged.agent.outside_hosts)
    if not hosts:
        return ""
    answer = ctx.task_store.ask(
        kind="gate",
        subject=f"agent:{ctx.run}:{agent.name}:{hosts}"[:190],
        title=f"May {agent.name} send this project's code to {hosts}?"[:200],
        why=f"{state['task']['key']} is given to {agent.name}, which works through these hosts. {agent.note}".strip(),
        on_yes="The agent may reach these hosts for the rest of this run, and nothing else.",
        on_no="Its tasks are escalated; choose another agent or the product's own coder for them.",
        payload={"agent": agent.name, "hosts": list(agent.outside_hosts), "reasons": [agent.note]},
    )
    if answer == "pending":
        raise Waiting(WaitReason.EFFECT_CONSENT, f"{agent.name} sends code to {hosts}")
    if answer == "approved":
        said = f"Data leaves this machine: {agent.name} may send code to {hosts}"
        notice = SystemNotice(summary=said, text=said, details={"servers": list(agent.outside_hosts)})
        ctx.event_log.emit(notice, key=f"agent/{agent.name}/outside")
        return ""
    return f"A person refused that {agent.name} sends code to {hosts}."


def _no_result(state: TaskState, ctx: TaskContext, engaged: Engaged, gone: Exception) -> str:
    """Put on the record that the agent gave no result; the sentence. No repair is charged for it."""
    engaged.close()
    trouble = f"cannot go on in its sandbox: {gone}" if isinstance(gone, SandboxError) else str(gone)
    words = f"{engaged.agent.name} {trouble}. Nothing of this turn is used."
    error = ErrorRaised(
        summary=words[:300], role="coder", message=words[:2000], tool="agent", next_steps=["retry", "escalate"]
    )
    key = f"{key_of(state, 'agent')}/{time.time_ns()}"
    ctx.event_log.emit(error, attempt=state["counters"]["attempt"], key=key)
    return words[:1000]


def _work(
    state: TaskState, ctx: TaskContext, engaged: Engaged, strategy: str
) -> tuple[list[Message], int, AgentWork, str]:
    """The conversation with this turn, how many of people's words are read, what is taken, and the agent's version."""
    reach, read, died = _reach(state, ctx), 0, 0
    refused, spent = list[str](), list[Message]()
    for turn in range(ASK_AGAIN + 1):
        tree = write_candidate(state, ctx)
        before = {path: file.read_bytes() for path, file, _ in regular_files(tree.path)}
        while True:
            check_budget(ctx.event_log, ctx.limits)
            try:
                anew = strategy in ("first", "fresh") and not turn
                session = engaged.session(
                    tree.path, ctx.event_log.stopped, anew=anew, packages=lambda: _packages(state, ctx)
                )
                messages, read = _prompt(state, ctx, session, strategy, refused)
                said, desk, work = _turn(state, ctx, session, reach, messages, before)
                break
            except Interrupted as stop:
                raise Stopped(str(stop)) from stop
            except AgentGone as gone:
                died += 1
                if not gone.died or died >= TRIES:
                    raise
                notice = f"{engaged.agent.name} {gone}; it is begun once more"
                ctx.event_log.emit(SystemNotice(summary=notice[:300], role="coder", text=notice))
        _screened(state, ctx, engaged, work, desk, turn)
        spent = [*messages, as_turn("assistant", clip(said, UNUSABLE_CHARS))]
        refused = [one_line(reason) for reason in dict.fromkeys(desk.refused)][:12]
        if work.files or work.gone or not desk.refused:
            break
        unusable(state, ctx, CODER, [f"nothing of it is taken: {refused[0]}"], f"agent/{session.name}/{turn}")
    return spent, read, work, session.version


def _packages(state: TaskState, ctx: TaskContext) -> PackageSet | None:
    """What tests of this task may import, as far as it may be had."""
    wanted = sorted({*state["candidate"]["packages"], *ctx.test_packages})
    try:
        return ctx.packages(wanted) if wanted else None
    except SandboxError:
        return None  # whoever runs the tests asks for it, and says what is wrong


def _prompt(
    state: TaskState, ctx: TaskContext, session: AgentSession, strategy: str, refused: list[str]
) -> tuple[list[Message], int]:
    """The conversation with what this turn is prompted with; an agent that knows nothing of it yet is told the task."""
    known = [] if strategy in ("first", "fresh") else state["conversation"]["coder"]
    parts = [] if session.turns else [_task(state, ctx, session)]
    if strategy not in ("first", "fresh") or refused:
        parts.append(_again(state, strategy, refused))
    turn = as_turn("user", joined(parts, "\n\n"), step=strategy)
    messages = add_tests(state, ctx, [*known, turn]) if known else [turn]
    return add_messages(state, ctx, messages)


def _task(state: TaskState, ctx: TaskContext, session: AgentSession) -> Material:
    task, hosts = state["task"], ", ".join(session.agent.hosts)
    files = [path for path in task.get("files", []) if not tests_of(state, ctx)(path)]
    head = render(
        "task.head",
        **{**task_facts(task, ctx), "files": files},
        tests_go="",
        installed=[],
        servers=servers_of(state, ctx),
        container_files=container_files(files, about_of(task)),
        removable=[],
        long=[],
        note=note_of(task),
        lessons=lessons_text(state["memory"]["lessons"]),
        existing="",
        failing="",
        tests="" if "tests" in ctx.switched_off else tests_text(state, ctx),
        may_ask=False,
        avoid=label(
            "\n".join(state["history"]["failures"][-4:]) if state["counters"]["approach"] > 1 else "", Source.TESTS
        ),
    )
    network = f"There is no network but for {hosts}." if hosts else "There is no network."
    return render("outside.task", workspace=WORKSPACE, network=network, house_rules=ctx.house_rules, head=head)


def _again(state: TaskState, strategy: str, refused: list[str]) -> Material:
    """What is wrong with the last turn's work."""
    report, kind = state["candidate"]["report"], "tests"
    if strategy == "conflict":
        kind, said = "conflict", Material(", ".join(state["candidate"]["conflict"]), {Source.MODEL})
    elif strategy == "review":
        kind, said = "review", label("\n".join(f"- {reason}" for reason in report["review"]), Source.MODEL)
    elif strategy == "findings":
        kind, said = "findings", label(report["gate_feedback"], Source.TOOLS)
    elif strategy in ("first", "fresh"):
        kind, said = "", Material("", ())
    else:
        trace = f"{where_text(report, language_of_task(state['task']))}\n\n{trace_text(report)}".strip()
        said = joined([Material(counts_text(report), ()), label(trace, Source.TESTS)], "\n")
    return render("outside.again", kind=kind, said=said, refused=refused)


def _turn(
    state: TaskState,
    ctx: TaskContext,
    session: AgentSession,
    reach: Reach,
    messages: list[Message],
    before: dict[str, bytes],
) -> tuple[str, EngineDesk, AgentWork]:
    """Prompt the agent once; what it said, its desk and its work."""
    agent, log, attempt = session.agent, ctx.event_log, state["counters"]["attempt"]
    key = f"{key_of(state, 'agent')}/{session.name}/{session.turns}"
    desk = EngineDesk(state, ctx, session, reach, key)
    asked = without_secrets(messages[-1:]) if agent.outside_hosts else messages[-1:]
    seconds = min(agent.seconds, max(1.0, ctx.limits.task_seconds - log.spent().task_seconds))
    announcement = EffectAnnounced(
        summary=f"prompts {agent.name}: {messages[-1].get('label', {}).get('step', '')} …",
        role="coder",
        effect="agent.prompt",
        model=agent.name,
        server=", ".join(agent.hosts),
    )
    began = time.monotonic()

    def record(turn: AgentTurn, name: str) -> int:
        took = int((time.monotonic() - began) * 1000)
        log.emit(_thought(session, asked, desk, turn, took), attempt=attempt, key=name)
        desk.close()
        return took

    with effect(log, announcement, key=key, attempt=attempt):
        try:
            turn = session.prompt(asked[0]["content"], desk, seconds=seconds, stopped=log.stopped)
            work = work_of(session.companion.sandbox, before, reach)
        except Exception:
            with suppress(Exception):  # the first error is the one that matters
                record(AgentTurn("cut off"), f"{key}:cut")
            raise
    for path, ruling in work.refused.items():
        desk.block(path, ruling)
    took = record(turn, key)
    if turn.sent or turn.written:
        log.emit(_usage(session, turn, took), attempt=attempt, key=f"{key}:usage")
    return redact(desk.words), desk, work


def _thought(session: AgentSession, asked: list[Message], desk: EngineDesk, turn: AgentTurn, took: int) -> Thought:
    """What the agent was asked and said."""
    words, step = redact(desk.words), str(asked[0].get("label", {}).get("step", ""))
    return Thought(
        summary=first_sentence(words, f"{session.agent.name} ended its turn ({turn.stop})"),
        role="coder",
        blobs={
            "prompt": [message["content"] for message in asked],
            "output": words,
            **({"thinking": redact(desk.thoughts)} if desk.thoughts else {}),
        },
        tokens=turn.written,
        duration_ms=took,
        text=words[:SHOWN_WORDS],
        step=step,
        model=session.version or session.agent.name,
        truncated=turn.stop in ("max_tokens", "cut off"),
        steps=[],
        sources=[sources_in(message) for message in asked],
        untrusted=untrusted(asked),
    )


def _usage(session: AgentSession, turn: AgentTurn, took: int) -> ModelCalled:
    """The tokens that the agent reports: they count like a model's."""
    return ModelCalled(
        summary=f"{turn.sent + turn.written:,} tokens, as {session.agent.name} reports",
        role="coder",
        tokens=turn.written,
        duration_ms=took,
        model=session.version or session.agent.name,
        prompt_tokens=turn.sent,
        reused_tokens=None,
        completion_tokens=turn.written,
        tokens_per_s=round(turn.written / max(0.001, took / 1000), 1),
        window=0,
        recorded=False,
        truncated=turn.stop == "max_tokens",
        filled_by={},
        instead_of=[],
    )


def _reach(state: TaskState, ctx: TaskContext) -> Reach:
    task, is_test, base = state["task"], tests_of(state, ctx), ctx.repository.blobs(state["base"])
    entries = ctx.repository.store.listing(state["base"]).entries
    special = frozenset(path for path, entry in entries.items() if entry.mode in (LINK, SUBMODULE))
    without_code = replaces_tests(task)

    def closed(path: str) -> str:
        return "this task writes no code" if without_code and language_of(path) else ""

    ours = state["candidate"]["tests"]
    own = frozenset(path for path in state["candidate"]["files"] if path not in base)
    named = frozenset(task.get("files", []))
    return Reach(lambda path: path in ours or is_test(path), named, special, closed, own)


def _screened(
    state: TaskState, ctx: TaskContext, engaged: Engaged, work: AgentWork, desk: EngineDesk, turn: int
) -> None:
    """Take out of the work what the firewall refuses, what steers how tests run, and files that hold a key."""
    base, language = base_files(state, ctx, work.files)[0], language_of_task(state["task"])
    keys = tuple(os.environ[name] for name in engaged.agent.env if os.environ.get(name))
    for path, text in list(work.files.items()):
        one = Applied(files={path: text}, refused=[])
        reasons = crowded(state, ctx, one)
        if why := language.steers_tests(path, text, base.get(path, "")):
            reasons.append(f"{path}: {why}")
        if judge("output", text, context=FirewallContext(secrets=keys)).verdict.rule.startswith("leak.secret"):
            reasons.append(f"{path} holds a key that the agent was given.")
        reasons += [] if reasons else screen(state, ctx, CODER, one, turn, base)
        if reasons:
            del work.files[path]
            work.refused[path] = Ruling("refuse", "outside.file", reasons[0])
            desk.block(path, work.refused[path])
