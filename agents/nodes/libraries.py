"""What a task's libraries offer, shown before the code is written; and names they do not have, found before it is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agents.context import apis, js_apis
from agents.context import libraries as offers
from agents.context.documents import documentation
from agents.context.files import nearness
from agents.context.knowledge import current
from agents.context.meaning import Asking, Nearness
from agents.imports import local_modules
from agents.nodes.keys import key_of
from agents.ports import TaskContext
from agents.provenance import Material, Source, joined, label
from agents.replies import Applied
from agents.state import TaskState
from sandbox.base import SandboxError


def absent(state: TaskState, ctx: TaskContext, applied: Applied) -> list[str]:
    """Reasons to ask again, each naming file, line, what is missing and what is close; none when it cannot be told.

    That scripts could not be looked at, because the sandbox has no Node, goes on the record once a task.
    """
    if "apis" in ctx.switched_off or not applied.files:
        return []
    there = [*ctx.repository.files(state["base"]), *state["tests"], *state["files"], *applied.files]
    scope = _scope(ctx)
    try:
        found = apis.shared.problems(applied.files, local=local_modules(there), sandbox=ctx.at_hand, scope=scope)
        scripts, looked = js_apis.shared.problems(applied.files, sandbox=ctx.at_hand, scope=scope)
    except SandboxError:
        return []  # the test run will meet it and say so
    if not looked:
        task = state["task"]
        ctx.spine.emit(
            "system", attempt=state["attempt"], key=f"{task['key']}/g{task.get('generation', 1)}/no-node",
            summary="Names in scripts were not checked: the sandbox has no Node",
            payload={"text": "Whether Node and its packages have what the scripts call is left to the tests."},
        )  # fmt: skip
    return [*found, *scripts][: apis.MOST]


def offered(state: TaskState, ctx: TaskContext, about: str, own: Mapping[str, str]) -> Material:
    """Documentation that fits the task, and signatures of what its libraries offer, each under its heading.

    `own` are the files that the task changes; what its tests use counts too. How it was found goes on the record.
    """
    task, known = state["task"], current()
    docs = Material("", ())
    near: list[Nearness | None] = []
    if known.docs is not None:
        found = documentation(known.docs, ctx.project, " ".join([about, *task.get("packages", [])]), known.meaning)
        docs = found.text
        near.append(found.nearness)
    asked = Asking(known.meaning) if known.meaning is not None else None
    signatures = _signatures(state, ctx, about, own, asked)
    if known.meaning is not None:
        near += [asked.found if asked else None, nearness(ctx.repository, state["base"], task.get("files", []), about)]
        _record(state, ctx, known.meaning.model, [each for each in near if each is not None])
    return joined([docs, signatures])


def _record(state: TaskState, ctx: TaskContext, model: str, near: Sequence[Nearness]) -> None:
    """Say whether code and documentation were found by meaning, or why not."""
    if not near:
        return  # all of it was shown, so nothing had to be found
    compared = sum(like is not None for each in near for like in each.alike)
    made, problem = sum(each.made for each in near), next((each.problem for each in near if each.problem), "")
    words = f"Compared {compared} pieces with the task by meaning ({model})"
    if problem:
        words = f"{words}, the rest by words: {problem}" if compared else f"Found by words alone ({model}): {problem}"
    ctx.spine.emit(
        "system", attempt=state["attempt"], key=key_of(state, "retrieval"), summary=words[:400], outcome="" if problem else "ok",
        payload={"text": words, "model": model, "compared": compared, "embedded": made, "problem": problem},
    )  # fmt: skip


def _signatures(
    state: TaskState, ctx: TaskContext, about: str, own: Mapping[str, str], near: Asking | None
) -> Material:
    """Signatures of what a task's libraries offer; empty without libraries or when it cannot be told."""
    if "apis" in ctx.switched_off:
        return Material("", ())
    files = {**own, **state["tests"]}
    local = local_modules([*ctx.repository.files(state["base"]), *state["tests"], *state["task"].get("files", [])])
    modules = offers.modules_of(files, state["task"].get("packages", []), local)
    if not modules:
        return Material("", ())
    try:
        lines = offers.shared.signatures(modules, about, files, sandbox=ctx.at_hand, scope=_scope(ctx), near=near)
    except SandboxError:
        return Material("", ())  # the test run will meet it and say so
    return joined(["Library signatures:", label(lines, Source.PACKAGE)]) if lines else Material("", ())


def _scope(ctx: TaskContext) -> str:
    """What is installed in the sandbox at hand, as a word to remember answers by."""
    return f"{ctx.backend.name} {' '.join(ctx.at_hand_packages)}"
