"""A tester or coder who lacks what no file of the task may hold asks for a sub-task; the task rests until then.

The answer is a line `MISSING: <what>, in <path>` and no file. One sub-task a task, and none of a sub-task: a chain of
requests would be a plan that nobody approved.
"""

from __future__ import annotations

import re
from typing import Any

from agents.context.calls import code_words
from agents.context.index import shared
from agents.context.parts import MISSING_ANSWER
from agents.engine.contracts import Runtime, TaskContext
from agents.engine.nodes.common import added, crowded, one_line
from agents.engine.nodes.merger import put_onto
from agents.engine.nodes.removals import tests_of
from agents.engine.nodes.verify import write_candidate
from agents.engine.state import TaskState, files_of, updated
from agents.languages.registry import language_of
from agents.llm.base import Message, step_of
from agents.prompts.provenance import Source, label
from agents.replies.apply import Applied
from agents.replies.normalize import clean_path
from agents.replies.paths import BadPath, check_path
from agents.replies.sections import label as labelled
from agents.replies.types import Reply

LACKS = "what is missing"  # in the place of a path, of a reply that asks for a sub-task
_WISH = re.compile(
    r"(?P<what>\S.*?)[,;]?\s+in\s+(?:the\s+)?(?:(?:new\s+)?file\s+)?[`'\"*]*(?P<path>[^\s`'\"*]+?)[`'\"*.]*"
)
_NAMED = re.compile(r"\b(?:function|method|class|constant|type|variable)\s+`?([A-Za-z_]\w+)")


def may_ask(state: TaskState) -> bool:
    """Whether the prompt offers it."""
    return bool(state["task"].get("may_ask")) and not state.get("sub_task")


def missing(state: TaskState, ctx: TaskContext, reply: Reply) -> tuple[str, str] | None:
    """What a reply without files says is missing, as a dispute of request_files: LACKS, or a reason against it."""
    wanted = _wanted(reply)
    if wanted is None:
        return None
    task, what = state["task"], wanted["what"]
    try:
        path = check_path(wanted["path"])
    except BadPath as bad:
        return "", str(bad)
    if not may_ask(state):
        had = "was" if state.get("sub_task") else "can be"
        return "", f"Nothing more {had} added for what is MISSING: do without {what}, in files of this task."
    if path in task.get("files", []) or tests_of(state, ctx)(path):
        return "", f"{path} is yours to write: send it, and no line MISSING."
    if reasons := crowded(state, ctx, Applied(files={path: ""})):
        return "", reasons[0]
    there = place_of(ctx, state["base"], what, path)
    return ("", there) if there else (LACKS, what)


def _wanted(reply: Reply) -> dict[str, str] | None:
    said = [rest for name, rest in map(labelled, reply.thought.splitlines()) if name == "missing"]
    found = _WISH.fullmatch(said[0].strip().strip("`*")) if said else None
    return {"what": one_line(found["what"]).strip("`*"), "path": clean_path(found["path"])} if found else None


def asked(reply: Reply, by: str, iteration: int) -> TaskState:
    """The change of the node `by` that asks for a sub-task instead of writing files."""
    wanted = _wanted(reply) or {}
    why = one_line(" ".join(line for line in reply.thought.splitlines() if labelled(line)[0] != "missing"))
    wish: dict[str, Any] = {**wanted, "path": check_path(wanted["path"]), "why": why, "by": by}
    return {"verdict": "missing", "sub_task": wish, "counters": {"iteration": iteration}}


def place_of(ctx: TaskContext, commit: str, what: str, path: str) -> str:
    """Where a commit has what is said to be missing, in a sentence; "" when it is not there."""
    symbols, words = shared.index(ctx.repository, commit).symbols, {*re.findall(r"\w+", what)}
    names = code_words(what) | {*_NAMED.findall(what)}
    for place in [path, *(other for other in symbols if other != path)]:
        here = {one.name for one in symbols[place].definitions} if place in symbols else set()
        if found := sorted(here & (words if place == path else names)):
            return f"It is there: {place} has {', '.join(found)}."
    if path not in ctx.repository.files(commit) or (language_of(path) and names):
        return ""
    known = ", ".join(one.full_name for one in symbols[path].definitions[:12]) if path in symbols else ""
    return f"{path} is there{f' and has {known}' if known else ''}: use it, or name the function that it lacks."


def sub_task(state: TaskState, runtime: Runtime[TaskContext]) -> TaskState:
    """Ask for the sub-task, and go on from the code with it once it is merged, or without when people said no.

    Raises Waiting until then.
    """
    ctx, wish = runtime.context, state["sub_task"]
    # Another task may have merged it since this one began.
    answer = place_of(ctx, ctx.repository.head(), wish["what"], wish["path"])
    if not answer and ctx.sub_task is not None:
        answer = ctx.sub_task(wish["what"], wish["path"], wish["why"])
    head, conflicts = ctx.repository.head(), dict[str, str]()
    changed: TaskState = {"base": head}
    if head != state["base"] and files_of(state["candidate"]):
        sha = write_candidate(state, ctx).commit(state["base"], state["task"]["title"], "", {})
        changed, conflicts = put_onto(state, ctx, sha, head)
    if conflicts:
        why = f"While it rested, others changed the same lines of {', '.join(conflicts)}."
        return {"verdict": "escalate", "escalation": why}
    return updated(changed, {"verdict": "answered", "sub_task": wish | {"answer": answer}})


def add_answer(state: TaskState, ctx: TaskContext, messages: list[Message]) -> list[Message]:
    """The messages, with what came of the request at the end of the newest: once, and where a conversation begins."""
    wish = state.get("sub_task", {})
    if not wish.get("answer") or (state["verdict"] != "answered" and len(messages) > 2):
        return messages
    told = f"{wish['what']}, in {wish['path']}: {wish['answer']}"
    *before, last = added(messages, MISSING_ANSWER, label(told, Source.MODEL))
    if state["verdict"] == "answered":
        last = {**last, "label": {**last.get("label", {}), "step": f"{step_of(last)}-resumed"}}
    return [*before, last]
